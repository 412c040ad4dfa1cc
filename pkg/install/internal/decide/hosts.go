package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hosts brings every host of the file that is there to what the file says, and
// waits for those that are not.
func (p *planner) hosts() {
	p.boot.held = !p.idle() || !p.unhindered()
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		have := p.roster.ByName[want.Name]
		switch {
		case have == nil:
			p.absent(want)
		case p.ambiguous(want, have):
		case p.images.runsOldImage(have):
			p.hostStates.bootNewImage(have)
		case p.hostStates.usable(have):
			p.configureHost(want, have)
		}
	}
	p.unnamedAbsent()
}

// ambiguous reports whether it is not clear which machine a host of the file is, or which host of the file a machine.
// Nothing is written to either then.
func (p *planner) ambiguous(want *spec.Host, have *model.Host) bool {
	for _, double := range p.roster.doubles[want.Name] {
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/double/" + double.ID, Scope: model.HostScope(want.Name), Reason: "AmbiguousHost", Cure: model.CurePerson,
			Message: fmt.Sprintf("two machines fit %s: %s and %s", want.Name, have.Label(), double.Label()),
			Remedy:  "give spec.hosts[].match a second field, or power one off and `" + model.Command("delete host", double.ID) + "`",
			Hosts:   []string{want.Name},
		})
	}
	several := p.roster.several[have.ID]
	if len(several) > 0 {
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/several", Scope: model.HostScope(want.Name), Reason: "AmbiguousHost", Cure: model.CureFile, Field: hostField(want.Name) + "match",
			Message: fmt.Sprintf("%s fits several hosts of the file: %s", have.Label(), strings.Join(append([]string{want.Name}, several...), ", ")),
			Remedy:  "make spec.hosts[].match of one of them say another machine", Hosts: append([]string{want.Name}, several...),
		})
	}
	return len(several) > 0 || len(p.roster.doubles[want.Name]) > 0
}

// absent waits for a host of the file that the service has not seen.
func (p *planner) absent(want *spec.Host) {
	if !isReserved(want) && !p.images.ready(want) || p.roster.matchesAnother(want.Name) {
		return
	}
	wait := model.Wait{
		Key: "host/" + want.Name + "/register", Scope: model.HostScope(want.Name), Who: model.WhoUser, Since: p.attendance.imageSince(),
		For: want.Name + " to boot the discovery image and register", Next: p.images.isoCommand(want.Name),
	}
	if want.Role == spec.Worker && p.attendance.presentWorkers() >= p.attendance.counts().requiredWorkers {
		wait.Until = p.attendance.optionalEnds()
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
	if bound || !p.boot.byService(want, wait) && !p.boot.byBMC(want, wait) {
		p.wait(wait)
	}
}

// unnamedAbsent waits for machines that the file counts without naming them.
func (p *planner) unnamedAbsent() {
	missing := p.attendance.unnamedMissing()
	if missing <= 0 || !p.images.ready(nil) {
		return
	}
	wait := model.Wait{
		Key: "hosts/register", Scope: model.ScopeCluster, Who: model.WhoUser, Since: p.attendance.imageSince(),
		For: fmt.Sprintf("%d more hosts to boot the discovery image and register", missing), Next: model.Command("download iso", p.name),
	}
	if len(p.roster.Part) >= p.attendance.counts().required() {
		wait.Until = p.attendance.optionalEnds()
	} else if p.boot.enrolledTrouble() {
		return
	}
	p.wait(wait)
}

// configureHost sets role, hostname, disks and the like.
func (p *planner) configureHost(want *spec.Host, have *model.Host) {
	if !have.Inventory.Known {
		p.wait(p.roster.waitFor(have, "to send its inventory", model.WhoMachine))
		return
	}
	update, ok := p.hostSettings.update(want, have)
	switch {
	case !ok:
		return
	case len(update.Settings) > 0:
		p.act(update)
		return
	}
	switch have.State {
	case model.HostDiscovering:
		p.wait(p.roster.waitFor(have, "to be checked", model.WhoService))
	case model.HostReady:
		p.hostSettings.wipes(want.Name, have)
	}
}

// boundElsewhere reports whether the machine of a host of the file is bound to another cluster.
func (p *planner) boundElsewhere(want *spec.Host) bool {
	return slices.ContainsFunc(p.observed.Elsewhere, func(h model.HostElsewhere) bool { return p.roster.identifies(&want.Match, &h.Host) })
}

// elsewhere reports whether the machine that is waited for need not be expected, since it is bound to another cluster.
// That blocks the install, unless it can do without the machine: then it is the wait that says so.
func (p *planner) elsewhere(want *spec.Host, wait *model.Wait) bool {
	i := slices.IndexFunc(p.observed.Elsewhere, func(h model.HostElsewhere) bool { return p.roster.identifies(&want.Match, &h.Host) })
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
		Key: "host/" + want.Name + "/elsewhere", Scope: model.HostScope(want.Name), Reason: "BoundElsewhere", Cure: model.CurePerson, Since: have.Since,
		Field: hostField(want.Name) + "match", Message: want.Name + ": " + bound, Remedy: remedy, Hosts: []string{want.Name},
	})
	return true
}
