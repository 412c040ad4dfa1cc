package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/internal/nodeplan"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// added brings the hosts into an installed cluster that are not part of it.
type added struct {
	*collector
	spec         *spec.Cluster
	name         string
	cluster      *model.Cluster
	question     *nodeplan.Question
	roster       *roster
	members      *members
	images       *images
	checks       *checks
	infraEnvs    *infraEnvs
	boot         *boot
	hostSettings *hostSettings
	hostStates   *hostStates
	hosts        *hosts
	spokeNodes   *spokeNodes
}

// all brings the hosts of the file that are not part of an installed
// cluster into it: each for itself, so that none waits for a slower one.
func (a *added) all() {
	unnamed := a.members.unnamedNodes()
	again, told := a.spokeNodes.registeredAgain()
	alone := slices.DeleteFunc(a.members.leftAlone(), func(h *spec.Host) bool { return slices.Contains(again, h) })
	left := slices.Concat(alone, again)
	complete := !a.members.incomplete(left) && !unnamed.open()
	a.spokeNodes.recordedOtherwise(a.members.incomplete(nil))
	defer a.spokeNodes.mark()
	if !(complete && len(a.members.newNodes()) == 0) && !a.spokeNodes.meant() {
		return
	}
	if a.question.Answers() && !(complete && len(a.members.newNodes()) == 0) {
		a.take(nodeplan.Approvers(a.question.About()))
	}
	if complete {
		a.spokeNodes.join()
		a.accounts(alone, told)
		return
	}
	cannot := a.spokeNodes.cannotJoin(again)
	if len(cannot) > 0 && !unnamed.open() && !a.members.incomplete(slices.Concat(cannot, left)) {
		a.spokeNodes.join()
		a.accounts(alone, told)
		return // nothing is begun for hosts that cannot be added
	}
	if a.cluster.State == model.ClusterInstalled {
		a.act(model.Action{
			Key: "cluster/allow-add-hosts", Scope: model.ScopeCluster, Kind: model.AllowAddHosts, Target: a.cluster.ID, Name: a.name,
			Reason: "the cluster is installed and does not accept new hosts yet",
		})
		return
	}
	a.infraEnvs.forAdded(unnamed.missing > 0)
	a.boot.held = !a.idle() || !a.unhindered()
	var failed []*model.Host
	for i := range a.spec.Spec.Hosts {
		want := &a.spec.Spec.Hosts[i]
		have := a.roster.ByName[want.Name]
		if slices.Contains(left, want) || slices.Contains(cannot, want) {
			continue
		}
		switch membershipOf(have) {
		case outside:
			a.awaitBoot(want, have)
		case refused:
			failed = append(failed, have)
		case joining:
			if !a.hosts.ambiguous(want, have) {
				a.addNode(have, func() { a.hosts.configure(want, have) })
			}
		}
	}
	failed = append(failed, a.addUnnamed(unnamed)...)
	a.strangers(unnamed)
	a.newcomerChecks(again)
	a.spokeNodes.join()
	a.accounts(alone, told)
	a.notAdded(failed)
}

// awaitBoot waits for a host to boot an image that the cluster still takes hosts from. The image itself is handled
// elsewhere.
func (a *added) awaitBoot(want *spec.Host, have *model.Host) {
	switch {
	case !isReserved(want):
	case have == nil:
		a.hosts.awaitMachine(want, model.Wait{Key: "host/" + want.Name + "/register", Scope: model.ScopeHost.Of(want.Name)})
		return
	default: // it runs none of our images that it could boot again
		a.hostStates.leftOver(have)
		return
	}
	env := a.images.lateEnvOf(want.Name)
	if env == nil || env.Image.State != model.ImageReady || have == nil && a.roster.matchesAnother(want.Name) {
		return
	}
	again := ""
	if have != nil {
		again = " again: it was lost during the installation"
	}
	wait := model.Wait{
		Key: "host/" + want.Name + "/register", Scope: model.ScopeHost.Of(want.Name), Who: model.WhoUser, Since: env.Created,
		For:  fmt.Sprintf("%s to boot the discovery image %s and register%s", want.Name, env.Name, again),
		Next: model.Command("download iso --infra-env", env.Name),
	}
	if have == nil {
		a.hosts.awaitMachine(want, wait)
		return
	}
	if !a.boot.byService(want, wait) && !a.boot.byBMC(want, wait) {
		a.wait(wait)
	}
}

// newcomerChecks explains what blocks hosts that are to be added. The checks of the cluster itself were those of its
// install. Hosts that are nodes already are not among them.
func (a *added) newcomerChecks(again []*spec.Host) {
	var newcomers []*model.Host
	for _, h := range a.roster.Part {
		if h.Day2 && h.State == model.HostBlocked && a.roster.Names[h.ID] != "" && !slices.Contains(again, a.spec.Host(a.roster.Names[h.ID])) {
			newcomers = append(newcomers, h)
		}
	}
	a.checks.report(a.checks.explain(newcomers, nil))
}

// notAdded ends the run once nothing is left but hosts that could not be added.
func (a *added) notAdded(failed []*model.Host) {
	var reasons, names []string
	for _, h := range failed {
		a.hostStates.running(h)
		names = append(names, a.roster.Call(h))
		reasons = append(reasons, fmt.Sprintf("%s: %s", a.roster.Call(h), cmp.Or(h.StatusInfo, h.Status)))
	}
	if len(failed) > 0 && a.atRest() {
		a.plan.Missing = names
		a.end(model.VerdictFailed, "not added: "+strings.Join(reasons, "; "), model.Advicef(
			"{logs host %s}, then `{delete host %s --yes}`, boot it from the discovery image and run the same command again", names[0],
			failed[0].ID))
		return
	}
	a.otherwise("the service to check the hosts to add", a.cluster.StatusSince)
}

