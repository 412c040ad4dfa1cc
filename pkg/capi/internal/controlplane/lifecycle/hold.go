package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/quorum"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// HookAnnotation is on every Machine of a control plane until its member of etcd is gone.
const HookAnnotation = controlplanev1.EtcdMemberHookAnnotation

// DrainHookAnnotation is on every such Machine, and of one that is being deleted until no installation runs, and it is known
// whether the machine has become a node: that is drained then.
const DrainHookAnnotation = controlplanev1.InstallationHookAnnotation

// HookOwner is the value of both annotations.
const HookOwner = "openshiftassistedcontrolplane"

// Reasons why a Machine that is being deleted is held.
const (
	ReasonRemovalRequired    = controlplanev1.EtcdMemberRemovalRequiredReason
	ReasonInstalling         = "InstallationRunning"
	ReasonWaitingForDrain    = "WaitingForDrain"
	ReasonWaitingForHooks    = controlplanev1.WaitingForOtherHooksReason
	ReasonWaitingForNode     = "WaitingForNodeDeletion"
	ReasonClusterUnreachable = "ClusterUnreachable"
	ReasonEtcdUnknown        = "EtcdUnknown"
	ReasonEtcdQuorum         = "EtcdQuorum"
)

// DeletionBlock is what a Machine that is being deleted waits for.
type DeletionBlock struct {
	// Release says that it waits for nothing: its hook is removed.
	Release bool
	// Reason and Message say what it waits for otherwise.
	Reason, Message string
	// Member is the id of its member of etcd, as far as that is known.
	Member string
	// DeleteNode says that the node NodeName with the uid NodeID is to be deleted now: as long as a Ready node is
	// there, the etcd operator would make it a member again.
	DeleteNode       bool
	NodeName, NodeID string
}

// CheckDeletion says what a Machine that is being deleted waits for.
func CheckDeletion(q *Question, m *Machine) DeletionBlock {
	others := slices.ContainsFunc(q.Machines, func(other Machine) bool { return other.Name != m.Name })
	switch {
	case q.Gone, q.Phase == Before, q.Phase == Stopped, !isHooked(m):
		return DeletionBlock{Release: true}
	case q.Phase == Installing:
		return DeletionBlock{Reason: ReasonInstalling, Message: q.undrained(m)}
	case !others:
		return DeletionBlock{Release: true}
	}
	var member *model.EtcdMember
	if q.unknown() == "" {
		if member = q.member(m); member != nil {
			if why := q.loses(m); why != "" {
				return DeletionBlock{Reason: ReasonEtcdQuorum, Message: why, Member: member.ID}
			}
		}
	}
	if why := q.undrained(m); why != "" || !isDrained(m) {
		return DeletionBlock{Reason: ReasonWaitingForDrain, Message: cmp.Or(why, "waiting for Cluster API to drain the node")}
	}
	if why := q.unreachable(); why != "" {
		return DeletionBlock{Reason: ReasonClusterUnreachable,
			Message: fmt.Sprintf("it is not known whether its member of etcd is removed: %s; if the cluster does not exist any more: %s",
				why, unhook(m))}
	}
	if q.Spoke.Etcd == nil && !slices.ContainsFunc(q.Spoke.Operators, func(o model.ClusterOperator) bool { return o.Name == operatorEtcd }) {
		return DeletionBlock{Release: true} // a cluster with an etcd that is not managed
	}
	if why := q.unknown(); why != "" {
		return DeletionBlock{Reason: ReasonEtcdUnknown, Message: why + ": kubectl get etcd cluster -o yaml"}
	}
	// Only now may others take the machine away: what etcd can do without is known.
	if hooks := otherHooks(m); len(hooks) > 0 {
		held := DeletionBlock{Reason: ReasonWaitingForHooks, Message: "waiting for hooks of other controllers, which need the node: " +
			listtext.ListText(hooks)}
		if member != nil {
			held.Member = member.ID
		}
		return held
	}
	if member == nil {
		return q.withoutMember(m)
	}
	held := q.withMember(m, member)
	held.Member = member.ID
	return held
}

// withoutMember is what a Machine without a known member of etcd waits for.
func (q *Question) withoutMember(m *Machine) DeletionBlock {
	orphans := q.orphans()
	if m.Status.NodeRef.Name == "" || q.node(m) != nil || len(addresses(m)) > 0 || m.Annotations[MemberAnnotation] != "" || len(orphans) == 0 {
		return DeletionBlock{Release: true}
	}
	var texts []string
	for _, o := range orphans {
		texts = append(texts, fmt.Sprintf("%s (%s)", o.ID, o.Address))
	}
	return DeletionBlock{Reason: ReasonEtcdUnknown,
		Message: fmt.Sprintf("its member of etcd is not known; these members of etcd belong to no node: %s; find out which machines "+
			"they ran on: kubectl -n openshift-etcd "+
			"get configmap etcd-endpoints -o yaml", listtext.ListText(texts))}
}

