package decide

import (
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
)

// onHold says whether the start is held, by the file or by somebody else, and
// waits for those who hold it.
func (p *planner) onHold() bool {
	if p.spec.Spec.Hold {
		p.wait(model.Wait{
			Key: model.KeyHold, Scope: model.ScopeCluster, Who: model.WhoUser, For: "spec.hold of the file to be taken back; everything else is ready",
			Next: "oaictl create cluster -f FILE, with spec.hold false or left out",
		})
	}
	held, is := p.cluster.Held()
	if is {
		held.For += "; everything else is ready"
		p.wait(held)
	}
	return p.spec.Spec.Hold || is
}

// presentCounts is how many hosts of which role are there to be installed, for
// a service that counts before it starts. Workers that are not required and did
// not come are not among them; machines that the file does not name are workers.
func (p *planner) presentCounts() model.Settings {
	c := p.counts()
	return model.Settings{
		setting.ControlPlane: setting.ValueOf(c.controlPlane), setting.Arbiters: setting.ValueOf(c.arbiters),
		setting.Workers: setting.ValueOf(max(0, len(p.matches.Part)-c.controlPlane-c.arbiters)),
	}
}

// noticeWithin is how long a service may take to notice that nothing is missing
// any more, before the cluster is touched, and touchAgain how long it has to
// react to that.
const (
	noticeWithin = 30 * time.Second
	touchAgain   = time.Minute
)

// released says whether the service was told to start with just these hosts, and
// waits for it to do so. It is helped on where it does not notice that it can.
func (p *planner) released(counts model.Settings) bool {
	stalled := !p.cluster.Stalled.IsZero()
	if !p.cluster.Released && !stalled {
		return false
	}
	if slices.ContainsFunc(setting.Differences(counts, p.cluster.Settings), func(d setting.Difference) bool { return d.Known }) {
		return false
	}
	if stalled && !p.now.Before(p.cluster.Stalled.Add(noticeWithin)) {
		p.act(model.Action{
			Key: "cluster/nudge", Scope: model.ScopeCluster, Kind: model.NudgeCluster, Target: p.cluster.ID, Name: p.name(),
			Reason: "every host is in sync, but since " + p.cluster.Stalled.UTC().Format(time.TimeOnly) + " the service has not noticed",
		})
		return true
	}
	wait := model.Wait{Key: "cluster/start", Scope: model.ScopeCluster, For: "the service to start the installation", Since: p.cluster.StatusSince, Who: model.WhoService}
	if stalled {
		wait.For, wait.Since = "the service to notice that every host is in sync", p.cluster.Stalled
	}
	p.wait(wait)
	return true
}

// passedOn is how long a controller has to pass on what was written of hosts.
const passedOn = 5 * time.Second

// passingOn says whether the service may not know yet what was written of the hosts, and
// waits for that: what it is told after the start comes too late.
func (p *planner) passingOn() bool {
	differed := p.memory.HostWritten
	if !p.cluster.PassesOn || differed.IsZero() || !p.now.Before(differed.Add(passedOn)) {
		return false
	}
	p.wait(model.Wait{
		Key: "cluster/passing-on", Scope: model.ScopeCluster, Who: model.WhoService, Since: differed,
		For: "the service to take the settings of the hosts",
	})
	return true
}

// recorded goes first of all that is done to an installed cluster: adding hosts
// stands on it. Whether the cluster is installed does not depend on it.
func (p *planner) recorded() {
	if !p.cluster.Unrecorded || p.desired.Options.ReadOnly {
		return
	}
	p.plan.Actions = slices.Insert(p.plan.Actions, 0, model.Action{
		Key: "cluster/record", Scope: model.ScopeCluster, Kind: model.RecordInstalled, Target: p.cluster.ID, Name: p.name(),
		Reason: "the cluster is installed, and nobody else writes that down",
	})
}
