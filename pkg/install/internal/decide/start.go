package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/setting"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// start makes the install call once everything is as the file says, and not
// before.
func (p *planner) start() {
	if p.cluster.State != model.ClusterReady || !p.idle() || !p.unhindered() {
		return
	}
	if p.cluster.Released && p.preparationFailed() {
		return // it starts again by itself, as soon as the hosts are ready: that is no moment to be waited for
	}
	if len(p.roster.leftOut) > 0 {
		return // it would be installed, too
	}
	for _, host := range p.roster.Part {
		if host.State != model.HostReady || p.images.runsOldImage(host) {
			return
		}
	}
	missing, ok := p.attendance.enoughHosts()
	if !ok || !p.cluster.Released && p.preparationFailed() {
		return
	}
	p.plan.Missing = missing
	counts := p.attendance.presentCounts()
	if p.onHold() || p.released(counts) || p.passingOn() {
		return
	}
	if p.options.ReadOnly {
		p.wait(model.Wait{
			Key: "cluster/install", Scope: model.ScopeCluster, For: "the installation to be started; everything is ready",
			Since: p.cluster.StatusSince, Who: model.WhoService, Next: "{create cluster -f FILE}",
		})
		return
	}
	present := len(p.roster.Part)
	reason := fmt.Sprintf("all %d hosts are ready", present)
	switch {
	case present == 1:
		reason = "the host is ready"
	case len(missing) > 0:
		reason = fmt.Sprintf("%d hosts are ready; not required and missing: %s", present, strings.Join(missing, ", "))
	}
	p.act(model.Action{
		Key: "cluster/install", Scope: model.ScopeCluster, Kind: model.StartInstall, Target: p.cluster.ID, Name: p.name, Reason: reason, Destructive: true,
		Settings: counts,
	})
}

// preparationRetries is how often a failed preparation is tried again at once. preparationPause is the time after which
// it is tried again because a user may have cured the cause. preparationMemory is how long a failure counts towards the
// next one.
const (
	preparationRetries = 2
	preparationPause   = 10 * time.Minute
	preparationMemory  = time.Hour
)

// ReasonPreparation is the reason of a blocker that is a failed preparation.
const ReasonPreparation = "PreparationFailed"

// preparationCancelled reports whether a user has cancelled the preparation of an install since this run began. The
// service then takes the cluster back to a state in which it could be installed again. This run does not do that, since
// it was not asked for; a later run does, if the user asks for it.
func (p *planner) preparationCancelled() bool {
	return !p.memory.Began.IsZero() && p.cluster.Preparation.Cancelled.After(p.memory.Cancelled)
}

// preparationFailed reports whether the service has failed too often to prepare this install, so that it is not tried
// again now. A cluster that is ready after an install call is one that the service failed to prepare.
func (p *planner) preparationFailed() bool {
	failures, last := p.preparationFailures()
	if failures <= preparationRetries || p.toldBefore(last) {
		p.failedBefore(last)
		return false
	}
	if b, found := p.unprepared(); found {
		b.Remedy = model.Advice(strings.TrimSuffix(string(b.Remedy), ".")) + p.nextPreparation()
		p.block(b)
		return p.now.Sub(last) < preparationPause
	}
	p.block(model.Blocker{
		Key: model.KeyPreparation, Scope: model.ScopeCluster, Reason: ReasonPreparation, Cure: model.CureNone,
		Message: fmt.Sprintf("the service failed %d times to prepare the installation: %s", failures, cmp.Or(p.cluster.Preparation.Reason, p.cluster.StatusInfo)),
		Remedy:  model.Command("why cluster", p.name) + ", cure that, and run the same command again",
	})
	return true
}

// nextPreparation says when, and by which command, the service prepares the installation again.
func (p *planner) nextPreparation() model.Advice {
	switch {
	case p.cluster.Released:
		return "; the service tries again by itself once all hosts are ready"
	case p.memory.Began.IsZero():
		return "; {create cluster -f FILE} tries again at once"
	}
	return model.Advicef("; this run tries again %d minutes after the failure, and {create cluster -f FILE} tries at once when it is begun again",
		int(preparationPause/time.Minute))
}

