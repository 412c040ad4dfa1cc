package spec

import (
	"fmt"
)

// First versions of OpenShift 4 with more shapes than one and three control
// plane machines.
const (
	minorLargeControlPlane = 18
	minorArbiter           = 19
	minorFencing           = 20
	minorArbiterNone       = 22 // arbiter with platform none
)

func (k *checker) topology() {
	k.controlPlaneCount()
	k.twoNodes()
	k.workerCounts()
	k.hostCounts()
	if len(k.cluster.Spec.Hosts) == 0 && !k.cluster.Spec.AcceptUnknownHosts {
		k.Report("spec.hosts", "is missing, so any machine that boots the image would be installed and wiped", "list the hosts, or write acceptUnknownHosts: true")
	}
}

func (k *checker) controlPlaneCount() {
	c, t := k.cluster, k.cluster.Spec.Topology
	const field = "spec.topology.controlPlane"
	n := c.ControlPlaneCount()
	switch {
	case n < 1 || n > 5:
		k.Report(field, fmt.Sprintf("%d control plane machines make no cluster", n), "use 1, 2 with an arbiter or fencing, 3, 4 or 5")
	case n > 3 && c.olderThan(minorLargeControlPlane):
		k.tooOld(field, fmt.Sprintf("%d control plane machines", n), minorLargeControlPlane)
	case n == 1 && (c.ArbiterCount() > 0 || t.Fencing):
		k.Report(field, "a single node has no arbiter or fencing", "use 2 control plane machines")
	case n == 1 && c.WorkerCount() > 0 && c.RequiredWorkers() > 0:
		k.Report(field, "a single node has no workers when it is installed", "write topology.required: {workers: 0} and add them with `oaictl add-node` once it is installed, or use 3 control plane machines")
	case n == 1 && c.WorkerCount() > 0:
		k.laterWorkers()
	case n != 2 && c.ArbiterCount() > 0:
		k.Report("spec.topology.arbiters", fmt.Sprintf("an arbiter goes with 2 control plane machines, but there are %d", n), "")
	case n != 2 && t.Fencing:
		k.Report("spec.topology.fencing", fmt.Sprintf("fencing goes with 2 control plane machines, but there are %d", n), "")
	}
}

// laterWorkers sees to it that it can be told which host is the single node and
// which are added to it.
func (k *checker) laterWorkers() {
	first := k.cluster.AtInstall()
	if len(first.Spec.Hosts) < 2 {
		return
	}
	for i := range first.Spec.Hosts {
		if h := &first.Spec.Hosts[i]; h.Role == Auto {
			k.Report(first.HostField(h, "role"), "is open, so that it cannot be told which host is the single node and which are added to it later", "write role: worker for those that are added")
		}
	}
}

func (k *checker) tooOld(field, what string, minor int) {
	k.Report(field, fmt.Sprintf("%s need OpenShift 4.%d, but the version is %s", what, minor, k.cluster.Spec.OpenShift.Version), "")
}

func (k *checker) twoNodes() {
	c, t := k.cluster, k.cluster.Spec.Topology
	if c.ControlPlaneCount() != 2 {
		return
	}
	switch arbiters := c.ArbiterCount(); {
	case arbiters > 0 && t.Fencing:
		k.Report("spec.topology", "two control plane machines have an arbiter or fencing, not both", "")
	case arbiters == 0 && !t.Fencing:
		k.Report("spec.topology.controlPlane", "two control plane machines need a third vote", "write arbiters: 1, or fencing: true with fencing credentials for both hosts")
	case arbiters > 0 && c.olderThan(minorArbiter):
		k.tooOld("spec.topology.arbiters", "arbiters", minorArbiter)
	case arbiters > 0 && c.olderThan(minorArbiterNone) && c.Spec.Platform.Type == NoneType:
		k.tooOld("spec.platform.type", "arbiters with platform none", minorArbiterNone)
	case arbiters > 0 && c.Spec.Platform.Type != BareMetal && c.Spec.Platform.Type != NoneType:
		k.Report("spec.platform.type", fmt.Sprintf("an arbiter goes with platform baremetal, not %s", c.Spec.Platform.Type), "")
	case t.Fencing && c.olderThan(minorFencing):
		k.tooOld("spec.topology.fencing", "two nodes with fencing", minorFencing)
	case t.Fencing && c.Spec.Platform.Type != BareMetal && c.Spec.Platform.Type != NoneType:
		k.Report("spec.platform.type", fmt.Sprintf("fencing goes with platform baremetal or none, not %s", c.Spec.Platform.Type), "")
	}
}

func (k *checker) workerCounts() {
	t := k.cluster.Spec.Topology
	if k.cluster.WorkerCount() < 0 {
		k.Report("spec.topology.workers", "is negative", "")
	}
	if k.cluster.ArbiterCount() < 0 {
		k.Report("spec.topology.arbiters", "is negative", "")
	}
	if required := t.Required.Workers; required != nil && (*required < 0 || *required > k.cluster.WorkerCount()) {
		k.Report("spec.topology.required.workers", fmt.Sprintf("%d of %d workers cannot be required", *required, k.cluster.WorkerCount()), "")
	}
	if t.Required.Within != 0 && t.Required.Workers == nil {
		k.Report("spec.topology.required.within", "says how long to wait for optional workers, but all are required", "write required.workers too")
	}
}

// hostCounts compares the hosts with the numbers asked for: no role may have
// more hosts than machines, and every machine needs a host, unless hosts that
// are not named are welcome.
func (k *checker) hostCounts() {
	c := k.cluster
	roles := c.rolesOfHosts()
	known := roles[ControlPlane] + roles[Worker] + roles[Arbiter] + roles[Auto]
	if len(c.Spec.Hosts) == 0 || known != len(c.Spec.Hosts) || k.IsFailed("spec.topology") {
		return
	}
	missing := 0
	for _, shape := range []struct {
		role  Role
		field string
		want  int
	}{
		{ControlPlane, "spec.topology.controlPlane", c.ControlPlaneCount()},
		{Arbiter, "spec.topology.arbiters", c.ArbiterCount()},
		{Worker, "spec.topology.workers", c.WorkerCount()},
	} {
		if roles[shape.role] > shape.want {
			k.Report(shape.field, fmt.Sprintf("there are to be %d, but %s the role %s", shape.want, hostsHave(roles[shape.role]), shape.role), "make the number and the roles of the hosts agree")
			return
		}
		missing += shape.want - roles[shape.role]
	}
	switch free := roles[Auto]; {
	case free > missing:
		k.Report("spec.hosts", fmt.Sprintf("there are %d hosts, but the topology has %d machines", len(c.Spec.Hosts), len(c.Spec.Hosts)-free+missing), "make the topology and the list of hosts agree")
	case free < missing && !c.Spec.AcceptUnknownHosts:
		k.Report("spec.hosts", fmt.Sprintf("there are %d hosts, but the topology has %d machines", len(c.Spec.Hosts), len(c.Spec.Hosts)-free+missing), "add the missing hosts, or write acceptUnknownHosts: true")
	}
}

func hostsHave(n int) string {
	if n == 1 {
		return "1 host has"
	}
	return fmt.Sprintf("%d hosts have", n)
}
