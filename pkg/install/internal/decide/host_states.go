package decide

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hostStates says what a host in each state waits for, and who has to do what.
type hostStates struct {
	*collector
	spec         *spec.Cluster
	name         string
	now          time.Time
	cluster      *model.Cluster
	roster       *roster
	images       *images
	boot         *boot
	hostSettings *hostSettings
}

// bindingWithin is how long a machine may take to be bound: its agent ends and
// registers anew, which takes a minute.
const bindingWithin = 10 * time.Minute

// usable reports whether a host can be configured before the install. Where it can't, it says what the host waits for,
// or who has to do what.
func (s *hostStates) usable(h *model.Host) bool {
	switch h.State {
	case model.HostDiscovering, model.HostBlocked, model.HostReady:
		return !s.unapproved(h)
	case model.HostUnbound:
		s.bind(h)
	case model.HostBinding:
		s.binding(h)
	case model.HostDisconnected:
		s.disconnected(h)
	case model.HostResetting, model.HostReleasing:
		s.bootAgain(h)
	case model.HostNeedsUser:
		s.bootOrder(h)
	case model.HostFailed, model.HostCancelled, model.HostInstalled, model.HostAdded:
		s.leftOver(h)
	case model.HostUnknown:
		s.wait(s.roster.waitFor(h, fmt.Sprintf("to leave the state %q, which this version of oaictl does not know",
			h.Status), model.WhoService))
	default: // seen a moment before or after the cluster, which was in another phase
		s.wait(s.roster.waitFor(h, "to be ready", model.WhoService))
	}
	return false
}

// bind binds a machine of a pool to the cluster. The service does that only
// once it knows the machine.
func (s *hostStates) bind(h *model.Host) {
	name := s.roster.Call(h)
	switch {
	case strings.HasPrefix(h.Status, "disconnected"):
		s.disconnected(h)
	case s.unapproved(h):
	case h.Inventory.Known && h.Status == "known-unbound":
		bind := model.Action{
			Key: "host/" + s.roster.id(h) + "/bind", Scope: model.ScopeHost.Of(s.roster.id(h)), Kind: model.BindHost, Target: h.ID,
			InfraEnv: h.InfraEnvID, Name: name,
			Reason: "the host is not bound to the cluster yet", Changes: []model.Change{{Field: "spec.infraEnv", To: s.name}},
		}
		if want := s.spec.Host(s.roster.Names[h.ID]); isReserved(want) {
			s.bindReserved(want, h, bind)
			return
		}
		s.act(bind)
	case strings.HasPrefix(h.Status, "insufficient"):
		s.wait(s.roster.waitFor(h, "to pass the checks for machines that are not "+
			"bound to a cluster: "+cmp.Or(h.StatusInfo, h.Status), model.WhoUser))
	default:
		s.wait(s.roster.waitFor(h, "to be discovered", model.WhoService))
	}
}

// bindReserved binds a host of a pool. What the file says of it goes along, since an installed
// cluster installs what is approved as soon as it is bound.
func (s *hostStates) bindReserved(want *spec.Host, have *model.Host, bind model.Action) {
	update, ok := s.hostSettings.update(want, have)
	if !ok {
		return
	}
	bind.Settings, bind.Changes = update.Settings, append(bind.Changes, update.Changes...)
	if s.cluster != nil && s.cluster.State.Installed() && approved(have) {
		bind.Destructive = true
		s.hostSettings.wipes(want.Name, have)
	}
	s.act(bind)
}

func (s *hostStates) binding(h *model.Host) {
	name := s.roster.Call(h)
	if h.Since.IsZero() || s.now.Before(h.Since.Add(bindingWithin)) {
		s.wait(s.roster.waitFor(h, "to be bound to the cluster", model.WhoService))
		return
	}
	s.block(model.Blocker{
		Key: "host/" + s.roster.id(h) + "/binding", Scope: model.ScopeHost.Of(s.roster.id(h)), Reason: "BindingTakesLong",
		Cure:  model.CurePerson,
		Since: h.Since, Hosts: []string{name},
		Message: fmt.Sprintf("%s was bound to this cluster at %s, but has not registered again", h.Label(), h.Since.UTC().Format(time.RFC3339)),
		Remedy:  model.Advicef("boot %s from the discovery image again", name),
	})
}