// withMember is what a Machine waits for while its member of etcd is there.
func (q *Question) withMember(m *Machine, member *model.EtcdMember) DeletionBlock {
	ahead := q.ahead(m)
	if q.goesOff(ahead, m, member) {
		return DeletionBlock{Release: true}
	}
	byOperator, node := q.operatorTakes(ahead, m, member), q.node(m)
	switch {
	case byOperator:
		own := q.Spoke.MachineOf(node.Name)
		return DeletionBlock{Reason: ReasonRemovalRequired, Message: fmt.Sprintf(
			"the etcd operator removes the member %s of %s when the Machine in the installed cluster is deleted: kubectl -n "+
				"openshift-machine-api "+
				"delete machine %s", member.ID, node.Name, listtext.Quoted(own.Name))}
	case node != nil && node.Deleting:
		return DeletionBlock{Reason: ReasonWaitingForNode, Message: fmt.Sprintf("waiting for the node %s to be "+
			"gone; it is held by %s", node.Name,
			listtext.ListText(node.Finalizers))}
	case node != nil && node.Ready:
		return DeletionBlock{
			Reason:     ReasonWaitingForNode,
			Message:    fmt.Sprintf("the node %s is deleted first: while it exists, the etcd operator would make it a member again", node.Name),
			DeleteNode: true, NodeName: node.Name, NodeID: node.UID,
		}
	}
	return DeletionBlock{Reason: ReasonRemovalRequired,
		Message: fmt.Sprintf("waiting for a person to remove the member %s of %s (%s) from etcd: %s",
			member.ID, nodeName(m), member.Address, quorum.Remove(q.Spoke, nodeName(m), member.ID))}
}

// goesOff reports whether a Machine is released while its member is there, so that its machine may be off before the
// member is removed: the hub deletes the cluster's own Machine, and the operator removes the member after that.
func (q *Question) goesOff(ahead []*Machine, m *Machine, member *model.EtcdMember) bool {
	return q.OnHub && !m.Pooled && q.operatorTakes(ahead, m, member)
}

// operatorTakes reports whether the etcd operator takes a Machine's member away by itself once the cluster's
// own Machine is deleted: where as many others stay as the cluster was installed with, or the member is dead.
// Members of Machines that leave before do not stay, nor those of machines that are gone.
func (q *Question) operatorTakes(ahead []*Machine, m *Machine, member *model.EtcdMember) bool {
	node := q.node(m)
	if node == nil || q.Spoke.MachineOf(node.Name) == nil {
		return false
	}
	others := len(q.Spoke.Etcd.Members) - 1 - len(q.orphans())
	for _, other := range ahead {
		if q.member(other) != nil {
			others--
		}
	}
	if q.isIll(m, member) {
		others++
	}
	return quorum.ByOperator(q.Spoke.Etcd, others)
}

// MayDrain reports whether the node of a Machine that is being deleted is to be drained.
func MayDrain(q *Question, m *Machine) bool { return q.undrained(m) == "" }

// undrained says why it is not yet, "" where it is. Cluster API does not come back to the node of a Machine that it has not
// known to have one.
func (q *Question) undrained(m *Machine) string {
	switch {
	case q.Gone, q.Phase == Before, q.Phase == Stopped, !isHooked(m):
		return ""
	case q.Phase == Installing:
		return installing(m)
	case m.Status.NodeRef.Name != "":
		return ""
	}
	if why := q.unreachable(); why != "" {
		return fmt.Sprintf("it is not known whether it has a node: %s; to release it without a drain: %s", why, unhook(m))
	}
	if node := q.node(m); node != nil {
		return fmt.Sprintf("waiting for Cluster API to find the node %s, and to drain it; to release it without a drain: %s",
			node.Name, unhook(m))
	}
	return ""
}

// installing says that a Machine waits for the end of the installation. The host of a pool cannot leave before.
func installing(m *Machine) string {
	const text = "the installation is running and fails without this machine; the machine is deleted after the installation"
	if m.Pooled {
		return text
	}
	return text + "; to release it now: " + unhook(m)
}

// unhook is the command by which a person releases a Machine that is held.
func unhook(m *Machine) string {
	return fmt.Sprintf("kubectl -n %s annotate machine %s %s-", m.Namespace, m.Name, HookAnnotation)
}

// isDrained reports whether Cluster API has come to the hooks of a Machine that is being deleted, and not before it had
// its node.
func isDrained(m *Machine) bool {
	if _, hooked := m.Annotations[DrainHookAnnotation]; hooked && m.Status.NodeRef.Name != "" {
		return false
	}
	if d := m.Status.Deletion; d != nil && !d.WaitForPreTerminateHookStartTime.IsZero() {
		return true
	}
	return slices.ContainsFunc(m.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == clusterv1.MachineDeletingCondition && c.Status == metav1.ConditionTrue &&
			c.Reason == clusterv1.MachineDeletingWaitingForPreTerminateHookReason
	})
}

// otherHooks are the hooks of others at the same place.
func otherHooks(m *Machine) []string {
	var hooks []string
	for key := range m.Annotations {
		if key != HookAnnotation && strings.HasPrefix(key, clusterv1.PreTerminateDeleteHookAnnotationPrefix) {
			hooks = append(hooks, key)
		}
	}
	slices.Sort(hooks)
	return hooks
}
