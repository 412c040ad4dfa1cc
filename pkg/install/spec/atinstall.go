package spec

// AtInstall is the cluster as it is installed: without the workers of a single
// node, which are none of it until it is installed and are added then. Where there
// are none to leave out it is the cluster itself.
func (c *Cluster) AtInstall() *Cluster {
	if !c.SingleNode() || c.WorkerCount() == 0 || c.RequiredWorkers() != 0 {
		return c
	}
	first := *c
	first.Spec.Topology.Workers = new(0)
	first.Spec.Hosts, first.places = nil, nil
	for i := range c.Spec.Hosts {
		if c.Spec.Hosts[i].Role != Worker {
			first.Spec.Hosts, first.places = append(first.Spec.Hosts, c.Spec.Hosts[i]), append(first.places, i)
		}
	}
	return &first
}

// place is where a host stands in the file.
func (c *Cluster) place(i int) int {
	if i < len(c.places) {
		return c.places[i]
	}
	return i
}
