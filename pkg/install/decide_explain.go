package install

import (
	"slices"

	"github.com/oaictl/oaictl/internal/model"
)

// explainWhole decides on an observation without anything remembered, to say what stands in
// the way now, of one host alone where host is its id. What holds nothing up is named too.
func explainWhole(desired *Desired, observed *Observed, host string) Plan {
	p := newPlanner(desired, observed, Memory{}, observed.At)
	p.explains = true
	if have := observed.HostByID(host); have != nil {
		p.only = p.hostName(have)
	}
	if observed.Cluster == nil {
		p.unbound()
	} else {
		p.decide()
	}
	p.finish()
	if p.only != "" {
		p.narrow(host)
	}
	return p.plan
}

// addingHosts says whether hosts are being added to an installed cluster.
func addingHosts(observed *Observed) bool {
	cluster := observed.Cluster
	return cluster != nil && cluster.State == model.ClusterAddingHosts && slices.ContainsFunc(observed.Hosts, func(h Host) bool {
		return h.Day2 && !isMember(&h)
	})
}

// unbound says what stands in the way of machines that belong to no cluster.
func (p *planner) unbound() {
	hosts := make([]*Host, 0, len(p.observed.Hosts))
	for i := range p.observed.Hosts {
		hosts = append(hosts, &p.observed.Hosts[i])
		p.usable(hosts[i])
	}
	p.causes(p.explain(hosts))
}

// narrow leaves of a plan what concerns one host: what is said of it, and what stands in
// the way of the cluster itself.
func (p *planner) narrow(host string) {
	concerns := func(scope Scope) bool { return scope == model.HostScope(p.only) || scope == model.HostScope(host) }
	plan := &p.plan
	plan.Blockers = slices.DeleteFunc(plan.Blockers, func(b Blocker) bool {
		ofCluster := b.Scope == model.ScopeCluster && len(b.Hosts) == 0 && b.Reason != reasonValidation
		return !ofCluster && !concerns(b.Scope) && !slices.Contains(b.Hosts, p.only)
	})
	plan.Waits = slices.DeleteFunc(plan.Waits, func(w Wait) bool { return !concerns(w.Scope) })
	plan.Checks = slices.DeleteFunc(plan.Checks, func(w Warning) bool { return !concerns(w.Scope) })
	plan.Warnings = slices.DeleteFunc(plan.Warnings, func(w Warning) bool { return !concerns(w.Scope) })
}
