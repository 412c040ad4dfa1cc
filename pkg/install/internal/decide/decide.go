// Package decide compares a desired with an observed cluster and makes a plan of it: what to do next, what a loop can
// only wait for, what blocks it and who can remove that, and when it has waited for long enough. It is pure. Its files
// follow an install from the registration to hosts that are added later.
package decide

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// Decide compares what is desired with what was observed and says what to do next, what the loop can only wait for,
// what blocks it, and when it has waited for long enough. It is pure: the same arguments give the same plan. now is a
// moment on the service's clock. Without memory, as for a single look, a state that the service does not date counts as
// old.
func Decide(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time) model.Plan {
	p := newPlanner(desired, observed, memory, now)
	if memory.Misses > 0 && !observed.Unproven {
		p.deleted()
	} else {
		p.decide()
	}
	p.finish()
	p.leaveAlone()
	return p.plan
}

// leaveAlone removes from the plan the actions on hosts with an unknown desired state, and reports why.
func (p *planner) leaveAlone() {
	if len(p.desired.Options.LeftAlone) == 0 {
		return
	}
	alone := map[model.Scope]bool{}
	for name := range p.desired.Options.LeftAlone {
		alone[model.ScopeHost.Of(name)] = true
		if want := p.spec.Host(name); want != nil && want.Match.InfraEnv != "" {
			alone[model.ScopeInfraEnv.Of(want.Match.InfraEnv)] = true
		}
	}
	p.plan.Actions = slices.DeleteFunc(p.plan.Actions, func(a model.Action) bool { return alone[a.Scope] })
	p.plan.Blockers = slices.DeleteFunc(p.plan.Blockers, func(b model.Blocker) bool { return alone[b.Scope] })
	for _, name := range slices.Sorted(maps.Keys(p.desired.Options.LeftAlone)) {
		if host := p.matches.ByName[name]; host != nil && (host.State == model.HostInstalled || host.State == model.HostAdded) {
			continue // it runs, and needs nothing of that any more
		}
		p.plan.Blockers = append(p.plan.Blockers, model.Blocker{
			Key: "host/" + name + "/objects", Scope: model.ScopeHost.Of(name), Reason: "InvalidConfiguration", Cure: model.CurePerson,
			Message: p.desired.Options.LeftAlone[name], Hosts: []string{name},
		})
	}
}

// decide depends on the state of the cluster.
func (p *planner) decide() {
	if p.desired.Options.Remove != nil {
		p.removeNodes()
		return
	}
	p.others()
	switch {
	case p.observed.Stale != "":
		// An old observation does not show what was written since.
		p.plan.Actions = nil
		p.wait(model.Wait{Key: "service/answer", Scope: model.ScopeCluster, For: "the service to answer: " + p.observed.Stale, Who: model.WhoService})
	case len(p.plan.Blockers) > 0:
	case p.spec.Imported() && (p.cluster == nil || p.cluster.Unmarked || p.cluster.State.BeforeInstall()):
		p.importCluster()
	case (p.desired.Options.AddNodes || p.spec.OnlyAdds()) && (p.cluster == nil || p.cluster.State.BeforeInstall()):
		p.notInstalled()
	case p.cluster == nil:
		p.register()
	case p.cluster.State == model.ClusterUnknown:
		p.end(model.VerdictUnknown, fmt.Sprintf("the service says that the cluster is %q, which this oaictl does not know", p.cluster.Status), "{version}")
	case p.cluster.State.BeforeInstall() && p.preparationCancelled():
		p.end(model.VerdictCancelled, "the installation was cancelled while it was being prepared, so that nothing was installed", "run the same command again, which starts it anew")
	case p.cluster.State.BeforeInstall():
		p.beforeInstall()
		p.retireMedia()
	case p.cluster.State.Running():
		p.adopt()
		p.running()
		p.retireMedia()
	case p.cluster.State.Installed():
		p.adopt()
		p.installed()
		p.recorded()
		p.retireMedia()
	case p.cluster.State == model.ClusterFailed:
		p.adopt()
		p.failed()
		p.retireMedia()
	case p.cluster.State == model.ClusterCancelled:
		p.adopt()
		p.cancelled()
		p.retireMedia()
	}
}

