package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// defaultWithin is how long workers that are not required are waited for
// where the file does not say.
const defaultWithin = time.Hour

// hosts brings every host of the file that is there to what the file says, and
// waits for those that are not.
func (p *planner) hosts() {
	p.held = !p.idle() || !p.unhindered()
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		have := p.matches.ByName[want.Name]
		switch {
		case have == nil:
			p.absent(want)
		case p.ambiguous(want, have):
		case p.runsOldImage(have):
			p.bootNewImage(have)
		case p.usable(have):
			p.configureHost(want, have)
		}
	}
	p.unnamedAbsent()
}

// ambiguous reports whether it is not clear which machine a host of the file is, or which host of the file a machine.
// Nothing is written to either then.
func (p *planner) ambiguous(want *spec.Host, have *model.Host) bool {
	for _, double := range p.matches.doubles[want.Name] {
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/double/" + double.ID, Scope: model.ScopeHost.Of(want.Name), Reason: "AmbiguousHost", Cure: model.CurePerson,
			Message: fmt.Sprintf("two machines fit %s: %s and %s", want.Name, have.Label(), double.Label()),
			Remedy:  "give spec.hosts[].match a second field, or power one off and `" + model.Command("delete host", double.ID) + "`",
			Hosts:   []string{want.Name},
		})
	}
	several := p.matches.several[have.ID]
	if len(several) > 0 {
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/several", Scope: model.ScopeHost.Of(want.Name), Reason: "AmbiguousHost", Cure: model.CureFile, Field: p.hostField(want.Name) + "match",
			Message: fmt.Sprintf("%s fits several hosts of the file: %s", have.Label(), strings.Join(append([]string{want.Name}, several...), ", ")),
			Remedy:  "make spec.hosts[].match of one of them say another machine", Hosts: append([]string{want.Name}, several...),
		})
	}
	return len(several) > 0 || len(p.matches.doubles[want.Name]) > 0
}

// absent waits for a host of the file that the service has not seen.
func (p *planner) absent(want *spec.Host) {
	if !isReserved(want) && !p.imageReady(want) || p.matchesAnother(want.Name) {
		return
	}
	wait := model.Wait{
		Key: "host/" + want.Name + "/register", Scope: model.ScopeHost.Of(want.Name), Who: model.WhoUser, Since: p.imageSince(),
		For: want.Name + " to boot the discovery image and register", Next: p.isoCommand(want.Name),
	}
	if want.Role == spec.Worker && p.presentWorkers() >= p.counts().requiredWorkers {
		wait.Until = p.optionalEnds()
	}
	p.awaitMachine(want, wait)
}

// awaitMachine waits for a machine to register, and boots it where that is
// oaictl's to do. One that is bound to another cluster is left alone.
func (p *planner) awaitMachine(want *spec.Host, wait model.Wait) {
	bound := p.boundElsewhere(want)
	if bound && p.elsewhere(want, &wait) {
		return
	}
	if isReserved(want) && !bound {
		p.awaitReserved(want, wait)
		return
	}
	if bound || !p.bootByService(want, wait) && !p.bootByBMC(want, wait) {
		p.wait(wait)
	}
}

// matchesAnother reports whether the machine of a host of the file has registered but was taken for another host, which
// is reported there.
func (p *planner) matchesAnother(name string) bool {
	for _, names := range p.matches.several {
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// unnamedAbsent waits for machines that the file counts without naming them.
func (p *planner) unnamedAbsent() {
	missing := p.unnamedMissing()
	if missing <= 0 || !p.imageReady(nil) {
		return
	}
	wait := model.Wait{
		Key: "hosts/register", Scope: model.ScopeCluster, Who: model.WhoUser, Since: p.imageSince(),
		For: fmt.Sprintf("%d more hosts to boot the discovery image and register", missing), Next: model.Command("download iso", p.name()),
	}
	if len(p.matches.Part) >= p.counts().required() {
		wait.Until = p.optionalEnds()
	} else if p.enrolledTrouble() {
		return
	}
	p.wait(wait)
}

// configureHost sets role, hostname, disks and the like.
func (p *planner) configureHost(want *spec.Host, have *model.Host) {
	if !have.Inventory.Known {
		p.waitHost(have, "to send its inventory", model.WhoMachine)
		return
	}
	update, ok := p.hostUpdate(want, have)
	switch {
	case !ok:
		return
	case len(update.Settings) > 0:
		p.act(update)
		return
	}
	switch have.State {
	case model.HostDiscovering:
		p.waitHost(have, "to be checked", model.WhoService)
	case model.HostReady:
		p.wipes(want.Name, have)
	}
}

// boundElsewhere reports whether the machine of a host of the file is bound to another cluster.
func (p *planner) boundElsewhere(want *spec.Host) bool {
	return slices.ContainsFunc(p.observed.Elsewhere, func(h model.HostElsewhere) bool { return p.matches.identifies(&want.Match, &h.Host) })
}

// elsewhere reports whether the machine that is waited for need not be expected, since it is bound to another cluster.
// That blocks the install, unless it can do without the machine: then it is the wait that says so.
func (p *planner) elsewhere(want *spec.Host, wait *model.Wait) bool {
	i := slices.IndexFunc(p.observed.Elsewhere, func(h model.HostElsewhere) bool { return p.matches.identifies(&want.Match, &h.Host) })
	if i < 0 {
		return false
	}
	have := &p.observed.Elsewhere[i]
	cluster := have.ClusterID
	if have.ClusterName != "" {
		cluster = fmt.Sprintf("%s (%s)", have.ClusterName, have.ClusterID)
	}
	bound := fmt.Sprintf("%s is bound to the cluster %s", have.Label(), cluster)
	remedy := model.Advicef("if that cluster can do without it, `{delete host %s --yes}` and boot it from the discovery image; otherwise name another machine", have.ID)
	if isReserved(want) {
		remedy = "if that cluster can do without it, have it released there; otherwise reserve another host: match.agent"
	}
	if !wait.Until.IsZero() {
		wait.For, wait.Next = fmt.Sprintf("%s to become free: %s", want.Name, bound), remedy
		return false
	}
	p.block(model.Blocker{
		Key: "host/" + want.Name + "/elsewhere", Scope: model.ScopeHost.Of(want.Name), Reason: "BoundElsewhere", Cure: model.CurePerson, Since: have.Since,
		Field: p.hostField(want.Name) + "match", Message: want.Name + ": " + bound, Remedy: remedy, Hosts: []string{want.Name},
	})
	return true
}

// optionalEnds is until when workers that are not required are waited for.
func (p *planner) optionalEnds() time.Time {
	within := time.Duration(p.spec.Spec.Topology.Required.Within)
	return p.imageSince().Add(cmp.Or(within, defaultWithin))
}

// enoughHosts reports whether the hosts that are there suffice for the start, and names those that are missing. Workers
// that are not required are waited for until their time is up.
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
