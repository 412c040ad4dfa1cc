package clusterloop

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// View is the last look at an installation. It is not to be changed.
type View struct {
	install.Look
	// NoPlan is why it is not known at present what the Cluster shall become; nil where it is known. The plan is empty
	// then, and what is desired says no more than what was observed.
	NoPlan error

	leftOut map[string]leftOut
}

// leftOut is a host that was taken out of its cluster, and is not back yet.
type leftOut struct {
	id, why string
	at      time.Time
	pooled  bool // it went back to its pool
	unbound bool // and was seen there
}

// isBack reports whether the host has registered since, or, where it is one of a pool, was bound again. host is nil where
// it is not seen.
func (l *leftOut) isBack(host *model.Host) bool {
	switch {
	case host == nil:
		return false
	case l.pooled:
		return l.unbound && host.ClusterID != ""
	}
	return host.Registered.After(l.at)
}

// Host is the observed host of a Machine, by its name among those that are desired; nil where it has
// not registered.
func (v *View) Host(name string) *model.Host {
	for _, named := range (&install.Look{Desired: v.Desired, Observed: v.Observed}).Hosts() {
		if named.Name == name {
			return named.Host
		}
	}
	return nil
}

// LeftOut is why the host of a Machine was taken out of the cluster by this process, and has not registered since, or, where
// it is one of a pool, was not bound again; "" where that is not so.
func (v *View) LeftOut(name string) string { return v.leftOut[name].why }

// Fingerprints are those of the look. That of the cluster includes why there is no plan.
func (v *View) Fingerprints() map[model.Scope]uint64 {
	all := v.Look.Fingerprints()
	if v.NoPlan != nil {
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(v.NoPlan.Error())) // it never fails
		all[model.ScopeCluster] += sum.Sum64()
	}
	return all
}

// InfraEnv is the observed InfraEnv of a name; nil where there is none.
func (v *View) InfraEnv(name string) *model.InfraEnv {
	for i := range v.Observed.InfraEnvs {
		if v.Observed.InfraEnvs[i].Name == name {
			return &v.Observed.InfraEnvs[i]
		}
	}
	return nil
}

// Installed reports whether the cluster is installed.
func (v *View) Installed() bool {
	return v.Observed.Cluster != nil && v.Observed.Cluster.State.Installed()
}

// Deleted reports whether the service has had the cluster's record, and has it no more.
func (v *View) Deleted() bool { return isDeleted(&v.Look) }

func isDeleted(look *install.Look) bool {
	return look.Observed.Cluster == nil && slices.ContainsFunc(look.Plan.Blockers,
		func(b model.Blocker) bool { return b.Reason == model.ReasonClusterDeleted })
}

// BeforeInstall reports whether the installation has not begun.
func (v *View) BeforeInstall() bool {
	return v.Observed.Cluster == nil || v.Observed.Cluster.State.BeforeInstall() || v.Observed.Cluster.State == model.ClusterDraft
}

// settles is how long a host is checked before what fails counts: machines that have just registered have not found each
// other yet.
const settles = time.Minute

// SettlesIn is how long it takes from a moment on until what fails of a host counts; 0 where it does, and for none.
func SettlesIn(host *model.Host, at time.Time) time.Duration {
	if host == nil {
		return 0
	}
	switch host.State {
	case model.HostBinding, model.HostDiscovering, model.HostBlocked:
		if host.Since.IsZero() { // it is registering this moment
			return settles
		}
		return max(0, settles-at.Sub(host.Since))
	}
	return 0
}
