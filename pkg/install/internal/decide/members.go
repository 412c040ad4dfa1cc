package decide

import (
	"cmp"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/internal/nodeplan"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// members says which hosts are part of the installed cluster, and which are to become so.
type members struct {
	options    *model.Options
	spec       *spec.Cluster
	cluster    *model.Cluster
	roster     *roster
	attendance *attendance
}

// toAdd reports whether a host of the file is to be brought into the installed cluster and has still to boot the image
// for that.
func (m *members) toAdd(want *spec.Host) bool {
	have := m.roster.ByName[want.Name]
	return membershipOf(have) == outside && !m.unaccounted(want, have)
}

// leftAlone are the hosts of the file that are not added, since they may be part
// of the cluster.
func (m *members) leftAlone() []*spec.Host {
	var alone []*spec.Host
	for i := range m.spec.Spec.Hosts {
		want := &m.spec.Spec.Hosts[i]
		if have := m.roster.ByName[want.Name]; membershipOf(have) != member && m.unaccounted(want, have) {
			alone = append(alone, want)
		}
	}
	return alone
}

// incomplete reports whether a host of the file is not part of the cluster, beside those that are left alone.
func (m *members) incomplete(alone []*spec.Host) bool {
	for i := range m.spec.Spec.Hosts {
		want := &m.spec.Spec.Hosts[i]
		if membershipOf(m.roster.ByName[want.Name]) != member && !slices.Contains(alone, want) {
			return true
		}
	}
	return false
}

// unaccounted reports whether a host of the file that is to be added may be part of the control plane already: the
// service has fewer records of it than machines were installed, so that one is lost, and to install that machine again
// would wipe a member of the cluster. A host that the install lost has a record. How many were installed a file that
// only adds does not say: the service has to, and where it has no records at all, something else has installed the
// cluster.
func (m *members) unaccounted(want *spec.Host, have *model.Host) bool {
	if want.Role == spec.Worker || m.spec.Imported() || m.options.AcceptControlPlane {
		return false
	}
	if have != nil && (tookPart(have) || started(have)) {
		return false
	}
	role, total, installed := spec.ControlPlane, model.SettingControlPlane, m.attendance.counts().controlPlane
	if want.Role == spec.Arbiter {
		role, total, installed = spec.Arbiter, model.SettingArbiters, m.attendance.counts().arbiters
	}
	none := !slices.ContainsFunc(m.roster.Part, tookPart)
	var counted int
	switch err := m.cluster.Settings[total].Decode(&counted); {
	case m.spec.OnlyAdds() && (none || err != nil || counted == 0):
		return false
	case err == nil && counted > 0:
		installed = counted
	}
	return m.recordsOf(role) < installed
}

// recordsOf counts the hosts of a role that took part in the install, as far as
// the service still knows them.
func (m *members) recordsOf(role spec.Role) int {
	records := 0
	for _, h := range m.roster.Part {
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

func started(h *model.Host) bool {
	return h.State == model.HostPreparing || h.State == model.HostInstalling || h.State == model.HostNeedsUser || h.State == model.HostFailed
}

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

// isAnother reports whether a host of a file that only adds is a machine that is part of the
// cluster under another name.
func (m *members) isAnother(want *spec.Host, have *model.Host) bool {
	return m.spec.OnlyAdds() && membershipOf(have) == member && nodeplan.OtherName(want, have)
}

// newNodes are the hosts that have been added, or are about to be, and run from their disks:
// those of the file, and those that it counts. One that the install left behind is among them.
func (m *members) newNodes() []nodeplan.Host {
	var hosts []nodeplan.Host
	fresh := func(have *model.Host) bool {
		switch {
		case have == nil:
			return false
		case have.Day2:
			return have.HasRebooted() || membershipOf(have) == member
		}
		return have.HasRebooted() && have.State == model.HostInstalling
	}
	for i := range m.spec.Spec.Hosts {
		want := &m.spec.Spec.Hosts[i]
		if have := m.roster.ByName[want.Name]; fresh(have) && !m.isAnother(want, have) {
			hosts = append(hosts, nodeplan.Host{Name: want.Name, Want: want, Have: have})
		}
	}
	if !m.spec.Spec.AcceptUnknownHosts {
		return hosts
	}
	for _, have := range m.roster.unknown {
		if fresh(have) {
			hosts = append(hosts, nodeplan.Host{Name: m.roster.Call(have), Have: have})
		}
	}
	return hosts
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
func (m *members) unnamedNodes() unnamedNodes {
	var u unnamedNodes
	wanted := 0
	if m.spec.Spec.AcceptUnknownHosts {
		wanted = m.attendance.counts().total() - len(m.spec.Spec.Hosts)
	}
	var candidates []*model.Host
	for _, h := range slices.Concat(m.roster.unknown, m.roster.unread) {
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
