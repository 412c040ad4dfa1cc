package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/setting"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// approval adds to a host's settings that it may take part, where the service asks for that. It is sent together with
// role, hostname and disk, so that no host is ever free to be installed as what it shall not be. A host that joins an
// installed cluster is installed as soon as it is approved: that is the action InstallHost.
func (p *planner) approval(h *model.Host, s model.Settings) model.Settings {
	if asksApproval(h) && !h.Day2 && h.Reserved == "" {
		s[model.SettingApproved] = model.ValueOf(true)
	}
	return s
}

// approveUnnamed lets a machine take part that the file allows without naming it.
func (p *planner) approveUnnamed(h *model.Host) {
	if !h.Inventory.Known || h.Day2 || !asksApproval(h) || approved(h) {
		return
	}
	id := p.hostID(h)
	approved := model.Settings{model.SettingApproved: model.ValueOf(true)}
	p.act(model.Action{
		Key: "host/" + id + "/update", Scope: model.ScopeHost.Of(id), Kind: model.UpdateHost, Target: h.ID, InfraEnv: h.InfraEnvID, Name: p.hostName(h),
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

// bootByService gives a machine that has still to register to a service that
// boots machines itself, and says whether it is such a machine. wait is what
// would be waited for otherwise; one that the install can do without never
// blocks it.
func (p *planner) bootByService(want *spec.Host, wait model.Wait) bool {
	if p.observed.Enrolled == nil || !p.spec.HubBoots(want) {
		return false
	}
	wait.Who, wait.Next = model.WhoMachine, ""
	env, there := p.envOf(want.Name)
	i := slices.IndexFunc(p.observed.Enrolled, func(e model.Enrolled) bool { return isOf(&e, want) })
	switch {
	case i >= 0:
		p.enrolled(want, &p.observed.Enrolled[i], wait)
	case !there || p.held:
		p.wait(wait)
	default:
		p.act(model.Action{
			Key: "host/" + want.Name + "/register", Scope: model.ScopeHost.Of(want.Name), Kind: model.RegisterHost, Name: want.Name, InfraEnv: env.ID,
			Reason: "the service boots the machine, and does not have it yet", Changes: []model.Change{{Field: p.hostField(want.Name) + "bmc.address", To: want.BMC.Address}},
		})
	}
	return true
}

// isOf reports whether a machine is that of a host of the file: the one that oaictl created under the host's name, or
// one that another client created and that boots from the same MAC address.
func isOf(e *model.Enrolled, want *spec.Host) bool {
	if e.Owned && e.Name == want.Name {
		return true
	}
	mac := setting.MAC(want.Match.MAC)
	return mac != "" && setting.MAC(e.MAC) == mac
}

// enrolled waits for the service to boot a machine.
func (p *planner) enrolled(want *spec.Host, e *model.Enrolled, wait model.Wait) {
	if e.State != "" {
		wait.For += fmt.Sprintf("; the service, which boots it, says that it is %s", e.State)
	}
	remedy := enrolledRemedy(e.Name)
	switch {
	case e.Trouble == "":
		p.wait(wait)
	case !wait.Until.IsZero():
		wait.For, wait.Who, wait.Next = want.Name+", which the service cannot boot: "+e.Trouble, model.WhoUser, remedy
		p.wait(wait)
	default:
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/bmc", Scope: model.ScopeHost.Of(want.Name), Reason: ReasonBMC, Cure: model.CurePerson, Hosts: []string{want.Name},
			Field: p.hostField(want.Name) + "bmc", Message: fmt.Sprintf("the service cannot boot %s: %s", want.Name, e.Trouble), Remedy: remedy,
		})
	}
}

// enrolledTrouble blocks for the machines of the cluster that the service cannot boot and the
// file does not name, and says whether there are any.
func (p *planner) enrolledTrouble() bool {
	found := false
	for i := range p.observed.Enrolled {
		e := &p.observed.Enrolled[i]
		named := slices.ContainsFunc(p.spec.Spec.Hosts, func(want spec.Host) bool { return isOf(e, &want) })
		ours := e.Owned || slices.ContainsFunc(p.observed.InfraEnvs, func(env model.InfraEnv) bool { return env.Name == e.InfraEnv })
		if e.Trouble == "" || named || !ours || p.hasRegistered(e.MAC) {
			continue
		}
		found = true
		p.block(model.Blocker{
			Key: "host/" + e.Name + "/bmc", Scope: model.ScopeCluster, Reason: ReasonBMC, Cure: model.CurePerson, Hosts: []string{e.Name},
			Message: fmt.Sprintf("the service cannot boot %s: %s", e.Name, e.Trouble), Remedy: enrolledRemedy(e.Name),
		})
	}
	return found
}

// hasRegistered reports whether a machine with a MAC address has registered.
func (p *planner) hasRegistered(mac string) bool {
	has := func(nic model.Interface) bool { return mac != "" && setting.MAC(nic.MAC) == setting.MAC(mac) }
	return slices.ContainsFunc(p.observed.Hosts, func(h model.Host) bool { return slices.ContainsFunc(h.Inventory.Interfaces, has) })
}

func enrolledRemedy(name string) model.Advice {
	return model.Advicef("kubectl describe baremetalhost,preprovisioningimage %s; correct what the message names", name)
}

// unapproved reports whether a reserved host may not be used because it is not approved: a reservation is no approval,
// and oaictl approves nothing in a pool.
func (p *planner) unapproved(h *model.Host) bool {
	if h.Reserved == "" || !asksApproval(h) || approved(h) {
		return false
	}
	name := p.hostName(h)
	namespace, agent, _ := strings.Cut(h.Reserved, "/")
	p.block(model.Blocker{
		Key: "host/" + p.hostID(h) + "/approval", Scope: model.ScopeHost.Of(p.hostID(h)), Reason: "AgentNotApproved", Cure: model.CurePerson, Since: h.Registered,
		Field: p.hostField(name) + "match.agent", Hosts: []string{name},
		Message: fmt.Sprintf("the Agent %s is reserved for %s, and nobody has approved it", h.Reserved, name),
		Remedy: model.Advicef("if the machine may be installed, whoever looks after the pool approves it: kubectl patch agent -n %s %s --type merge -p '{\"spec\":{\"approved\":true}}'",
			namespace, agent),
	})
	return true
}
