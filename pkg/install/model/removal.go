package model

import (
	"net/netip"
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Removal says which nodes are to be taken out of an installed cluster, and what that may cost.
type Removal struct {
	// Nodes are the names of nodes, or of their hosts in the file or in the service.
	Nodes []string
	// Begun are those of these names that a run before has begun to remove: one that nothing has any more is gone.
	Begun []string
	// UIDs are those of the nodes that a person has agreed to remove, by name; one that is not
	// among them may be any.
	UIDs  map[string]string
	Drain DrainOptions
	// ReplacedBy is the host of the file that takes the place of the one node, "" for none: its
	// member of etcd may go although too few are left, if it is not well.
	ReplacedBy string
	// Backup says that there is a backup of etcd, without which no member of it is given up
	// that is not well.
	Backup bool
	// KeepRunning leaves machines on that could be switched off.
	KeepRunning bool
	// AcceptDataLoss allows to delete nodes with which volumes are deleted.
	AcceptDataLoss bool
	// ReturnToPool gives hosts back to the InfraEnv that they came from, which is bound to no
	// cluster; otherwise the service forgets them.
	ReturnToPool bool
}

// DrainOptions are how pods are made to leave a node, as the flags of kubectl drain say.
type DrainOptions struct {
	Force              bool // also those that no controller makes again
	IgnoreDaemonSets   bool
	DeleteEmptyDirData bool
	DisableEviction    bool // they are deleted, without regard to PodDisruptionBudgets
	// GracePeriod is how long a pod has to end, in seconds; negative: what it says itself.
	GracePeriod int
	Timeout     time.Duration // 0: for ever
	PodSelector string        // those alone; empty: all
	// SkipWaitForDelete is after how many seconds a pod that is being deleted is not waited
	// for any more; 0: it always is.
	SkipWaitForDelete int
}

// NodeDrain is what is known of the pods of a node that is to be removed.
type NodeDrain struct {
	Node string
	// Pods are those that are to leave it, or are leaving.
	Pods []Pod
	// Refused is why pods are left where they are, with the flag that allows it.
	Refused []DrainRefusal
	// Machines are those of its pods that are virtual machines, by namespace and name.
	Machines []string
}

// DrainRefusal is why some pods of a node are not made to leave.
type DrainRefusal struct {
	Reason string
	Pods   []string // by namespace and name
}

// Pod is a pod that is to leave a node.
type Pod struct {
	Namespace, Name, UID string
	Owner                string // its controller, "" for none: it is not made again
	Local                bool   // has data in an emptyDir
	// Deleting is since when it is being deleted; zero: it is not.
	Deleting time.Time
	// Budget is the PodDisruptionBudget that lets it go at present no more than any other of
	// its pods, "" for none.
	Budget string
	// Refusal is why it could not be evicted when that was last tried, at Refused, and since
	// Held it could not be.
	Refusal       string
	Refused, Held time.Time
}

// ID is the pod's namespace and name.
func (p *Pod) ID() string { return p.Namespace + "/" + p.Name }

// Etcd is what the etcd operator says of the members of etcd.
type Etcd struct {
	// Trouble is why the members are not known; "" where they are.
	Trouble string
	Members []EtcdMember // by id
	// Unhealthy are the names or addresses of those that are not well, Message what the
	// operator says of all.
	Unhealthy []string
	Message   string
	// Desired is how many the cluster was installed to have, 0 where that is not known.
	Desired int
	// Rolling is what the operator says of the static pods that it is replacing, "" for none.
	Rolling string
	// Secrets are the certificates of nodes that are to be removed.
	Secrets []string
	// ByMachines says that the operator goes by Machines, and takes members away itself whose
	// Machines are deleted.
	ByMachines bool
}

// EtcdMember is a member of etcd.
type EtcdMember struct {
	ID      string // in hexadecimal, as etcdctl has it
	Address netip.Addr
}

// LocalVolume is a volume whose data are on one node.
type LocalVolume struct {
	Name  string
	Node  string
	Claim string // namespace and name of who uses it, "" for none
}

// Router is a pod of an ingress controller.
type Router struct {
	Controller string
	Node       string // "" where it has none
	Ready      bool
}

// NodeRemoval is how far the removal of one node is.
type NodeRemoval struct {
	Asked string // the name by which it was asked for
	Name  string // of the host in the file, else of the node
	Node  string
	// Found says that something of it is left, or was when the loop began.
	Found bool
	// Left is what is still to be done, in its order.
	Left []Step
	// UID is the node's, "" where it is gone.
	UID string
	// Beside is another node of the control plane, which is well.
	Beside string
	// Votes says that etcd runs on it, Arbiter that nothing else of the control plane does.
	Votes, Arbiter bool
	// Dead says that its member of etcd is not well, or gone before it.
	Dead bool
	// Comes says that it may come back by itself: it was not seen switched off.
	Comes bool
	// InFile says that the file names it.
	InFile bool
	// Returned says that the host was given back to the pool that it came from.
	Returned bool
}

// Step is something that follows on a plan, as far as it can be told before.
type Step struct {
	Scope Scope
	// Kind is what will be done, "" for what can only be waited for.
	Kind    Kind
	Message string   // for a person: "register the InfraEnv lab"
	Hosts   []string // the hosts concerned, by their names in cluster.yaml
}

// ControlPlane reports whether the node is one of the control plane.
func (n *Node) ControlPlane() bool {
	return slices.Contains(n.Roles, "master") || slices.Contains(n.Roles, string(spec.ControlPlane))
}

// Arbiter reports whether the node is an arbiter.
func (n *Node) Arbiter() bool { return slices.Contains(n.Roles, string(spec.Arbiter)) }

// Votes reports whether the node is of those that etcd runs on.
func (n *Node) Votes() bool { return n.ControlPlane() || n.Arbiter() }

// MachineOf is the Machine of a node, or nil: the one that says so, or was marked so.
func (s *Spoke) MachineOf(node string) *Machine {
	is := func(m Machine) bool { return m.Node == node && node != "" }
	if i := slices.IndexFunc(s.Machines, is); i >= 0 {
		return &s.Machines[i]
	}
	if i := slices.IndexFunc(s.Machines, func(m Machine) bool { return m.Node == "" && m.Removes == node && node != "" }); i >= 0 {
		return &s.Machines[i]
	}
	return nil
}

// MachineSet is the MachineSet of that name, or nil.
func (s *Spoke) MachineSet(name string) *MachineSet {
	if i := slices.IndexFunc(s.MachineSets, func(m MachineSet) bool { return m.Name == name }); i >= 0 {
		return &s.MachineSets[i]
	}
	return nil
}

// IsLowered reports whether the MachineSet of a Machine was lowered to give it up.
func (s *Spoke) IsLowered(m *Machine) bool {
	set := s.MachineSet(m.MachineSet)
	return set != nil && slices.Contains(set.Lowered, m.UID)
}

// DrainOf is what is known of the pods of a node, or nil.
func (s *Spoke) DrainOf(node string) *NodeDrain {
	if i := slices.IndexFunc(s.Drains, func(d NodeDrain) bool { return d.Node == node }); i >= 0 {
		return &s.Drains[i]
	}
	return nil
}

// MemberOfNode is the etcd member of a node, or nil. An address that a node of the control plane has,
// too, is that one's.
func (s *Spoke) MemberOfNode(n *Node) *EtcdMember {
	addresses := n.Addresses
	if !n.Votes() {
		addresses = slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool {
			return slices.ContainsFunc(s.Nodes, func(other Node) bool { return other.Votes() && slices.Contains(other.Addresses, a) })
		})
	}
	return s.MemberOf(addresses)
}

// MemberOf is the etcd member at one of these addresses, or nil.
func (s *Spoke) MemberOf(addresses []netip.Addr) *EtcdMember {
	if s.Etcd == nil {
		return nil
	}
	if i := slices.IndexFunc(s.Etcd.Members, func(m EtcdMember) bool { return slices.Contains(addresses, m.Address) }); i >= 0 {
		return &s.Etcd.Members[i]
	}
	return nil
}
