package decide

import (
	"cmp"
	"fmt"

	"github.com/oaictl/oaictl/internal/shared/names"
	"github.com/oaictl/oaictl/pkg/install/internal/nodes"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// addNode brings a host that has registered a step further. configure makes it
// what the file says, and names the disks that will be written over once there
// is nothing left to change.
func (p *planner) addNode(h *model.Host, configure func()) {
	switch h.State {
	case model.HostPreparing, model.HostInstalling:
		p.hostStates.running(h)
		return
	}
	if p.images.runsOldImage(h) {
		p.hostStates.bootNewImage(h)
		return
	}
	if !p.hostStates.usable(h) {
		return
	}
	actions, blockers := len(p.plan.Actions), len(p.plan.Blockers)
	configure()
	if h.State != model.HostReady || !h.Inventory.Known || len(p.plan.Actions) > actions || len(p.plan.Blockers) > blockers {
		return
	}
	if approved(h) {
		p.wait(p.roster.waitFor(h, "to start installing", model.WhoService))
		return
	}
	scope := model.HostScope(p.roster.id(h))
	install := model.Action{
		Key: string(scope) + "/install", Scope: scope, Kind: model.InstallHost, Target: h.ID, InfraEnv: h.InfraEnvID, Name: p.roster.Call(h),
		Reason: "the host is ready to be added", Destructive: true,
	}
	if asksApproval(h) {
		install.Settings = model.Settings{model.SettingApproved: model.ValueOf(true)}
	}
	p.act(install)
}

// accounts names the hosts that are left alone, since it is not known whether they
// are part of the control plane. It does so while the others go on,
// and the run ends once there is nothing else to do. It does the same for hosts that are nodes and
// have registered again.
func (p *planner) accounts(alone []*spec.Host, again nodes.Answer) {
	cure := model.CureNow
	if !p.atRest() {
		cure = model.CurePerson
	}
	for i := range again.Blockers {
		again.Blockers[i].Cure = cure
	}
	p.take(again)
	for _, want := range alone {
		what := "the control plane"
		if want.Role == spec.Arbiter {
			what = "the arbiter"
		}
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/record", Scope: model.HostScope(want.Name), Reason: "ControlPlaneUnaccounted", Cure: cure,
			Field: hostField(want.Name) + "role", Hosts: []string{want.Name},
			Message: fmt.Sprintf("%s may be part of %s that was installed, its record lost by the service: to install it again wipes it", want.Name, what),
			Remedy:  p.unlessMember(),
		})
	}
}

// unlessMember is what to do about a host that may be part of the control plane.
func (p *planner) unlessMember() model.Advice {
	if p.spec.ByFlags() {
		return "give --role worker if it is to be one; or, if it is a new machine or may be wiped, run the same command with --accept-control-plane"
	}
	return "give it the role worker if it is to be one; take it out of the file that add-node is given; or, if it is a new machine or may be wiped: {add-node -f FILE --accept-control-plane}"
}

// addUnnamed brings those that are taken a step further, and says which failed.
func (p *planner) addUnnamed(u unnamedNodes) (failed []*model.Host) {
	for _, h := range u.take {
		if membershipOf(h) == refused {
			failed = append(failed, h)
			continue
		}
		p.addNode(h, func() {
			if h.State == model.HostReady {
				p.hostSettings.wipes(p.roster.Call(h), h)
			}
		})
	}
	missing := u.missing
	for _, h := range p.roster.pool {
		if missing > 0 && h.State == model.HostUnbound && h.Inventory.Known && h.Status == "known-unbound" {
			p.hostStates.bind(h)
			missing--
		}
	}
	if env := p.images.lateEnvOf(""); missing > 0 && env != nil && env.Image.State == model.ImageReady {
		p.wait(model.Wait{
			Key: "hosts/register", Scope: model.ScopeCluster, Who: model.WhoUser, Since: env.Created,
			For:  fmt.Sprintf("%d more hosts to boot the discovery image %s and register", missing, env.Name),
			Next: model.Command("download iso --infra-env", env.Name),
		})
	}
	return failed
}

// strangers reports machines that registered and are not to be added. Hosts are installed one by one, so that these
// hold up none of the others.
func (p *planner) strangers(u unnamedNodes) {
	for _, h := range u.leave {
		if !h.Inventory.Known && h.State != model.HostDisconnected {
			p.wait(model.Wait{
				Key: "host/" + h.ID + "/inventory", Scope: model.HostScope(h.ID), Since: h.Registered, Who: model.WhoMachine,
				For: "the inventory of a new host, to see which one it is",
			})
			continue
		}
		p.warn(model.Warning{
			Key: "host/" + h.ID + "/unknown", Scope: model.HostScope(h.ID), Reason: "UnknownHost",
			Message: h.Label() + " registered, but " + p.question.Desired.Source() + " does not name it; it is left alone",
			Next:    p.addToo(h),
		})
	}
}

// addToo is how a host is added as well that was left alone. It may be the next that a person adds, so that its record
// is only deleted where the file names all hosts.
func (p *planner) addToo(h *model.Host) model.Advice {
	if !p.spec.ByFlags() {
		return model.Advicef("to add it as well, name it in spec.hosts; only if it is not meant for this cluster, power it off and `{delete host %s --yes}`", h.ID)
	}
	mac := "MAC"
	if cards := h.Inventory.Interfaces; len(cards) > 0 {
		mac = cmp.Or(cards[0].MAC, mac)
	}
	return "to add it as well: " + model.Command("add-node --cluster", names.Quoted(p.spec.Existing()), "--name", names.Quoted(cmp.Or(h.Hostname, "HOST")), "--mac", names.Quoted(mac))
}
