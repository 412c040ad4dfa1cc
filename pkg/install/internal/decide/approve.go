package decide

import (
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
)

// approval adds to a host's settings that it may take part, where the service
// asks for that. It goes together with role, hostname and disk, so that no host
// is ever free to be installed as what it shall not be. A host that joins an
// installed cluster is installed as soon as it is approved: that is the action
// InstallHost.
func (p *planner) approval(h *model.Host, s model.Settings) model.Settings {
	if asksApproval(h) && !h.Day2 {
		s[setting.Approved] = setting.ValueOf(true)
	}
	return s
}

// approveUnnamed lets a machine take part that the file allows without naming it.
func (p *planner) approveUnnamed(h *model.Host) {
	if !h.Inventory.Known || h.Day2 || !asksApproval(h) || approved(h) {
		return
	}
	id := p.hostID(h)
	approved := model.Settings{setting.Approved: setting.ValueOf(true)}
	p.act(model.Action{
		Key: "host/" + id + "/update", Scope: model.HostScope(id), Kind: model.UpdateHost, Target: h.ID, InfraEnv: h.InfraEnvID, Name: p.hostName(h),
		Reason: "the file accepts hosts that it does not name", Settings: approved,
		Changes: []model.Change{{Field: string(setting.Approved), From: h.Settings[setting.Approved].Text(), To: "true"}},
	})
}

// asksApproval says whether the host's service installs only hosts that were
// approved.
func asksApproval(h *model.Host) bool {
	_, asks := h.Settings[setting.Approved]
	return asks
}

func approved(h *model.Host) bool { return h.Settings[setting.Approved] == setting.ValueOf(true) }