// finish leaves out what is not to be done again yet, gives the plan its verdict,
// unless it has one, and says whether a loop ends with it.
func (p *planner) finish() {
	p.remember()
	p.untilWhen()
	p.conclude()
	p.limit()
}

// untilWhen says, on the loop's own clock, how long those are waited for that are not required.
func (p *planner) untilWhen() {
	for i := range p.plan.Waits {
		if w := &p.plan.Waits[i]; !w.Until.IsZero() {
			w.For += fmt.Sprintf(" (not required: until %s)", w.Until.Add(-p.memory.Ahead).UTC().Format("15:04 UTC"))
		}
	}
}

// conclude gives the plan its verdict, unless it has one.
func (p *planner) conclude() {
	plan := &p.plan
	switch {
	case plan.Verdict != "":
	case len(plan.Actions) > 0:
		plan.Verdict = model.VerdictWorking
		plan.Message = firstDone(plan.Actions)
	case len(plan.Blockers) > 0:
		plan.Verdict = model.VerdictBlocked
		plan.Message, plan.Next = plan.Blockers[0].Message, plan.Blockers[0].Remedy
	default:
		plan.Verdict = model.VerdictWaiting
		if len(plan.Waits) > 0 {
			plan.Message = "waiting for " + plan.Waits[0].For
		}
	}
}

// firstDone is what is done first, and how much comes after it.
func firstDone(actions []model.Action) string {
	text := "about to " + actions[0].Describe()
	if more := len(actions) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// beforeInstall brings cluster, image and hosts to what the file says, and
// starts the install when all of it is so.
func (p *planner) beforeInstall() {
	p.unattended()
	p.configureCluster()
	p.images()
	p.hosts()
	p.unknownHosts()
	p.networks()
	p.clusterChecks()
	p.resend()
	p.leaveOut()
	p.start()
	p.otherwise("the service to check the cluster and its hosts")
}

// attendsWithin is how long the service may take to look at a new cluster.
const attendsWithin = 10 * time.Minute

// unattended says that nothing goes on since the service's controllers do not run.
func (p *planner) unattended() {
	since := p.cluster.Unattended
	if since.IsZero() || p.now.Before(since.Add(attendsWithin)) {
		return
	}
	p.block(model.Blocker{
		Key: "cluster/unattended", Scope: model.ScopeCluster, Reason: "NoController", Cure: model.CurePerson, Since: since,
		Message: "no controller of the hub has looked at the cluster since it was made at " + since.UTC().Format(time.TimeOnly),
		Remedy:  "look whether assisted-service runs on the hub and may watch this namespace: kubectl get pods -A -l app=assisted-service",
	})
}

// Explain decides on one observation without a memory, to say what blocks the install now, or, if host is the id of a
// host, what blocks that host. Problems that hold nothing up are named, too.
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

// AddingHosts reports whether hosts are being added to an installed cluster.
func AddingHosts(observed *model.Observed) bool {
	cluster := observed.Cluster
	return cluster != nil && cluster.State == model.ClusterAddingHosts && slices.ContainsFunc(observed.Hosts, func(h model.Host) bool {
		return h.Day2 && !IsMember(&h)
	})
}

// unbound reports what blocks machines that belong to no cluster.
func (p *planner) unbound() {
	hosts := make([]*model.Host, 0, len(p.observed.Hosts))
	for i := range p.observed.Hosts {
		hosts = append(hosts, &p.observed.Hosts[i])
		p.usable(hosts[i])
	}
	p.causes(p.explain(hosts))
}

// narrow keeps of a plan only what concerns one host: the reports about it, and what blocks the cluster itself.
func (p *planner) narrow(host string) {
	concerns := func(scope model.Scope) bool {
		return scope == model.ScopeHost.Of(p.only) || scope == model.ScopeHost.Of(host) || scope == model.ScopeNode.Of(p.only)
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
