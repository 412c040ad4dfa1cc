package decide

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/names"
	"github.com/oaictl/oaictl/internal/shared/setting"
	"github.com/oaictl/oaictl/pkg/install/internal/infraenv"
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
	scope := model.ScopeHost.Of(p.hostID(h))
	install := model.Action{
		Key: string(scope) + "/install", Scope: scope, Kind: model.InstallHost, Target: h.ID, InfraEnv: h.InfraEnvID, Name: p.hostName(h),
		Reason: "the host is ready to be added", Destructive: true,
	}
	if asksApproval(h) {
		install.Settings = model.Settings{model.SettingApproved: model.ValueOf(true)}
	}
	p.act(install)
}

// leftAlone are the hosts of the file that are not added, since they may be part
// of the cluster.
func (p *planner) leftAlone() []*spec.Host {
	var alone []*spec.Host
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		if have := p.matches.ByName[want.Name]; membershipOf(have) != member && p.unaccounted(want, have) {
			alone = append(alone, want)
		}
	}
	return alone
}

// accounts names the hosts that are left alone, since it is not known whether they
// are part of the control plane. It does so while the others go on,
// and the run ends once there is nothing else to do. It does the same for hosts that are nodes and
// have registered again.
func (p *planner) accounts(alone []*spec.Host, again nodes.Answer) {
	cure := model.CureNow
	if !p.idle() || len(p.plan.Waits) > 0 || !p.unhindered() {
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
			Key: "host/" + want.Name + "/record", Scope: model.ScopeHost.Of(want.Name), Reason: "ControlPlaneUnaccounted", Cure: cure,
			Field: p.hostField(want.Name) + "role", Hosts: []string{want.Name},
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

// unnamedNodes are the machines that the file counts without naming them, as
// they stand with an installed cluster.
type unnamedNodes struct {
	take    []*model.Host // have registered, and are to be added
	leave   []*model.Host // have registered, and belong to no cluster: never installed
	missing int           // have still to come
}

func (u unnamedNodes) open() bool { return len(u.take) > 0 || u.missing > 0 }

// unnamedNodes divides the machines that the file does not name. No more are
// taken than the file counts, and none at all unless it says that they may be.
func (p *planner) unnamedNodes() unnamedNodes {
	var u unnamedNodes
	wanted := 0
	if p.spec.Spec.AcceptUnknownHosts {
		wanted = p.counts().total() - len(p.spec.Spec.Hosts)
	}
	var candidates []*model.Host
	for _, h := range slices.Concat(p.matches.unknown, p.matches.unread) {
		switch membershipOf(h) {
		case member:
			wanted--
		case joining, refused:
			candidates = append(candidates, h)
		}
	}
	// What was started goes before what could be.
	slices.SortStableFunc(candidates, func(a, b *model.Host) int { return cmp.Compare(bit(!started(a)), bit(!started(b))) })
	some := max(0, min(wanted, len(candidates)))
	u.take, u.leave, u.missing = candidates[:some], candidates[some:], max(0, wanted-len(candidates))
	return u
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
				p.wipes(p.hostName(h), h)
			}
		})
	}
	missing := u.missing
	for _, h := range p.matches.pool {
		if missing > 0 && h.State == model.HostUnbound && h.Inventory.Known && h.Status == "known-unbound" {
			p.bind(h)
			missing--
		}
	}
	if env := p.lateEnvOf(""); missing > 0 && env != nil && env.Image.State == model.ImageReady {
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
				Key: "host/" + h.ID + "/inventory", Scope: model.ScopeHost.Of(h.ID), Since: h.Registered, Who: model.WhoMachine,
				For: "the inventory of a new host, to see which one it is",
			})
			continue
		}
		p.warn(model.Warning{
			Key: "host/" + h.ID + "/unknown", Scope: model.ScopeHost.Of(h.ID), Reason: "UnknownHost",
			Message: h.Label() + " registered, but " + p.desired.Source() + " does not name it; it is left alone",
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

// lateImages makes and keeps the discovery images that hosts boot to be added:
// those that the cluster was installed with, where they can serve, else further
// ones. A pool belongs to no cluster, and goes on serving.
func (p *planner) lateImages(unnamed bool) {
	if ref := p.spec.Spec.InfraEnv.Ref; ref != "" {
		p.poolOf(ref)
		return
	}
	intended, err := p.infraEnvPlans()
	if err != nil {
		p.block(model.Blocker{
			Key: "infraenv/input", Scope: model.ScopeCluster, Reason: "BadInfraEnv", Cure: model.CureNow, Message: err.Error(), Remedy: "{validate -f FILE}",
		})
		return
	}
	for _, image := range intended {
		wanted := slices.ContainsFunc(p.spec.Spec.Hosts, func(h spec.Host) bool { return slices.Contains(image.Hosts, h.Name) && p.toAdd(&h) })
		if !wanted && (!unnamed || image.Alone != "") {
			continue
		}
		env := p.lateEnv(image, intended)
		if env == nil {
			p.lateImage(image, intended)
			continue
		}
		version := env.Settings[model.SettingVersion]
		if env.Settings[model.SettingOSVersion] == "" && !p.madeLate(env) && (version == "" || setting.SameVersion(image.Settings[model.SettingOSVersion], version)) {
			delete(image.Settings, model.SettingOSVersion) // it has the same by its version
		}
		if others := infraenv.Others(p.spec, env); len(others) > 0 {
			var own []model.StaticNetwork
			_ = image.Settings[model.SettingStaticNetworks].Decode(&own) // none if nothing is set
			image.Settings[model.SettingStaticNetworks] = model.ValueOf(append(own, others...))
		}
		actions, blockers := len(p.plan.Actions), len(p.plan.Blockers)
		p.updateImage(image, env)
		if len(p.plan.Actions) == actions && len(p.plan.Blockers) == blockers && !p.missingFrom(image) {
			p.usableImage(env)
		}
	}
}

// lateImage registers an InfraEnv under the name that is kept for it.
func (p *planner) lateImage(image model.InfraEnvPlan, intended []model.InfraEnvPlan) {
	name, reason := image.Name, "there is no discovery image for hosts that are added"
	switch env := p.infraEnv(name); {
	case env == nil:
	case image.Alone != "":
		p.block(model.Blocker{
			Key: "infraenv/" + name + "/unfit", Scope: model.ScopeInfraEnv.Of(name), Reason: "InfraEnvUnfit", Cure: model.CureFile, Hosts: image.Hosts,
			Field:   p.hostField(image.Alone) + "match.infraEnv",
			Message: fmt.Sprintf("%s cannot be added by the InfraEnv %s: %s", image.Alone, name, p.unfit(image, env)),
			Remedy:  model.Advice("give match.infraEnv of " + image.Alone + " another name, by which an InfraEnv is made anew"),
		})
		return
	default:
		name, _ = p.lateName(image, intended)
		reason = fmt.Sprintf("hosts that are added cannot boot the discovery image %s: %s", image.Name, p.unfit(image, p.infraEnv(image.Name)))
	}
	p.act(model.Action{
		Key: "infraenv/" + name + "/register", Scope: model.ScopeInfraEnv.Of(name), Kind: model.RegisterInfraEnv, Name: name, Target: p.bindTo(),
		Reason: reason, Settings: image.Settings, Changes: p.imageChanges(image),
	})
}
