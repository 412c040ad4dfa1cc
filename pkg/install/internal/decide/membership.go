package decide

import (
	"slices"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// membership is where a host of the file stands with a cluster that is installed.
type membership int

const (
	outside membership = iota // has to boot the discovery image: never came, or was lost in the install
	joining                   // has registered to be added, and is on its way
	refused                   // failed while it was being added
	member                    // part of the cluster, as far as the service can see
)

// IsMember reports whether a host is part of the cluster, as far as the service can see.
func IsMember(h *model.Host) bool { return membershipOf(h) == member }

// membershipOf is where a host stands, nil for one that the service has not seen.
func membershipOf(h *model.Host) membership {
	switch {
	case h == nil:
		return outside
	case h.Unbound(), h.State == model.HostBinding:
		return joining
	case h.Day2 && (h.State == model.HostAdded || h.State == model.HostInstalled):
		return member
	case h.Day2 && h.State == model.HostFailed:
		return refused
	case h.Day2:
		return joining
	case h.State == model.HostFailed || h.State == model.HostCancelled:
		return outside
	}
	return member
}

// toAdd reports whether a host of the file is to be brought into the installed cluster and has still to boot the image
// for that.
func (p *planner) toAdd(want *spec.Host) bool {
	have := p.roster.ByName[want.Name]
	return membershipOf(have) == outside && !p.unaccounted(want, have)
}

func started(h *model.Host) bool {
	return h.State == model.HostPreparing || h.State == model.HostInstalling || h.State == model.HostNeedsUser || h.State == model.HostFailed
}

// unaccounted reports whether a host of the file that is to be added may be part of the control plane already: the
// service has fewer records of it than machines were installed, so that one is lost, and to install that machine again
// would wipe a member of the cluster. A host that the install lost has a record. How many were installed a file that
// only adds does not say: the service has to, and where it has no records at all, something else has installed the
// cluster.
func (p *planner) unaccounted(want *spec.Host, have *model.Host) bool {
	if want.Role == spec.Worker || p.spec.Imported() || p.options.AcceptControlPlane {
		return false
	}
	if have != nil && (tookPart(have) || started(have)) {
		return false
	}
	role, total, installed := spec.ControlPlane, model.SettingControlPlane, p.counts().controlPlane
	if want.Role == spec.Arbiter {
		role, total, installed = spec.Arbiter, model.SettingArbiters, p.counts().arbiters
	}
	none := !slices.ContainsFunc(p.roster.Part, tookPart)
	var counted int
	switch err := p.cluster.Settings[total].Decode(&counted); {
	case p.spec.OnlyAdds() && (none || err != nil || counted == 0):
		return false
	case err == nil && counted > 0:
		installed = counted
	}
	return p.recordsOf(role) < installed
}

// recordsOf counts the hosts of a role that took part in the install, as far as
// the service still knows them.
func (p *planner) recordsOf(role spec.Role) int {
	records := 0
	for _, h := range p.roster.Part {
		is := h.Role
		if is == spec.Auto || is == "" {
			is = h.Suggested
		}
		records += bit(tookPart(h) && (is == role || role == spec.ControlPlane && h.Bootstrap))
	}
	return records
}

// tookPart reports whether a host of an installed cluster was installed together with the cluster, and not added later.
func tookPart(h *model.Host) bool { return !h.Day2 && !h.Unbound() && h.State != model.HostBinding }
