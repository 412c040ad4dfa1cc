package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// preparation says what became of the service's attempts to prepare the installation.
type preparation struct {
	*collector
	name           string
	began          time.Time // the loop
	knownCancelled time.Time
	knownFailed    time.Time
	now            time.Time
	cluster        *model.Cluster
	roster         *roster
	checks         *checks
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

// cancelled reports whether a user has cancelled the preparation of an install since this run began. The
// service then takes the cluster back to a state in which it could be installed again. This run does not do that, since
// it was not asked for; a later run does, if the user asks for it.
func (p *preparation) cancelled() bool {
	return !p.began.IsZero() && p.cluster.Preparation.Cancelled.After(p.knownCancelled)
}

// failed reports whether the service has failed too often to prepare this install, so that it is not tried
// again now. A cluster that is ready after an install call is one that the service failed to prepare.
func (p *preparation) failed() bool {
	failures, last := p.failures()
	if failures <= preparationRetries || p.toldBefore(last) {
		p.failedBefore(last)
		return false
	}
	if b, found := p.unprepared(); found {
		b.Remedy = model.Advice(strings.TrimSuffix(string(b.Remedy), ".")) + p.next()
		p.block(b)
		return p.now.Sub(last) < preparationPause
	}
	p.block(model.Blocker{
		Key: model.KeyPreparation, Scope: model.ScopeCluster, Reason: ReasonPreparation, Cure: model.CureNone,
		Message: fmt.Sprintf("the service failed %d times to prepare the installation: %s", failures,
			cmp.Or(p.cluster.Preparation.Reason, p.cluster.StatusInfo)),
		Remedy: model.Command("why cluster", p.name) + ", remove the cause, and run the same command again",
	})
	return true
}

// next says when, and by which command, the service prepares the installation again.
func (p *preparation) next() model.Advice {
	switch {
	case p.cluster.Released:
		return "; the service tries again automatically when all hosts are ready"
	case p.began.IsZero():
		return "; {create cluster -f FILE} tries again at once"
	}
	return model.Advicef("; this run tries again %d minutes after the failure; to try at once, stop it and run {create "+
		"cluster -f FILE} again",
		int(preparationPause/time.Minute))
}

// toldBefore reports whether a preparation that failed then was known when the loop began.
func (p *preparation) toldBefore(failed time.Time) bool { return !failed.After(p.knownFailed) }

// failedBefore says why the last preparation failed, if that was before the loop began: it
// is tried again, and fails again unless that was cured.
func (p *preparation) failedBefore(last time.Time) {
	if !p.toldBefore(last) || p.now.Sub(last) > preparationMemory {
		return
	}
	if b, found := p.unprepared(); found {
		b.Key, b.Message = model.KeyPreparation+"/before", "the last attempt failed, and oaictl tries again: "+b.Message
		p.warn(asWarning(b))
	}
}

// failures counts the failures in a row, by the service's events, so that a run that is interrupted and
// started again has no more tries than one that is not. The user of a run whose tries all failed has read that. If that
// user starts another run, the user wants to try again: for that run the old failures do not count.
func (p *preparation) failures() (failures int, last time.Time) {
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
func (p *preparation) unprepared() (b model.Blocker, found bool) {
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
	b.Remedy = "make sure that these hosts can pull the images of the release: {explain validation container-images-available}"
	return b, len(said) > 0
}
