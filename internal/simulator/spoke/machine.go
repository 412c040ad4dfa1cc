package spoke

import (
	"errors"
	"net/netip"
	"strings"
)

// Machine is a computer whose disk was installed for the cluster.
type Machine struct {
	// Hostname is its node's name.
	Hostname string
	// Role is RoleControlPlane, RoleWorker or RoleArbiter; empty is a worker.
	Role string
	// Pool is the MachineConfigPool that it was installed for; empty is that of its role.
	Pool string
	// Addresses are those of its network, the primary first.
	Addresses []netip.Addr
	// Labels are those that its kubelet registers its node with, beside the usual ones.
	Labels map[string]string
	// Cluster is its cluster's among those that share an API server: its node and its kubelet's requests
	// have the label LabelCluster with it. Empty is no label.
	Cluster string
	// Became is called when its node is there, and whenever that becomes Ready or is so no more. It
	// may be nil.
	Became func(ready bool)
	// UUID is its motherboard's, by which it is known again.
	UUID string
	// Installation tells one installation of its disk from the next: the certificates of a
	// kubelet are kept there. Machines that boot the same disk again have the same one.
	Installation string
}

// LabelCluster says which cluster of an API server that many share something is of.
const LabelCluster = "oaictl.io/simulated-cluster-id"

// clusterLabels are those that tell what a machine makes from what those of other clusters do.
func (m *Machine) clusterLabels() map[string]string {
	if m.Cluster == "" {
		return nil
	}
	return map[string]string{LabelCluster: m.Cluster}
}

func (m *Machine) check() error {
	switch {
	case m.Hostname == "":
		return errors.New("it has no hostname")
	case m.UUID == "":
		return errors.New("it has no UUID")
	case len(m.Addresses) == 0:
		return errors.New("it has no address")
	}
	switch m.Role {
	case "", RoleWorker, RoleControlPlane, RoleArbiter:
		return nil
	}
	return errors.New("its role is none of control-plane, worker, arbiter")
}

func (m *Machine) nodeName() string { return strings.ToLower(m.Hostname) }

func (m *Machine) roleLabels() []string {
	switch m.Role {
	case RoleControlPlane:
		return []string{RoleControlPlane, master}
	case RoleArbiter:
		return []string{RoleArbiter}
	}
	return []string{worker}
}

// poolOf is the pool that a machine was installed with the config of.
func poolOf(m Machine) string {
	switch {
	case m.Pool != "":
		return m.Pool
	case m.Role == RoleControlPlane:
		return master
	case m.Role == RoleArbiter:
		return RoleArbiter
	}
	return worker
}
