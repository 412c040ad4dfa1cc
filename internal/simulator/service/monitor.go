package service

import (
	"cmp"
	"slices"
)

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
		c.forgetRoles()
		for _, h := range c.hosts {
			s.tickHost(h, names)
		}
		s.suggestRoles(c)
	}
}

// remember keeps the cluster as the hosts of this tick are to see it.
func (c *cluster) remember() {
	c.before.state, c.before.groups = c.Status, c.groups
	c.before.collisions, c.before.searched = c.collisions, c.IPCollisions != ""
	c.before.machine = c.MachineNetworks
}

// hostnames counts the cluster's hosts by name.
func (c *cluster) hostnames() map[string]int {
	names := make(map[string]int, len(c.hosts))
	for _, h := range c.hosts {
		names[h.name()]++
	}
	return names
}

// forgetRoles takes back all suggestions in a cluster as long as one is missing: they are
// made together.
func (c *cluster) forgetRoles() {
	missing := func(h *host) bool {
		return h.open() && !h.suggested() && h.Kind != kindAddedHost && h.state != hostDisconnected
	}
	if slices.ContainsFunc(c.hosts, missing) {
		c.resetRoles()
	}
}

func (c *cluster) resetRoles() {
	for _, h := range c.hosts {
		if h.open() {
			h.SuggestedRole = roleAuto
		}
	}
}

// open tells whether nobody has chosen a role for the host.
func (h *host) open() bool { return h.Role == roleAuto }

func (h *host) suggested() bool { return h.SuggestedRole != roleAuto && h.SuggestedRole != "" }

// suggestRoles suggests a role to every host that has none, once all have said what they
// are, and anew at each pass: the lightest hosts that are strong enough fill up the
// control plane, then an arbiter where one is needed, and the rest are workers.
func (s *Service) suggestRoles(c *cluster) {
	unknown := func(h *host) bool { return h.inv == nil }
	if c.isDay2() || !slices.ContainsFunc(c.hosts, (*host).open) || slices.ContainsFunc(c.hosts, unknown) {
		return
	}
	masters, arbiters, _, _ := c.countRoles()
	for _, h := range lightestFirst(c.hosts) {
		if !h.open() || !oneOf(h.state, hostDiscovering, hostKnown, hostDisconnected, hostInsufficient, hostPendingInput) {
			continue
		}
		masters -= one(h.SuggestedRole == roleMaster)
		arbiters -= one(h.SuggestedRole == roleArbiter)
		role := roleWorker
		switch {
		case masters < int(c.ControlPlaneCount) && c.strongEnough(h, roleMaster):
			role = roleMaster
		case c.ControlPlaneCount == 2 && arbiters == 0 && c.strongEnough(h, roleArbiter):
			role = roleArbiter
		}
		masters += one(role == roleMaster)
		arbiters += one(role == roleArbiter)
		if h.SuggestedRole != role {
			h.SuggestedRole = role
			s.noteHost(h, "host_role_updated", severityInfo, "Host %s: calculated role is %s", h.name(), role)
		}
	}
}

// strongEnough tells whether a host has what the role needs.
func (c *cluster) strongEnough(h *host, role string) bool {
	need := requirementsFor(c, role)
	return h.inv != nil && h.inv.CPU != nil && h.inv.Memory != nil && h.inv.CPU.Count >= need.CPUCores &&
		h.inv.Memory.PhysicalBytes >= (need.RAMMiB-memoryTolerance)<<20
}

// lightestFirst orders hosts by how much they have of everything, those with graphics
// cards last.
func lightestFirst(hosts []*host) []*host {
	sorted := slices.Clone(hosts)
	slices.SortStableFunc(sorted, func(a, b *host) int {
		return cmp.Or(cmp.Compare(one(len(a.inv.GPUs) > 0), one(len(b.inv.GPUs) > 0)), cmp.Compare(a.inv.weight(), b.inv.weight()))
	})
	return sorted
}

// weight counts a core, ten GiB of memory and 250 GiB of disks the same.
func (inv *inventory) weight() float64 {
	weight := 0.0
	if inv.CPU != nil {
		weight += float64(inv.CPU.Count)
	}
	if inv.Memory != nil {
		weight += 0.1 * float64(inv.Memory.UsableBytes>>30)
	}
	for _, d := range inv.eligibleDisks() {
		weight += 0.004 * float64(d.SizeBytes>>30)
	}
	return weight
}