func (s *hostStates) disconnected(h *model.Host) {
	name := s.roster.Call(h)
	s.block(model.Blocker{
		Key: "host/" + s.roster.id(h) + "/disconnected", Scope: model.ScopeHost.Of(s.roster.id(h)), Reason: "HostDisconnected",
		Cure: model.CurePerson, Since: h.Since, Hosts: []string{name},
		Message: fmt.Sprintf("%s does not answer: the last message of its agent was at %s", h.Label(), h.CheckedIn.UTC().Format(time.RFC3339)),
		Remedy:  "check its power, cable and network; the installation continues when the agent answers",
	})
}

func (s *hostStates) bootAgain(h *model.Host) {
	name := s.roster.Call(h)
	for i := range s.spec.Spec.Hosts {
		want := &s.spec.Spec.Hosts[i]
		wait := model.Wait{Key: "host/" + name + "/boot-again", Scope: model.ScopeHost.Of(name), Since: h.Since}
		if want.Name == s.roster.Names[h.ID] && s.boot.toBoot(want) && s.boot.byBMC(want, wait) {
			return
		}
	}
	s.block(model.Blocker{
		Key: "host/" + s.roster.id(h) + "/reset", Scope: model.ScopeHost.Of(s.roster.id(h)), Reason: "BootDiscoveryImage",
		Cure:  model.CurePerson,
		Since: h.Since, Hosts: []string{name},
		Message: h.Label() + " was reset or released and must boot the discovery image again",
		Remedy:  model.Advicef("boot %s from the discovery image: ", name) + s.images.isoCommand(name),
	})
}

func (s *hostStates) bootOrder(h *model.Host) {
	name := s.roster.Call(h)
	s.block(model.Blocker{
		Key: "host/" + s.roster.id(h) + "/boot-order", Scope: model.ScopeHost.Of(s.roster.id(h)), Reason: "BootedDiscoveryImage",
		Cure: model.CurePerson, Since: h.Since, Hosts: []string{name},
		Message: fmt.Sprintf("%s should boot from its disk: %s", name, cmp.Or(h.StatusInfo, "it booted the discovery image again")),
		Remedy: model.Advicef("boot %s from its installation disk, without the discovery image; then the installation continues",
			name),
	})
}

// leftOver is a host that is where an earlier install left it: it has to
// register anew to take part in this one.
func (s *hostStates) leftOver(h *model.Host) {
	name := s.roster.Call(h)
	s.block(model.Blocker{
		Key: "host/" + s.roster.id(h) + "/left-over", Scope: model.ScopeHost.Of(s.roster.id(h)), Reason: "LeftFromEarlierInstall",
		Cure: model.CurePerson, Since: h.Since, Hosts: []string{name},
		Message: fmt.Sprintf("%s is %s from an earlier install: %s", h.Label(), strings.ToLower(string(h.State)), cmp.Or(h.StatusInfo, h.Status)),
		Remedy:  model.Advicef("`{delete host %s --yes}`, and boot %s from the discovery image again", h.ID, name),
	})
}

// unapproved reports whether a reserved host may not be used because it is not approved: a reservation is no approval,
// and oaictl approves nothing in a pool.
func (s *hostStates) unapproved(h *model.Host) bool {
	if h.Reserved == "" || !asksApproval(h) || approved(h) {
		return false
	}
	name := s.roster.Call(h)
	namespace, agent, _ := strings.Cut(h.Reserved, "/")
	s.block(model.Blocker{
		Key: "host/" + s.roster.id(h) + "/approval", Scope: model.ScopeHost.Of(s.roster.id(h)), Reason: "AgentNotApproved",
		Cure: model.CurePerson, Since: h.Registered,
		Field: hostField(name) + "match.agent", Hosts: []string{name},
		Message: fmt.Sprintf("the Agent %s is reserved for %s, but is not approved", h.Reserved, name),
		Remedy: model.Advicef("if the machine may be installed, the owner of the pool must approve it: kubectl patch agent -n %s %s --type "+
			"merge -p '{\"spec\":{\"approved\":true}}'",
			namespace, agent),
	})
	return true
}

