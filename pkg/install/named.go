package install

import "github.com/oaictl/oaictl/pkg/install/spec"

// NamedHost is a machine under the name that cluster.yaml has for it, as Match
// finds it.
type NamedHost struct {
	// Name is the host's name in cluster.yaml, "" for a machine that is none of
	// its hosts.
	Name string
	// Role is what cluster.yaml wants the host to be, "" where it does not say.
	Role Role
	// Host is the observed machine, nil while it has not come.
	Host *Host
}

// Match says which observed machine is which host of cluster.yaml, by the same
// rules as Decide: all that a host's match says has to fit. First come the hosts
// of the file in their order, those that have not come among them, then the
// machines that are none of these in the order in which they were observed. A
// second machine that fits a host of the file has no name.
func Match(cluster *spec.Cluster, observed *Observed) []NamedHost {
	found := matchHosts(cluster.Spec.Hosts, observed)
	named := make([]NamedHost, 0, len(cluster.Spec.Hosts))
	for i := range cluster.Spec.Hosts {
		want := &cluster.Spec.Hosts[i]
		named = append(named, NamedHost{Name: want.Name, Role: Role(want.Role), Host: found.byName[want.Name]})
	}
	for i := range observed.Hosts {
		if host := &observed.Hosts[i]; found.names[host.ID] == "" {
			named = append(named, NamedHost{Host: host})
		}
	}
	return named
}