// addNode brings a host that has registered a step further. configure makes it
// what the file says, and names the disks that will be written over once there
// is nothing left to change.
func (a *added) addNode(h *model.Host, configure func()) {
	switch h.State {
	case model.HostPreparing, model.HostInstalling:
		a.hostStates.running(h)
		return
	}
	if a.images.runsOldImage(h) {
		a.hostStates.bootNewImage(h)
		return
	}
	if !a.hostStates.usable(h) {
		return
	}
	actions, blockers := len(a.plan.Actions), len(a.plan.Blockers)
	configure()
	if h.State != model.HostReady || !h.Inventory.Known || len(a.plan.Actions) > actions || len(a.plan.Blockers) > blockers {
		return
	}
	if approved(h) {
		a.wait(a.roster.waitFor(h, "to start installing", model.WhoService))
		return
	}
	scope := model.ScopeHost.Of(a.roster.id(h))
	install := model.Action{
		Key: string(scope) + "/install", Scope: scope, Kind: model.InstallHost, Target: h.ID, InfraEnv: h.InfraEnvID, Name: a.roster.Call(h),
		Reason: "the host is ready to be added", Destructive: true,
	}
	if asksApproval(h) {
		install.Settings = model.Settings{model.SettingApproved: model.ValueOf(true)}
	}
	a.act(install)
}

// accounts names the hosts that are left alone, since it is not known whether they
// are part of the control plane. It does so while the others go on,
// and the run ends once there is nothing else to do. It does the same for hosts that are nodes and
// have registered again.
func (a *added) accounts(alone []*spec.Host, again nodeplan.Answer) {
	cure := model.CureNow
	if !a.atRest() {
		cure = model.CurePerson
	}
	for i := range again.Blockers {
		again.Blockers[i].Cure = cure
	}
	a.take(again)
	for _, want := range alone {
		what := "the control plane"
		if want.Role == spec.Arbiter {
			what = "the arbiter"
		}
		a.block(model.Blocker{
			Key: "host/" + want.Name + "/record", Scope: model.ScopeHost.Of(want.Name), Reason: "ControlPlaneUnaccounted", Cure: cure,
			Field: hostField(want.Name) + "role", Hosts: []string{want.Name},
			Message: fmt.Sprintf("%s may already be part of %s, and the service may have lost its record: a new "+
				"installation would wipe it", want.Name,
				what),
			Remedy: a.unlessMember(),
		})
	}
}

// unlessMember is what to do about a host that may be part of the control plane.
func (a *added) unlessMember() model.Advice {
	if a.spec.ByFlags() {
		return "for a worker, give --role worker; or, if the machine is new or may be wiped, run the same command with --accept-control-plane"
	}
	return "for a worker, give it the role worker; or remove it from the file that you give to add-node; or, if the machine is new or " +
		"may be wiped: {add-node -f FILE --accept-control-plane}"
}

// addUnnamed brings those that are taken a step further, and says which failed.
func (a *added) addUnnamed(u unnamedNodes) (failed []*model.Host) {
	for _, h := range u.take {
		if membershipOf(h) == refused {
			failed = append(failed, h)
			continue
		}
		a.addNode(h, func() {
			if h.State == model.HostReady {
				a.hostSettings.wipes(a.roster.Call(h), h)
			}
		})
	}
	missing := u.missing
	for _, h := range a.roster.pool {
		if missing > 0 && h.State == model.HostUnbound && h.Inventory.Known && h.Status == "known-unbound" {
			a.hostStates.bind(h)
			missing--
		}
	}
	if env := a.images.lateEnvOf(""); missing > 0 && env != nil && env.Image.State == model.ImageReady {
		a.wait(model.Wait{
			Key: "hosts/register", Scope: model.ScopeCluster, Who: model.WhoUser, Since: env.Created,
			For:  fmt.Sprintf("%d more hosts to boot the discovery image %s and register", missing, env.Name),
			Next: model.Command("download iso --infra-env", env.Name),
		})
	}
	return failed
}

// strangers reports machines that registered and are not to be added. Hosts are installed one by one, so that these
// hold up none of the others.
func (a *added) strangers(u unnamedNodes) {
	for _, h := range u.leave {
		if !h.Inventory.Known && h.State != model.HostDisconnected {
			a.wait(model.Wait{
				Key: "host/" + h.ID + "/inventory", Scope: model.ScopeHost.Of(h.ID), Since: h.Registered, Who: model.WhoMachine,
				For: "the inventory of a new host, to identify it",
			})
			continue
		}
		a.warn(model.Warning{
			Key: "host/" + h.ID + "/unknown", Scope: model.ScopeHost.Of(h.ID), Reason: "UnknownHost",
			Message: h.Label() + " registered, but " + a.question.Desired.Source() + " does not name it; oaictl does nothing with it",
			Next:    a.addToo(h),
		})
	}
}

// addToo is how a host is added as well that was left alone. It may be the next that a person adds, so that its record
// is only deleted where the file names all hosts.
func (a *added) addToo(h *model.Host) model.Advice {
	if !a.spec.ByFlags() {
		return model.Advicef("to add it too, add it to spec.hosts; only if it does not belong to this cluster, power it off and "+
			"`{delete host %s --yes}`", h.ID)
	}
	mac := "MAC"
	if cards := h.Inventory.Interfaces; len(cards) > 0 {
		mac = cmp.Or(cards[0].MAC, mac)
	}
	return "to add it too: " + model.Command("add-node --cluster", listtext.Quoted(a.spec.Existing()), "--name",
		listtext.Quoted(cmp.Or(h.Hostname, "HOST")), "--mac", listtext.Quoted(mac))
}
