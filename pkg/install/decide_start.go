package install

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// start makes the install call once everything is as the file says, and not
// before.
func (p *planner) start() {
	if p.cluster.State != ClusterReady || !p.idle() || !p.unhindered() {
		return
	}
	for _, host := range p.matches.part {
		if host.State != HostReady || p.runsOldImage(host) {
			return
		}
	}
	missing, ok := p.enoughHosts()
	if !ok || p.preparationFailed() {
		return
	}
	p.plan.Missing = missing
	present := len(p.matches.part)
	reason := fmt.Sprintf("all %d hosts are ready", present)
	switch {
	case present == 1:
		reason = "the host is ready"
	case len(missing) > 0:
		reason = fmt.Sprintf("%d hosts are ready; not required and missing: %s", present, strings.Join(missing, ", "))
	}
	p.act(Action{Key: "cluster/install", Scope: ScopeCluster, Kind: StartInstall, Target: p.cluster.ID, Name: p.name(), Reason: reason, Destructive: true})
}

// enoughHosts says whether the hosts that are there suffice for the start, and
// names those that are missing. Workers that are not required are waited for
// until their time is up.
func (p *planner) enoughHosts() (missing []string, ok bool) {
	for i := range p.spec.Spec.Hosts {
		host := &p.spec.Spec.Hosts[i]
		switch {
		case p.matches.byName[host.Name] != nil:
		case host.Role == spec.Worker:
			missing = append(missing, host.Name)
		default:
			return nil, false
		}
	}
	for range p.unnamedMissing() {
		missing = append(missing, "a worker")
	}
	enough := len(p.matches.part) >= p.counts().required() && !p.now.Before(p.optionalEnds())
	return missing, len(missing) == 0 || enough
}

// optionalEnds is until when workers that are not required are waited for.
func (p *planner) optionalEnds() time.Time {
	within := time.Duration(p.spec.Spec.Topology.Required.Within)
	return p.imageSince().Add(cmp.Or(within, defaultWithin))
}

// preparationRetries is how often a failed preparation is tried again.
const preparationRetries = 2

// preparationFailed says whether the service has failed too often to prepare
// this install. A cluster that is ready after an install call is one whose
// preparation failed.
func (p *planner) preparationFailed() bool {
	failures := 0
	for _, at := range p.cluster.Preparation.FailedAt {
		if !at.Before(p.desired.Options.Started) {
			failures++
		}
	}
	if failures <= preparationRetries {
		return false
	}
	p.block(Blocker{
		Key: "cluster/preparation", Scope: ScopeCluster, Reason: "PreparationFailed", Cure: CureNone,
		Message: fmt.Sprintf("the service failed %d times to prepare the installation: %s", failures, cmp.Or(p.cluster.Preparation.Reason, p.cluster.StatusInfo)),
		Remedy:  "oaictl why cluster " + p.name() + ", cure that, and run the same command again",
	})
	return true
}
