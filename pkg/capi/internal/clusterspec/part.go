package clusterspec

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// participants is which Machines take part in the installation as it is now.
type participants struct {
	machines     []Machine
	leftOut      []Machine // that take no part although their hosts have registered: not ready in time, or being deleted
	controlPlane int       // of them
	workers      int
	arbiters     int
	hold         bool // more are on their way: it is not to start
	before       bool // the installation has not begun
	installed    bool
}

// workerWait is how long workers that are not required are waited for, by default, once the hosts of the
// control plane are ready.
const workerWait = 10 * time.Minute

// takePart says which Machines take part. Before the installation these are all, until the hosts of the control plane
// have been ready for as long as workers are waited for: then only the workers that are ready; those that have
// registered and are not ready are left out. While it runs they are those with hosts that are being installed.
// Afterwards all are again: those that are missing are added. The same objects and the same observation give the same
// answer, in any process.
func takePart(c *Cluster, observed *model.Observed) participants {
	var p participants
	known := hostsOf(c, observed)
	cluster := (*model.Cluster)(nil)
	if observed != nil {
		cluster = observed.Cluster
	}
	p.installed = isInstalled(c, observed)
	p.before = !p.installed && (cluster == nil || cluster.State.BeforeInstall())
	late := p.before && cluster != nil && isLate(c, known, observed.At)
	waiting := 0
	for _, m := range c.Machines {
		host := known[m.Name]
		isWorker := !machines.IsControlPlane(m.Machine) && !machines.IsArbiter(m.Machine)
		switch {
		case m.Config == nil && host == nil:
			continue
		case !m.DeletionTimestamp.IsZero() && host == nil:
			continue
		case !m.DeletionTimestamp.IsZero() && p.before: // it would be written to disk, and switched off in the middle of that
			p.leftOut = append(p.leftOut, m)
			continue
		case !m.DeletionTimestamp.IsZero() && p.installed && isUnwritten(host):
			continue // nor is it added now
		case machines.WayOf(m.Machine, m.Infrastructure) == machines.Pool && reservedHost(m) == "":
			continue // no host of the pool is reserved for it yet
		case machines.WayOf(m.Machine, m.Infrastructure) == machines.Unknown && host == nil:
			continue // what it boots cannot be made yet
		case isLeft(m, host):
			continue
		case host == nil && wasInstalled(m, observed, p.before):
			continue // nothing is made for it that could install it again
		case p.installed:
		case p.before && late && isWorker && (host == nil || host.State != model.HostReady):
			if host != nil {
				p.leftOut = append(p.leftOut, m)
			}
			continue
		case !p.before && (host == nil || host.Day2):
			continue
		}
		if host == nil || host.State != model.HostReady {
			waiting++
		}
		p.machines = append(p.machines, m)
		switch {
		case machines.IsControlPlane(m.Machine):
			p.controlPlane++
		case isWorker:
			p.workers++
		default:
			p.arbiters++
		}
	}
	p.hold = c.ControlPlane.Spec.Config.HoldInstallation || p.before && !late && p.workers+p.arbiters < c.Workers ||
		p.before && !c.DeletionTimestamp.IsZero() // which takes the workers away first, one by one
	return p
}

// isUnwritten reports whether the installation of a host has not begun: nothing is on its disk yet.
func isUnwritten(host *model.Host) bool {
	switch host.State {
	case model.HostInstalling, model.HostNeedsUser, model.HostInstalled, model.HostAdded, model.HostFailed, model.HostCancelled,
		model.HostPreparing:
		return false
	}
	return true
}

// wasInstalled reports whether a Machine was installed although the service has no record of its host: it is a node, or
// it was moved here, or a user deleted its records in the service. A provider id alone does not say so: clouds and
// Metal3 give it to a machine that is yet to register from its InfraEnv, and nothing of a cluster is installed that has
// not begun.
func wasInstalled(m Machine, observed *model.Observed, before bool) bool {
	if m.Spec.ProviderID == "" || observed == nil {
		return false
	}
	return m.Status.NodeRef.IsDefined() || !before && !hasInfraEnv(m, observed)
}

func hasInfraEnv(m Machine, observed *model.Observed) bool {
	return m.Config != nil && slices.ContainsFunc(observed.InfraEnvs, func(e model.InfraEnv) bool { return e.Name == m.Config.Name })
}

// isLeft reports whether the host of a Machine of a pool was taken from its cluster, or booted anew, after it was
// handed over: it waits in the pool, and is not installed once more for the same Machine.
func isLeft(m Machine, host *model.Host) bool {
	return machines.WayOf(m.Machine, m.Infrastructure) == machines.Pool && m.Spec.ProviderID != "" && m.DeletionTimestamp.IsZero() &&
		host != nil && host.ClusterID == ""
}

// isLate reports whether the wait for workers is over: the hosts of the control plane have been ready for long enough,
// and enough workers are ready, but not all. One that has just registered is still checked.
func isLate(c *Cluster, known map[string]*model.Host, now time.Time) bool {
	config := &c.ControlPlane.Spec.Config
	var since time.Time
	controlPlane, ready, workers := 0, 0, 0
	for _, m := range c.Machines {
		host := known[m.Name]
		isReady := host != nil && host.State == model.HostReady
		switch {
		case !m.DeletionTimestamp.IsZero():
		case machines.IsControlPlane(m.Machine) || machines.IsArbiter(m.Machine):
			if !isReady {
				return false
			}
			controlPlane++
			if host.Since.After(since) {
				since = host.Since
			}
		case isReady:
			ready++
			workers++
		case clusterloop.SettlesIn(host, now) > 0:
			return false
		default:
			workers++
		}
	}
	required := 0
	if config.RequiredWorkers != nil {
		required = int(*config.RequiredWorkers)
	}
	complete := ready == workers && workers >= c.Workers
	return controlPlane >= replicasOf(c.ControlPlane) && !complete && ready >= required &&
		!now.Before(since.Add(duration(config.WorkerWait, workerWait)))
}

func duration(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.Duration
}

// hostsOf are the observed hosts of a Cluster's Machines, by their names: each is the only one of its
// InfraEnv, or the Agent that its AgentMachine has reserved.
func hostsOf(c *Cluster, observed *model.Observed) map[string]*model.Host {
	known := map[string]*model.Host{}
	if observed == nil {
		return known
	}
	byID, byEnv, envs := map[string]*model.Host{}, map[string]*model.Host{}, map[string]string{}
	for i := range observed.InfraEnvs {
		envs[observed.InfraEnvs[i].ID] = observed.InfraEnvs[i].Name
	}
	for i := range observed.Hosts {
		h := &observed.Hosts[i]
		byID[h.ID] = h
		if name := envs[h.InfraEnvID]; name != "" {
			byEnv[name] = h
		}
	}
	for _, m := range c.Machines {
		switch id := reservedHost(m); {
		case id != "":
			if h := byID[id[strings.LastIndex(id, "/")+1:]]; h != nil {
				known[m.Name] = h
			}
		case m.Config != nil && byEnv[m.Config.Name] != nil:
			known[m.Name] = byEnv[m.Config.Name]
		}
	}
	return known
}
