// Package decide compares a desired with an observed cluster and makes a plan of it: what to do next, what a loop can
// only wait for, what blocks it and who can remove that, and when it has waited for long enough. It is pure. Its files
// follow an install from the registration to hosts that are added later.
package decide

import (
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/nodeplan"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Decide compares what is desired with what was observed and says what to do next, what the loop can only wait for,
// what blocks it, and when it has waited for long enough. It is pure: the same arguments give the same plan. now is a
// moment on the service's clock. Without memory, as for a single look, a state that the service does not date counts as
// old.
func Decide(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time) model.Plan {
	p := newPlanner(desired, observed, memory, now)
	if memory.Misses > 0 && !observed.Unproven {
		p.registration.deleted()
	} else {
		p.decide()
	}
	p.finish()
	p.leaveAlone()
	return p.plan
}

// Explain decides on one observation without a memory, to say what blocks the install now, or, if host is the id of a
// host, what blocks that host. Problems that hold nothing up are named, too.
func Explain(desired *model.Desired, observed *model.Observed, host string) model.Plan {
	p := newPlanner(desired, observed, model.Memory{}, observed.At)
	p.explains = true
	if have := observed.HostByID(host); have != nil {
		p.only = p.roster.Call(have)
	}
	p.compose()
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

// AddingHosts reports whether hosts are being added to an installed cluster.
func AddingHosts(observed *model.Observed) bool {
	cluster := observed.Cluster
	return cluster != nil && cluster.State == model.ClusterAddingHosts && slices.ContainsFunc(observed.Hosts, func(h model.Host) bool {
		return h.Day2 && !IsMember(&h)
	})
}

// MachinesToAsk are the hosts whose machines the next decision needs, and where each is
// in its install. They are those that have still to boot; those that run the image, until
// they are seen not to boot it again by themselves; and those that must not, until nothing
// of it is left. What was seen before a host came so far says nothing of what it finds there
// now.
func MachinesToAsk(desired *model.Desired, observed *model.Observed) (ask []string, phases map[string]model.Phase) {
	p := newPlanner(desired, observed, model.Memory{}, observed.At)
	if p.cluster == nil || p.cluster.State == model.ClusterUnknown {
		return nil, nil
	}
	phases = map[string]model.Phase{}
	if desired.Options.Remove != nil {
		return nodeplan.ToSwitchOff(p.question.About(p.roster.everybody(p.observed)...)), phases
	}
	for i := range p.spec.Spec.Hosts {
		host := &p.spec.Spec.Hosts[i]
		if !p.spec.BootsByBMC(host) {
			continue
		}
		state, known := p.observed.Machines[host.Name]
		now := p.boot.phaseOf(host)
		if now == model.PhaseToBoot || now != model.PhaseUnknown && (!known || state.Phase != now || !settled(state)) {
			ask, phases[host.Name] = append(ask, host.Name), now
		}
	}
	return ask, phases
}

// AsksSpoke reports whether the next decision needs to know of the installed cluster itself.
func AsksSpoke(desired *model.Desired, observed *model.Observed) bool {
	c := observed.Cluster
	return (desired.Options.AddNodes || desired.Options.Remove != nil) && c != nil && c.State.Installed()
}

// JudgeRequests judges the installed cluster's requests for certificates as if the file named
// the hosts of these names.
func JudgeRequests(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time,
	of []string) []model.RequestVerdict {
	p := newPlanner(desired, observed, memory, now)
	var hosts []nodeplan.Host
	for i := range observed.Hosts {
		h := &observed.Hosts[i]
		if slices.Contains(of, p.roster.Call(h)) || slices.Contains(of, h.Hostname) || slices.Contains(of, h.ID) {
			hosts = append(hosts, nodeplan.Host{Name: p.roster.Call(h), Want: p.spec.Host(p.roster.Names[h.ID]), Have: h})
		}
	}
	return nodeplan.Judge(p.question.About(hosts...))
}

// NodesToRemove are the names of the nodes that are to be removed.
func NodesToRemove(desired *model.Desired, observed *model.Observed) []string {
	p := newPlanner(desired, observed, model.Memory{}, observed.At)
	return nodeplan.ToRemove(p.question.About(p.roster.everybody(p.observed)...))
}

// SpokeFault is why nothing can be done in the installed cluster, nil where it can be. op is what
// was to be done.
func SpokeFault(op string, desired *model.Desired, observed *model.Observed) error {
	fault := spokeFault(desired, observed)
	if fault == nil {
		return nil
	}
	fault.Op = op
	return fault
}

func spokeFault(desired *model.Desired, observed *model.Observed) *model.Fault {
	p := newPlanner(desired, observed, model.Memory{}, observed.At)
	switch {
	case observed.Cluster == nil || !observed.Cluster.State.Installed():
		p.registration.notInstalled()
	case observed.Spoke != nil:
		p.take(nodeplan.Reached(p.question.About()))
	}
	if len(p.plan.Blockers) > 0 {
		b := &p.plan.Blockers[0]
		code, _, _ := p.limits.patience(b.Cure)
		return p.limits.fault(code, b.Message, b.Remedy)
	}
	if len(p.plan.Waits) > 0 {
		return p.limits.fault(model.CodeFailure, p.observed.Spoke.Trouble,
			"check that the API server of the installed cluster can be reached from here")
	}
	return nil
}