// toldBefore reports whether a preparation that failed then was known when the loop began.
func (p *planner) toldBefore(failed time.Time) bool { return !failed.After(p.memory.Failed) }

// failedBefore says why the last preparation failed, if that was before the loop began: it
// is tried again, and fails again unless that was cured.
func (p *planner) failedBefore(last time.Time) {
	if !p.toldBefore(last) || p.now.Sub(last) > preparationMemory {
		return
	}
	if b, found := p.unprepared(); found {
		b.Key, b.Message = model.KeyPreparation+"/before", "the last attempt failed, and it is tried again: "+b.Message
		p.warn(asWarning(b))
	}
}

// preparationFailures counts the failures in a row, by the service's events, so that a run that is interrupted and
// started again has no more tries than one that is not. The user of a run whose tries all failed has read that. If that
// user starts another run, the user wants to try again: for that run the old failures do not count.
func (p *planner) preparationFailures() (failures int, last time.Time) {
	for _, at := range p.cluster.Preparation.FailedAt {
		known := failures > preparationRetries && p.toldBefore(last)
		if known || at.Sub(last) > preparationMemory {
			failures = 0
		}
		failures, last = failures+1, at
	}
	return failures, last
}

// unprepared is the blocker of hosts that could not prepare: they could not pull what an install needs, or took too
// long. The service measures that while it prepares one, and reports the hosts as ready nevertheless: a person repairs
// the network, the registry or its mirror, and the next preparation shows the effect.
func (p *planner) unprepared() (b model.Blocker, found bool) {
	for _, cause := range p.checks.explain(p.roster.Part, p.cluster).Causes {
		if cause.ID != "container-images-available" {
			continue
		}
		b = p.checks.blocker(cause)
		b.Key, b.Reason, b.Message = model.KeyPreparation, ReasonPreparation, "the service cannot prepare the installation: "+b.Message
		return b, true
	}
	var said []string
	for _, h := range p.roster.Part {
		if why, failed := p.cluster.Preparation.Hosts[h.ID]; failed {
			if _, checks, found := strings.Cut(why, "failing validation(s): "); found {
				why = checks
			}
			said = append(said, fmt.Sprintf("%s: %s", p.roster.Call(h), why))
			b.Hosts = append(b.Hosts, p.roster.Call(h))
		}
	}
	slices.Sort(said)
	b.Key, b.Scope, b.Reason, b.Cure = model.KeyPreparation, model.ScopeCluster, ReasonPreparation, model.CurePerson
	b.Message = "the service cannot prepare the installation: " + strings.Join(said, "; ")
	b.Remedy = "see that these hosts can pull the images of the release: {explain validation container-images-available}"
	return b, len(said) > 0
}

// onHold reports whether the start is held, by the file or by another client, and waits for the holder.
func (p *planner) onHold() bool {
	if p.spec.Spec.Hold {
		p.wait(model.Wait{
			Key: model.KeyHold, Scope: model.ScopeCluster, Who: model.WhoUser, For: "spec.hold of the file to be taken back; everything else is ready",
			Next: "{create cluster -f FILE}, with spec.hold false or left out",
		})
	}
	held, is := p.cluster.Held()
	if is {
		held.For += "; everything else is ready"
		p.wait(held)
	}
	return p.spec.Spec.Hold || is
}

// released reports whether the service has the order to start with just these hosts, and waits for it to do so. If the
// service does not notice that it can start, the cluster is touched to wake it.
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
			Key: "cluster/nudge", Scope: model.ScopeCluster, Kind: model.NudgeCluster, Target: p.cluster.ID, Name: p.name,
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

// noticeWithin is how long a service may take to notice that nothing is missing
// any more, before the cluster is touched, and touchAgain how long it has to
// react to that.
const (
	noticeWithin = 30 * time.Second
	touchAgain   = time.Minute
)

// passingOn reports whether the service may not know yet what was written of the hosts, and waits for that: what is
// sent after the start comes too late.
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

// passedOn is how long a controller has to pass on what was written of hosts.
const passedOn = 5 * time.Second
