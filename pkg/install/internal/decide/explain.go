package decide

import (
	"slices"

	"github.com/oaictl/oaictl/internal/model"
)

// Explain decides on an observation without anything remembered, to say what stands in
// the way now, of one host alone where host is its id. What holds nothing up is named too.
func Explain(desired *model.Desired, observed *model.Observed, host string) model.Plan {
	p := newPlanner(desired, observed, model.Memory{}, observed.At)
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

// AddingHosts says whether hosts are being added to an installed cluster.
func AddingHosts(observed *model.Observed) bool {
	cluster := observed.Cluster
	return cluster != nil && cluster.State == model.ClusterAddingHosts && slices.ContainsFunc(observed.Hosts, func(h model.Host) bool {
		return h.Day2 && !IsMember(&h)
	})
}

// unbound says what stands in the way of machines that belong to no cluster.
func (p *planner) unbound() {
	hosts := make([]*model.Host, 0, len(p.observed.Hosts))
	for i := range p.observed.Hosts {
		hosts = append(hosts, &p.observed.Hosts[i])
		p.usable(hosts[i])
	}
	p.causes(p.explain(hosts))
}

// narrow leaves of a plan what concerns one host: what is said of it, and what stands in
// the way of the cluster itself.
func (p *planner) narrow(host string) {
	concerns := func(scope model.Scope) bool {
		return scope == model.HostScope(p.only) || scope == model.HostScope(host)
	}
	plan := &p.plan
	plan.Blockers = slices.DeleteFunc(plan.Blockers, func(b model.Blocker) bool {
		ofCluster := b.Scope == model.ScopeCluster && len(b.Hosts) == 0 && b.Reason != ReasonValidation
		return !ofCluster && !concerns(b.Scope) && !slices.Contains(b.Hosts, p.only)
	})
	plan.Waits = slices.DeleteFunc(plan.Waits, func(w model.Wait) bool { return !concerns(w.Scope) })
	plan.Checks = slices.DeleteFunc(plan.Checks, func(w model.Warning) bool { return !concerns(w.Scope) })
	plan.Warnings = slices.DeleteFunc(plan.Warnings, func(w model.Warning) bool { return !concerns(w.Scope) })
}
