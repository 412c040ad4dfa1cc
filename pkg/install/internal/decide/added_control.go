package decide

import (
	"fmt"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// unaccounted says whether a host of the file that is to be added may be part of
// the control plane already: the service has fewer records of it than machines
// were installed, so that one is lost, and to install that machine again would
// wipe a member of the cluster. A host that the install lost has a record, and of a
// cluster that something else installed the file names only what is to be added.
func (p *planner) unaccounted(want *spec.Host, have *model.Host) bool {
	if want.Role == spec.Worker || p.spec.Imported() || p.desired.Options.AcceptControlPlane {
		return false
	}
	if have != nil && (tookPart(have) || started(have)) {
		return false
	}
	role, total, installed := model.RoleControlPlane, setting.ControlPlane, p.counts().controlPlane
	if want.Role == spec.Arbiter {
		role, total, installed = model.RoleArbiter, setting.Arbiters, p.counts().arbiters
	}
	var counted int
	if err := p.cluster.Settings[total].Decode(&counted); err == nil && counted > 0 {
		installed = counted
	}
	return p.recordsOf(role) < installed
}

// recordsOf counts the hosts of a role that took part in the install, as far as
// the service still knows them.
func (p *planner) recordsOf(role model.Role) int {
	records := 0
	for _, h := range p.matches.Part {
		is := h.Role
		if is == model.RoleAuto || is == "" {
			is = h.Suggested
		}
		records += bit(tookPart(h) && (is == role || role == model.RoleControlPlane && h.Bootstrap))
	}
	return records
}

// tookPart says whether a host of an installed cluster is of its install.
func tookPart(h *model.Host) bool { return !h.Day2 && !h.Unbound() && h.State != model.HostBinding }

// toAdd says whether a host of the file is to be brought into the installed cluster
// and has still to boot the image for that.
func (p *planner) toAdd(want *spec.Host) bool {
	have := p.matches.ByName[want.Name]
	return membershipOf(have) == outside && !p.unaccounted(want, have)
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
// are part of the control plane. The others go on, and nobody is to find out only
// after them: the run ends once there is nothing else to do.
func (p *planner) accounts(alone []*spec.Host) {
	cure := model.CureNow
	if !p.idle() || len(p.plan.Waits) > 0 || !p.unhindered() {
		cure = model.CurePerson
	}
	for _, want := range alone {
		what := "the control plane"
		if want.Role == spec.Arbiter {
			what = "the arbiter"
		}
		p.block(model.Blocker{
			Key: "host/" + want.Name + "/record", Scope: model.HostScope(want.Name), Reason: "ControlPlaneUnaccounted", Cure: cure,
			Field: p.hostField(want.Name) + "role", Hosts: []string{want.Name},
			Message: fmt.Sprintf("%s may be part of %s that was installed, its record lost by the service: to install it again wipes it", want.Name, what),
			Remedy:  "take it out of the file that add-node is given, or, if it is a new machine or may be wiped: oaictl add-node -f FILE --accept-control-plane",
		})
	}
}
