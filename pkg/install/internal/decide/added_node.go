package decide

import (
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
)

// addNode brings a host that has registered a step further. configure makes it
// what the file says, and names the disks that will be written over once there
// is nothing left to change.
func (p *planner) addNode(h *model.Host, configure func()) {
	switch h.State {
	case model.HostPreparing, model.HostInstalling:
		p.runningHost(h)
		return
	}
	if p.runsOldImage(h) {
		p.bootNewImage(h)
		return
	}
	if !p.usable(h) {
		return
	}
	actions, blockers := len(p.plan.Actions), len(p.plan.Blockers)
	configure()
	if h.State != model.HostReady || !h.Inventory.Known || len(p.plan.Actions) > actions || len(p.plan.Blockers) > blockers {
		return
	}
	if approved(h) {
		p.waitHost(h, "to start installing", model.WhoService)
		return
	}
	scope := model.HostScope(p.hostID(h))
	install := model.Action{
		Key: string(scope) + "/install", Scope: scope, Kind: model.InstallHost, Target: h.ID, InfraEnv: h.InfraEnvID, Name: p.hostName(h),
		Reason: "the host is ready to be added", Destructive: true,
	}
	if asksApproval(h) {
		install.Settings = model.Settings{setting.Approved: setting.ValueOf(true)}
	}
	p.act(install)
}
