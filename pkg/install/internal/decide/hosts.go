package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hosts waits for the hosts of the file, and has those configured that have come.
type hosts struct {
	*collector
	spec           *spec.Cluster
	name           string
	elsewhereBound []model.HostElsewhere
	observed       []model.Host
	roster         *roster
	attendance     *attendance
	images         *images
	boot           *boot
	hostSettings   *hostSettings
	hostStates     *hostStates
}

// all brings every host of the file that is there to what the file says, and
// waits for those that are not.
func (hs *hosts) all() {
	hs.boot.held = !hs.idle() || !hs.unhindered()
	for i := range hs.spec.Spec.Hosts {
		want := &hs.spec.Spec.Hosts[i]
		have := hs.roster.ByName[want.Name]
		switch {
		case have == nil:
			hs.absent(want)
		case hs.ambiguous(want, have):
		case hs.images.runsOldImage(have):
			hs.hostStates.bootNewImage(have)
		case hs.hostStates.usable(have):
			hs.configure(want, have)
		}
	}
	hs.unnamedAbsent()
}

// ambiguous reports whether it is not clear which machine a host of the file is, or which host of the file a machine.
// Nothing is written to either then.
func (hs *hosts) ambiguous(want *spec.Host, have *model.Host) bool {
	for _, double := range hs.roster.doubles[want.Name] {
		hs.block(model.Blocker{
			Key: "host/" + want.Name + "/double/" + double.ID, Scope: model.ScopeHost.Of(want.Name), Reason: "AmbiguousHost",
			Cure:    model.CurePerson,
			Message: fmt.Sprintf("two machines match %s: %s and %s", want.Name, have.Label(), double.Label()),
			Remedy:  "add a second field to spec.hosts[].match, or power off one of them and `" + model.Command("delete host", double.ID) + "`",
			Hosts:   []string{want.Name},
		})
	}
	several := hs.roster.several[have.ID]
	if len(several) > 0 {
		hs.block(model.Blocker{
			Key: "host/" + want.Name + "/several", Scope: model.ScopeHost.Of(want.Name), Reason: "AmbiguousHost", Cure: model.CureFile,
			Field: hostField(want.Name) + "match",
			Message: fmt.Sprintf("%s matches several hosts of the file: %s", have.Label(),
				strings.Join(append([]string{want.Name}, several...), ", ")),
			Remedy: "change spec.hosts[].match of one of them so that it matches another machine", Hosts: append([]string{want.Name}, several...),
		})
	}
	return len(several) > 0 || len(hs.roster.doubles[want.Name]) > 0
}

// absent waits for a host of the file that the service has not seen.
func (hs *hosts) absent(want *spec.Host) {
	if !isReserved(want) && !hs.images.ready(want) || hs.roster.matchesAnother(want.Name) {
		return
	}
	wait := model.Wait{
		Key: "host/" + want.Name + "/register", Scope: model.ScopeHost.Of(want.Name), Who: model.WhoUser, Since: hs.attendance.imageSince(),
		For: want.Name + " to boot the discovery image and register", Next: hs.images.isoCommand(want.Name),
	}
	if want.Role == spec.Worker && hs.attendance.presentWorkers() >= hs.attendance.counts().requiredWorkers {
		wait.Until = hs.attendance.optionalEnds()
	}
	hs.awaitMachine(want, wait)
}

// awaitMachine waits for a machine to register, and boots it where that is
// oaictl's to do. One that is bound to another cluster is left alone.
func (hs *hosts) awaitMachine(want *spec.Host, wait model.Wait) {
	bound := hs.boundElsewhere(want)
	if bound && hs.elsewhere(want, &wait) {
		return
	}
	if isReserved(want) && !bound {
		hs.awaitReserved(want, wait)
		return
	}
	if bound || !hs.boot.byService(want, wait) && !hs.boot.byBMC(want, wait) {
		hs.wait(wait)
	}
}

