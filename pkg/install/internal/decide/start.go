package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
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
	for _, host := range p.matches.Part {
		if host.State != model.HostReady || p.runsOldImage(host) {
			return
		}
	}
	missing, ok := p.enoughHosts()
	if !ok || !p.cluster.Released && p.preparationFailed() {
		return
	}
	p.plan.Missing = missing
	counts := p.presentCounts()
	if p.onHold() || p.released(counts) || p.passingOn() {
		return
	}
	if p.desired.Options.ReadOnly {
		p.wait(model.Wait{
			Key: "cluster/install", Scope: model.ScopeCluster, For: "the installation to be started; everything is ready",
			Since: p.cluster.StatusSince, Who: model.WhoService, Next: "oaictl create cluster -f FILE",
		})
		return
	}
	present := len(p.matches.Part)
	reason := fmt.Sprintf("all %d hosts are ready", present)
	switch {
	case present == 1:
		reason = "the host is ready"
	case len(missing) > 0:
		reason = fmt.Sprintf("%d hosts are ready; not required and missing: %s", present, strings.Join(missing, ", "))
	}
	p.act(model.Action{
		Key: "cluster/install", Scope: model.ScopeCluster, Kind: model.StartInstall, Target: p.cluster.ID, Name: p.name(), Reason: reason, Destructive: true,
		Settings: counts,
	})
}

// enoughHosts says whether the hosts that are there suffice for the start, and
// names those that are missing. Workers that are not required are waited for
// until their time is up.
func (p *planner) enoughHosts() (missing []string, ok bool) {
	for i := range p.spec.Spec.Hosts {
		host := &p.spec.Spec.Hosts[i]
		switch {
		case p.matches.ByName[host.Name] != nil:
		case host.Role == spec.Worker:
			missing = append(missing, host.Name)
		default:
			return nil, false
		}
	}
	for range p.unnamedMissing() {
		missing = append(missing, "a worker")
	}
	enough := len(p.matches.Part) >= p.counts().required() && !p.now.Before(p.optionalEnds())
	return missing, len(missing) == 0 || enough
}

// optionalEnds is until when workers that are not required are waited for.
func (p *planner) optionalEnds() time.Time {
	within := time.Duration(p.spec.Spec.Topology.Required.Within)
	return p.imageSince().Add(cmp.Or(within, defaultWithin))
}

// preparationRetries is how often a failed preparation is tried again at once,
// preparationPause after how long where somebody may have cured it, and
// preparationMemory how long a failure counts towards the next one.
const (
	preparationRetries = 2
	preparationPause   = 10 * time.Minute
	preparationMemory  = time.Hour
)

// ReasonPreparation is the reason of a blocker that is a failed preparation.
const ReasonPreparation = "PreparationFailed"

// preparationCancelled says whether somebody has cancelled the preparation of an
// install since this run began. The service takes the cluster back to where it
// could be installed again, which nobody asked for: a later run does, if it is
// told to.
func (p *planner) preparationCancelled() bool {
	return !p.memory.Started.IsZero() && p.cluster.Preparation.Cancelled.After(p.memory.Cancelled)
}

// preparationFailed says whether the service has failed too often to prepare
// this install to try it again now. A cluster that is ready after an install
// call is one whose preparation failed.
func (p *planner) preparationFailed() bool {
	failures, last := p.preparationFailures()
	if failures <= preparationRetries || last.Before(p.memory.Started) {
		p.failedBefore(last)
		return false
	}
	if b, found := p.unprepared(); found {
		p.block(b)
		return p.now.Sub(last) < preparationPause
	}
	p.block(model.Blocker{
		Key: model.KeyPreparation, Scope: model.ScopeCluster, Reason: ReasonPreparation, Cure: model.CureNone,
		Message: fmt.Sprintf("the service failed %d times to prepare the installation: %s", failures, cmp.Or(p.cluster.Preparation.Reason, p.cluster.StatusInfo)),
		Remedy:  "oaictl why cluster " + p.name() + ", cure that, and run the same command again",
	})
	return true
}

// failedBefore says why the last preparation failed, if that was before the loop began: it
// is tried again, and fails again unless that was cured.
func (p *planner) failedBefore(last time.Time) {
	if !last.Before(p.memory.Started) || p.now.Sub(last) > preparationMemory {
		return
	}
	if b, found := p.unprepared(); found {
		b.Key, b.Message = model.KeyPreparation+"/before", "the last attempt failed, and it is tried again: "+b.Message
		p.warn(asWarning(b))
	}
}

// preparationFailures counts the failures in a row, by the service's events, so
// that a run that is broken off and begun again has no more tries than one that
// is not. Whoever begins a run after all tries failed was told so, and wants
// to try again: for that run they do not count.
func (p *planner) preparationFailures() (failures int, last time.Time) {
	for _, at := range p.cluster.Preparation.FailedAt {
		told := failures > preparationRetries && last.Before(p.memory.Started)
		if told || at.Sub(last) > preparationMemory {
			failures = 0
		}
		failures, last = failures+1, at
	}
	return failures, last
}

// unprepared is the blocker of hosts that could not prepare: they could not pull
// what an install needs, or took too long. The service measures that while it
// prepares one, and takes the hosts for ready nevertheless: a person sees to the
// network, the registry or its mirror, and the next preparation shows it.
func (p *planner) unprepared() (b model.Blocker, found bool) {
	for _, cause := range p.explain(p.matches.Part).Causes {
		if cause.ID != "container-images-available" {
			continue
		}
		b = p.causeBlocker(cause)
		b.Key, b.Reason, b.Message = model.KeyPreparation, ReasonPreparation, "the service cannot prepare the installation: "+b.Message
		return b, true
	}
	var said []string
	for _, h := range p.matches.Part {
		if why, failed := p.cluster.Preparation.Hosts[h.ID]; failed {
			if _, checks, found := strings.Cut(why, "failing validation(s): "); found {
				why = checks
			}
			said = append(said, fmt.Sprintf("%s: %s", p.hostName(h), why))
			b.Hosts = append(b.Hosts, p.hostName(h))
		}
	}
	slices.Sort(said)
	b.Key, b.Scope, b.Reason, b.Cure = model.KeyPreparation, model.ScopeCluster, ReasonPreparation, model.CurePerson
	b.Message = "the service cannot prepare the installation: " + strings.Join(said, "; ")
	b.Remedy = "see that these hosts can pull the images of the release: oaictl explain validation container-images-available"
	return b, len(said) > 0
}
