package service

// tick evaluates every cluster and host once. What a tick decides about hosts
// rests on the clusters as the tick found them, as in the real service, where
// the two are watched apart.
func (s *Service) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	clusters := s.clustersInOrder()
	for _, c := range clusters {
		c.remember()
	}
	for _, c := range clusters {
		s.tickCluster(c)
	}
	if s.hostsLater {
		for _, c := range clusters {
			c.remember()
		}
	}
	for _, h := range s.hostsInOrder() {
		if h.cluster == nil {
			s.tickHost(h, nil)
		}
	}
	for _, c := range clusters {
		names := c.hostnames()
		for _, h := range c.hosts {
			s.tickHost(h, names)
		}
		s.suggestRoles(c)
		if c.isSingle() {
			c.assignMachineNetworks()
		}
	}
}

// remember keeps the cluster as the hosts of this tick are to see it.
func (c *cluster) remember() {
	c.before.state, c.before.groups = c.Status, c.groups
	c.before.collisions, c.before.searched = c.collisions, c.IPCollisions != ""
}

// hostnames counts the cluster's hosts by name.
func (c *cluster) hostnames() map[string]int {
	names := make(map[string]int, len(c.hosts))
	for _, h := range c.hosts {
		names[h.name()]++
	}
	return names
}

// suggestRoles gives a role to every host that has none: first the control plane
// is filled up with hosts that are strong enough, then an arbiter where one is
// needed, and the rest are workers.
func (s *Service) suggestRoles(c *cluster) {
	if c.isDay2() || !oneOf(c.Status, clusterInsufficient, clusterPendingInput, clusterReady) {
		return
	}
	masters, arbiters, _, _ := c.countRoles()
	for _, h := range c.hosts {
		if h.Role != roleAuto || h.inv == nil || h.SuggestedRole != roleAuto && h.SuggestedRole != "" {
			continue
		}
		role := roleWorker
		switch {
		case masters < int(c.ControlPlaneCount) && c.strongEnough(h, roleMaster):
			role = roleMaster
			masters++
		case c.ControlPlaneCount == 2 && arbiters == 0 && c.strongEnough(h, roleArbiter):
			role = roleArbiter
			arbiters++
		}
		h.SuggestedRole = role
		s.noteHost(h, "host_role_updated", severityInfo, "Host %s: calculated role is %s", h.name(), role)
	}
}

// strongEnough tells whether a host has what the role needs.
func (c *cluster) strongEnough(h *host, role string) bool {
	need := requirementsFor(c, role)
	return h.inv.CPU != nil && h.inv.Memory != nil && h.inv.CPU.Count >= need.CPUCores &&
		h.inv.Memory.PhysicalBytes >= need.RAMMiB<<20 && len(h.inv.eligibleDisks()) > 0
}