// unnamedAbsent waits for machines that the file counts without naming them.
func (hs *hosts) unnamedAbsent() {
	missing := hs.attendance.unnamedMissing()
	if missing <= 0 || !hs.images.ready(nil) {
		return
	}
	wait := model.Wait{
		Key: "hosts/register", Scope: model.ScopeCluster, Who: model.WhoUser, Since: hs.attendance.imageSince(),
		For: fmt.Sprintf("%d more hosts to boot the discovery image and register", missing), Next: model.Command("download iso", hs.name),
	}
	if len(hs.roster.Part) >= hs.attendance.counts().required() {
		wait.Until = hs.attendance.optionalEnds()
	} else if hs.boot.enrolledTrouble() {
		return
	}
	hs.wait(wait)
}

// configure sets role, hostname, disks and the like.
func (hs *hosts) configure(want *spec.Host, have *model.Host) {
	if !have.Inventory.Known {
		hs.wait(hs.roster.waitFor(have, "to send its inventory", model.WhoMachine))
		return
	}
	update, ok := hs.hostSettings.update(want, have)
	switch {
	case !ok:
		return
	case len(update.Settings) > 0:
		hs.act(update)
		return
	}
	switch have.State {
	case model.HostDiscovering:
		hs.wait(hs.roster.waitFor(have, "to be checked", model.WhoService))
	case model.HostReady:
		hs.hostSettings.wipes(want.Name, have)
	}
}

// boundElsewhere reports whether the machine of a host of the file is bound to another cluster.
func (hs *hosts) boundElsewhere(want *spec.Host) bool {
	return slices.ContainsFunc(hs.elsewhereBound, func(h model.HostElsewhere) bool { return hs.roster.identifies(&want.Match, &h.Host) })
}

// elsewhere reports whether the machine that is waited for need not be expected, since it is bound to another cluster.
// That blocks the install, unless it can do without the machine: then it is the wait that says so.
func (hs *hosts) elsewhere(want *spec.Host, wait *model.Wait) bool {
	i := slices.IndexFunc(hs.elsewhereBound, func(h model.HostElsewhere) bool { return hs.roster.identifies(&want.Match, &h.Host) })
	if i < 0 {
		return false
	}
	have := &hs.elsewhereBound[i]
	cluster := have.ClusterID
	if have.ClusterName != "" {
		cluster = fmt.Sprintf("%s (%s)", have.ClusterName, have.ClusterID)
	}
	bound := fmt.Sprintf("%s is bound to the cluster %s", have.Label(), cluster)
	remedy := model.Advicef("if that cluster does not need it, `{delete host %s --yes}` and boot it from the discovery image; "+
		"otherwise name another machine", have.ID)
	if isReserved(want) {
		remedy = "if that cluster does not need it, release it there; otherwise reserve another host: match.agent"
	}
	if !wait.Until.IsZero() {
		wait.For, wait.Next = fmt.Sprintf("%s to become free: %s", want.Name, bound), remedy
		return false
	}
	hs.block(model.Blocker{
		Key: "host/" + want.Name + "/elsewhere", Scope: model.ScopeHost.Of(want.Name), Reason: "BoundElsewhere", Cure: model.CurePerson,
		Since: have.Since,
		Field: hostField(want.Name) + "match", Message: want.Name + ": " + bound, Remedy: remedy, Hosts: []string{want.Name},
	})
	return true
}

// awaitReserved reports a reserved host that the service does not have, or that does not match what else the file says
// of it. The install waits for it as for one that has not registered.
func (hs *hosts) awaitReserved(want *spec.Host, wait model.Wait) {
	what := fmt.Sprintf("there is no host %s", want.Match.Agent)
	if slices.ContainsFunc(hs.observed, func(h model.Host) bool { return h.Reserved == want.Match.Agent }) {
		what = fmt.Sprintf("the host %s does not match the other fields of match", want.Match.Agent)
	}
	remedy := model.Advice("check that it exists, or correct match.agent of " + want.Name + ": {get hosts}")
	if !wait.Until.IsZero() {
		wait.For, wait.Next = want.Name+": "+what, remedy
		hs.wait(wait)
		return
	}
	hs.block(model.Blocker{
		Key: "host/" + want.Name + "/reserved", Scope: model.ScopeHost.Of(want.Name), Reason: "AgentNotFound", Cure: model.CurePerson,
		Field: hostField(want.Name) + "match.agent", Message: want.Name + ": " + what, Remedy: remedy, Hosts: []string{want.Name},
	})
}
