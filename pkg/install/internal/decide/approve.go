package decide

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// approval adds to a host's settings that it may take part, where the service asks for that. It is sent together with
// role, hostname and disk, so that no host is ever free to be installed as what it shall not be. A host that joins an
// installed cluster is installed as soon as it is approved: that is the action InstallHost.
func (p *planner) approval(h *model.Host, settings model.Settings) model.Settings {
	if asksApproval(h) && !h.Day2 && h.Reserved == "" {
		settings[model.SettingApproved] = model.ValueOf(true)
	}
	return settings
}

// approveUnnamed lets a machine take part that the file allows without naming it.
func (p *planner) approveUnnamed(h *model.Host) {
	if !h.Inventory.Known || h.Day2 || !asksApproval(h) || approved(h) {
		return
	}
	id := p.roster.id(h)
	approved := model.Settings{model.SettingApproved: model.ValueOf(true)}
	p.act(model.Action{
		Key: "host/" + id + "/update", Scope: model.HostScope(id), Kind: model.UpdateHost, Target: h.ID, InfraEnv: h.InfraEnvID, Name: p.roster.Call(h),
		Reason: "the file accepts hosts that it does not name", Settings: approved,
		Changes: []model.Change{{Field: string(model.SettingApproved), From: h.Settings[model.SettingApproved].Text(), To: "true"}},
	})
}

// asksApproval reports whether the host's service installs only hosts that were approved.
func asksApproval(h *model.Host) bool {
	_, asks := h.Settings[model.SettingApproved]
	return asks
}

func approved(h *model.Host) bool { return h.Settings[model.SettingApproved] == model.ValueOf(true) }

// unapproved reports whether a reserved host may not be used because it is not approved: a reservation is no approval,
// and oaictl approves nothing in a pool.
func (p *planner) unapproved(h *model.Host) bool {
	if h.Reserved == "" || !asksApproval(h) || approved(h) {
		return false
	}
	name := p.roster.Call(h)
	namespace, agent, _ := strings.Cut(h.Reserved, "/")
	p.block(model.Blocker{
		Key: "host/" + p.roster.id(h) + "/approval", Scope: model.HostScope(p.roster.id(h)), Reason: "AgentNotApproved", Cure: model.CurePerson, Since: h.Registered,
		Field: hostField(name) + "match.agent", Hosts: []string{name},
		Message: fmt.Sprintf("the Agent %s is reserved for %s, and nobody has approved it", h.Reserved, name),
		Remedy: model.Advicef("if the machine may be installed, whoever looks after the pool approves it: kubectl patch agent -n %s %s --type merge -p '{\"spec\":{\"approved\":true}}'",
			namespace, agent),
	})
	return true
}
