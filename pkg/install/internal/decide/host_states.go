package decide

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// bindingWithin is how long a machine may take to be bound: its agent ends and
// registers anew, which takes a minute.
const bindingWithin = 10 * time.Minute

// usable reports whether a host can be configured before the install. Where it can't, it says what the host waits for,
// or who has to do what.
func (p *planner) usable(h *model.Host) bool {
	switch h.State {
	case model.HostDiscovering, model.HostBlocked, model.HostReady:
		return !p.unapproved(h)
	case model.HostUnbound:
		p.bind(h)
	case model.HostBinding:
		p.binding(h)
	case model.HostDisconnected:
		p.disconnected(h)
	case model.HostResetting, model.HostReleasing:
		p.bootAgain(h)
	case model.HostNeedsUser:
		p.bootOrder(h)
	case model.HostFailed, model.HostCancelled, model.HostInstalled, model.HostAdded:
		p.leftOver(h)
	case model.HostUnknown:
		p.waitHost(h, fmt.Sprintf("to leave the state %q, which this oaictl does not know", h.Status), model.WhoService)
	default: // seen a moment before or after the cluster, which was in another phase
		p.waitHost(h, "to be ready", model.WhoService)
	}
	return false
}

// bind binds a machine of a pool to the cluster. The service does that only
// once it knows the machine.
func (p *planner) bind(h *model.Host) {
	name := p.hostName(h)
	switch {
	case strings.HasPrefix(h.Status, "disconnected"):
		p.disconnected(h)
	case p.unapproved(h):
	case h.Inventory.Known && h.Status == "known-unbound":
		bind := model.Action{
			Key: "host/" + p.hostID(h) + "/bind", Scope: model.ScopeHost.Of(p.hostID(h)), Kind: model.BindHost, Target: h.ID, InfraEnv: h.InfraEnvID, Name: name,
			Reason: "the host is not bound to the cluster yet", Changes: []model.Change{{Field: "spec.infraEnv", To: p.name()}},
		}
		if want := p.spec.Host(p.matches.Names[h.ID]); isReserved(want) {
			p.bindReserved(want, h, bind)
			return
		}
		p.act(bind)
	case strings.HasPrefix(h.Status, "insufficient"):
		p.waitHost(h, "to pass the checks of machines that are not bound: "+cmp.Or(h.StatusInfo, h.Status), model.WhoUser)
	default:
		p.waitHost(h, "to be discovered", model.WhoService)
	}
}

// bindReserved binds a host of a pool. What the file says of it goes along, since an installed
// cluster installs what is approved as soon as it is bound.
func (p *planner) bindReserved(want *spec.Host, have *model.Host, bind model.Action) {
	update, ok := p.hostUpdate(want, have)
	if !ok {
		return
	}
	bind.Settings, bind.Changes = update.Settings, append(bind.Changes, update.Changes...)
	if p.cluster != nil && p.cluster.State.Installed() && approved(have) {
		bind.Destructive = true
		p.wipes(want.Name, have)
	}
	p.act(bind)
}

func (p *planner) binding(h *model.Host) {
	name := p.hostName(h)
	if h.Since.IsZero() || p.now.Before(h.Since.Add(bindingWithin)) {
		p.waitHost(h, "to be bound to the cluster", model.WhoService)
		return
	}
	p.block(model.Blocker{
		Key: "host/" + p.hostID(h) + "/binding", Scope: model.ScopeHost.Of(p.hostID(h)), Reason: "BindingTakesLong", Cure: model.CurePerson, Since: h.Since, Hosts: []string{name},
		Message: fmt.Sprintf("%s should have registered anew for this cluster since %s", h.Label(), h.Since.UTC().Format(time.RFC3339)),
		Remedy:  model.Advicef("boot %s from the discovery image again", name),
	})
}

func (p *planner) disconnected(h *model.Host) {
	name := p.hostName(h)
	p.block(model.Blocker{
		Key: "host/" + p.hostID(h) + "/disconnected", Scope: model.ScopeHost.Of(p.hostID(h)), Reason: "HostDisconnected", Cure: model.CurePerson, Since: h.Since, Hosts: []string{name},
		Message: fmt.Sprintf("%s does not answer: its agent was last heard at %s", h.Label(), h.CheckedIn.UTC().Format(time.RFC3339)),
		Remedy:  "check its power, cable and network; it goes on by itself when the agent answers",
	})
}

func (p *planner) bootAgain(h *model.Host) {
	name := p.hostName(h)
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		wait := model.Wait{Key: "host/" + name + "/boot-again", Scope: model.ScopeHost.Of(name), Since: h.Since}
		if want.Name == p.matches.Names[h.ID] && p.toBoot(want) && p.bootByBMC(want, wait) {
			return
		}
	}
	p.block(model.Blocker{
		Key: "host/" + p.hostID(h) + "/reset", Scope: model.ScopeHost.Of(p.hostID(h)), Reason: "BootDiscoveryImage", Cure: model.CurePerson, Since: h.Since, Hosts: []string{name},
		Message: h.Label() + " was reset or released and has to boot the discovery image again",
		Remedy:  model.Advicef("boot %s from the discovery image: ", name) + p.isoCommand(name),
	})
}

func (p *planner) bootOrder(h *model.Host) {
	name := p.hostName(h)
	p.block(model.Blocker{
		Key: "host/" + p.hostID(h) + "/boot-order", Scope: model.ScopeHost.Of(p.hostID(h)), Reason: "BootedDiscoveryImage", Cure: model.CurePerson, Since: h.Since, Hosts: []string{name},
		Message: fmt.Sprintf("%s should boot from its disk: %s", name, cmp.Or(h.StatusInfo, "it booted the discovery image again")),
		Remedy:  model.Advicef("make %s boot from its installation disk, without the discovery image; the installation then goes on by itself", name),
	})
}

// leftOver is a host that is where an earlier install left it: it has to
// register anew to take part in this one.
func (p *planner) leftOver(h *model.Host) {
	name := p.hostName(h)
	p.block(model.Blocker{
		Key: "host/" + p.hostID(h) + "/left-over", Scope: model.ScopeHost.Of(p.hostID(h)), Reason: "LeftFromEarlierInstall", Cure: model.CurePerson, Since: h.Since, Hosts: []string{name},
		Message: fmt.Sprintf("%s is %s from an earlier install: %s", h.Label(), strings.ToLower(string(h.State)), cmp.Or(h.StatusInfo, h.Status)),
		Remedy:  model.Advicef("`{delete host %s --yes}`, and boot %s from the discovery image again", h.ID, name),
	})
}