// bootNewImage waits for a machine that runs an old image. Until it comes back
// nothing is written to it: it may come back as another one.
func (s *hostStates) bootNewImage(h *model.Host) {
	id, name := s.roster.id(h), s.roster.Call(h)
	s.wait(model.Wait{
		Key: "host/" + id + "/new-image", Scope: model.ScopeHost.Of(id), Who: model.WhoUser, Since: s.images.bootedBy(h).Image.Created,
		For:  name + " to be rebooted into the new discovery image; it still runs the old one",
		Next: model.Advicef("reboot %s into the new image: ", name) + s.images.isoCommand(name),
	})
}

// isReserved reports whether a host of the file is one of a pool that was reserved for it, and runs the pool's image
// already.
func isReserved(want *spec.Host) bool { return want != nil && want.Match.Agent != "" }

// running says what a host of a running install waits for.
func (s *hostStates) running(h *model.Host) {
	name := s.roster.Call(h)
	switch h.State {
	case model.HostNeedsUser:
		s.bootOrder(h)
	case model.HostDisconnected:
		s.disconnected(h)
	case model.HostFailed:
		s.warn(model.Warning{
			Key: "host/" + s.roster.id(h) + "/failed", Scope: model.ScopeHost.Of(s.roster.id(h)), Reason: reasonHostFailed,
			Message: fmt.Sprintf("%s failed: %s", name, cmp.Or(h.StatusInfo, h.Status)), Next: model.Command("logs host", name),
		})
	case model.HostInstalled, model.HostAdded, model.HostCancelled:
	default:
		s.stage(h)
	}
}

func (s *hostStates) stage(h *model.Host) {
	name, stage := s.roster.Call(h), h.Progress.Stage
	if stage == "" {
		s.wait(s.roster.waitFor(h, "to start installing", model.WhoMachine))
		return
	}
	scope := model.ScopeHost.Of(s.roster.id(h))
	s.wait(model.Wait{Key: string(scope) + "/stage", Scope: scope, For: fmt.Sprintf("%s: %s", name, stage), Since: h.Progress.Since,
		Who: model.WhoMachine})
	if since, stuck := s.stuck(h); stuck {
		s.block(model.Blocker{
			Key: string(scope) + "/stuck", Scope: scope, Reason: "StageTimedOut", Cure: model.CurePerson, Since: since, Hosts: []string{name},
			Message: fmt.Sprintf("%s has been in the stage %q since %s, which is longer than expected", name, stage,
				h.Progress.Since.UTC().Format(time.TimeOnly)),
			Remedy: s.stageRemedy(stage, name),
		})
	}
}

// stuck reports whether a host has been in its stage for too long: the service's own word for it, or else the stage's
// budget.
func (s *hostStates) stuck(h *model.Host) (since time.Time, stuck bool) {
	began := h.Progress.Updated
	if began.IsZero() {
		began = h.Progress.Since
	}
	stage, known := explain.Stage(h.Progress.Stage)
	budget := stage.Budget
	if s.spec.SingleNode() && stage.SingleNodeBudget > 0 {
		budget = stage.SingleNodeBudget
	}
	end := began.Add(budget)
	if h.Progress.TimedOut {
		return end, true
	}
	if !known || budget == 0 || began.IsZero() {
		return time.Time{}, false
	}
	return end, s.now.After(end)
}

func (s *hostStates) stageRemedy(stage, name string) model.Advice {
	if entry, ok := explain.Stage(stage); ok && entry.Remedy != "" {
		return explain.Fill(entry.Remedy, explain.Names{Cluster: s.name, Hosts: []string{name}, Stage: stage})
	}
	return model.Advicef("look at the console of %s", name)
}

// reasonHostFailed is the reason of the reports about a host that failed.
const reasonHostFailed = "HostFailed"
