package service

import (
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
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
		rememberState(c)
	}
	for _, c := range clusters {
		s.tickCluster(c)
	}
	if s.hostsLater {
		for _, c := range clusters {
			rememberState(c)
		}
	}
	for _, h := range s.hostsInOrder() {
		if h.Cluster == nil {
			s.tickHost(h, nil)
		}
	}
	for _, c := range clusters {
		names := c.Hostnames()
		forgetRoles(c)
		for _, h := range c.Hosts {
			s.tickHost(h, names)
		}
		s.suggestRoles(c)
	}
}

// rememberState keeps the cluster as the hosts of this tick are to see it.
func rememberState(c *model.Cluster) {
	c.Before.State, c.Before.Groups = c.Status, c.Groups
	c.Before.Collisions, c.Before.Searched = c.Collisions, c.IPCollisions != ""
	c.Before.Machine = c.MachineNetworks
}

// forgetRoles takes back all suggestions in a cluster as long as one is missing: they are
// made together.
func forgetRoles(c *model.Cluster) {
	missing := func(h *model.Host) bool {
		return h.RoleOpen() && !h.RoleSuggested() && h.Kind != model.KindAddedHost && h.State != model.HostDisconnected
	}
	if slices.ContainsFunc(c.Hosts, missing) {
		c.ResetRoles()
	}
}

// suggestRoles suggests a role to every host that has none, once all have said what they
// are, and anew at each pass: the lightest hosts that are strong enough fill up the
// control plane, then an arbiter where one is needed, and the rest are workers.
func (s *Service) suggestRoles(c *model.Cluster) {
	unknown := func(h *model.Host) bool { return h.Inv == nil }
	if c.IsDay2() || !slices.ContainsFunc(c.Hosts, (*model.Host).RoleOpen) || slices.ContainsFunc(c.Hosts, unknown) {
		return
	}
	masters, arbiters, _, _ := validate.CountRoles(c)
	for _, h := range validate.LightestFirst(c.Hosts) {
		if !h.RoleOpen() || !model.OneOf(h.State, model.HostDiscovering, model.HostKnown, model.HostDisconnected, model.HostInsufficient, model.HostPendingInput) {
			continue
		}
		masters -= one(h.SuggestedRole == model.RoleMaster)
		arbiters -= one(h.SuggestedRole == model.RoleArbiter)
		role := model.RoleWorker
		switch {
		case masters < int(c.ControlPlaneCount) && validate.StrongEnough(c, h, model.RoleMaster):
			role = model.RoleMaster
		case c.ControlPlaneCount == 2 && arbiters == 0 && validate.StrongEnough(c, h, model.RoleArbiter):
			role = model.RoleArbiter
		}
		masters += one(role == model.RoleMaster)
		arbiters += one(role == model.RoleArbiter)
		if h.SuggestedRole != role {
			h.SuggestedRole = role
			s.noteHost(h, "host_role_updated", severityInfo, "Host %s: calculated role is %s", h.Name(), role)
		}
	}
}
