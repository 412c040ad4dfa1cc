package decide

import "github.com/oaictl/oaictl/internal/model"

// Snapshot answers questions about an observation that no plan says, by the same rules.
type Snapshot struct{ planner *planner }

// NewSnapshot is an observation beside what is desired.
func NewSnapshot(desired *model.Desired, observed *model.Observed) *Snapshot {
	return &Snapshot{planner: newPlanner(desired, observed, model.Memory{}, observed.At)}
}

// NamedHost is a machine under the name that cluster.yaml has for it.
type NamedHost struct {
	// Name is the host's name in cluster.yaml, "" for a machine that is none of
	// its hosts.
	Name string
	// Role is what cluster.yaml wants the host to be, "" where it does not say.
	Role model.Role
	// Host is the observed machine, nil while it has not come.
	Host *model.Host
}

// Hosts says which observed machine is which host of cluster.yaml: all that a host's
// match says has to fit. First come the hosts of the file in their order, those that
// have not come among them, then the machines that are none of these in the order in
// which they were observed. A second machine that fits a host of the file has no name.
func (s *Snapshot) Hosts() []NamedHost {
	cluster, observed := s.planner.whole, s.planner.observed
	found := s.planner.matches
	if cluster != s.planner.spec { // also the hosts that are added later
		found = MatchHosts(cluster.Spec.Hosts, observed)
	}
	named := make([]NamedHost, 0, len(cluster.Spec.Hosts))
	for i := range cluster.Spec.Hosts {
		want := &cluster.Spec.Hosts[i]
		named = append(named, NamedHost{Name: want.Name, Role: model.Role(want.Role), Host: found.ByName[want.Name]})
	}
	for i := range observed.Hosts {
		if host := &observed.Hosts[i]; found.Names[host.ID] == "" {
			named = append(named, NamedHost{Host: host})
		}
	}
	return named
}

// InfraEnv is the one whose discovery image a host of the file boots next; false while
// there is none.
func (s *Snapshot) InfraEnv(host string) (model.InfraEnv, bool) {
	if s.planner.cluster == nil {
		return model.InfraEnv{}, false
	}
	return s.planner.envOf(host)
}

// HasToBoot says whether a host of the file has still to boot its discovery image.
func (s *Snapshot) HasToBoot(host string) bool {
	want := s.planner.spec.Host(host)
	return s.planner.cluster != nil && want != nil && s.planner.toBoot(want)
}

// Reading names the hosts that may still read their images: of them the BMC had
// it last, and they do not run from their disks yet.
func (s *Snapshot) Reading() []string {
	p := s.planner
	if p.cluster == nil {
		return nil
	}
	var names []string
	for i := range p.spec.Spec.Hosts {
		host := &p.spec.Spec.Hosts[i]
		if state := p.observed.Machines[host.Name]; (state.Inserting || state.OurMedia && state.Power != model.PowerIsOff) && !p.pastBoot(host) {
			names = append(names, host.Name)
		}
	}
	return names
}
