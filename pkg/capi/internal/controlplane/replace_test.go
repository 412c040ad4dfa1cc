//go:build e2e

package controlplane_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// asked waits until a person is asked to take the member of a node out of etcd, by a condition of the control
// plane and one of the Machine, and by the exact command.
func (x *site) asked(kind string, status metav1.ConditionStatus, nodeName string) {
	x.t.Helper()
	address := addressOf(numberOf(nodeName)).String()
	command := "etcdctl member remove "
	x.eventually("a person to be asked for the member of "+nodeName, func() (bool, string) {
		c := conditions.Get(x.plane(), kind)
		if c == nil || c.Status != status || c.Reason != controlplanev1.EtcdMemberRemovalRequiredReason {
			m := x.machineOf(nodeName)
			if m == nil {
				return false, text(c)
			}
			return false, text([]any{c, conditions.Get(m, controlplane.MachineEtcdMemberRemoved), conditions.Get(m, clusterv1.MachineDeletingCondition)})
		}
		m := x.machineOf(nodeName)
		if m == nil {
			return false, "its Machine is gone"
		}
		own := conditions.Get(m, controlplane.MachineEtcdMemberRemoved)
		id := m.Annotations[lifecycle.MemberAnnotation]
		is := own != nil && own.Reason == controlplanev1.EtcdMemberRemovalRequiredReason && id != "" && strings.Contains(c.Message, "oc -n openshift-etcd rsh etcd-") &&
			strings.Contains(c.Message, command+id) && strings.Contains(own.Message, command+id) && strings.Contains(c.Message, address)
		return is, text([]any{c, own})
	})
}

// person takes the member of a node out of etcd.
func (x *site) person(nodeName string) {
	x.t.Helper()
	if gone, err := x.spoke.RemoveMember(x.t.Context(), nodeName); err != nil || !gone {
		x.t.Fatalf("taking the member of %s out: %t, %v", nodeName, gone, err)
	}
}

// gone waits until the Machine of a node is, and holds that neither its member nor its node comes back.
func (x *site) gone(nodeName string) {
	x.t.Helper()
	x.eventually("the Machine of "+nodeName+" to be gone", func() (bool, string) {
		m := x.machineOf(nodeName)
		if m == nil {
			return true, ""
		}
		return false, text([]any{conditions.Get(m, controlplane.MachineEtcdMemberRemoved), conditions.Get(m, clusterv1.MachineDeletingCondition)})
	})
	if slices.Contains(x.members(), addressOf(numberOf(nodeName)).String()) {
		x.t.Errorf("%s is still a member of etcd: %v", nodeName, x.members())
	}
	node := &corev1.Node{}
	x.eventually("the node "+nodeName+" to be gone", func() (bool, string) {
		err := x.client.Get(x.t.Context(), client.ObjectKey{Name: nodeName}, node)
		return client.IgnoreNotFound(err) == nil && err != nil, ""
	})
}

// settled waits until the control plane has so many Machines, all of them up to date members of etcd, and does
// nothing more.
func (x *site) settled(count int) {
	x.t.Helper()
	x.joined(count)
	x.eventually("etcd to have its members", func() (bool, string) { return len(x.members()) == count, strings.Join(x.members(), " ") })
	x.eventually("the control plane to be settled", func() (bool, string) {
		c := x.plane()
		for kind, status := range map[string]metav1.ConditionStatus{
			clusterv1.AvailableCondition: metav1.ConditionTrue, controlplanev1.EtcdClusterAvailableCondition: metav1.ConditionTrue,
			clusterv1.RemediatingCondition: metav1.ConditionFalse, clusterv1.ScalingUpCondition: metav1.ConditionFalse, clusterv1.ScalingDownCondition: metav1.ConditionFalse,
			clusterv1.RollingOutCondition: metav1.ConditionFalse, controlplanev1.MachinesCreatedCondition: metav1.ConditionTrue,
		} {
			if is := conditions.Get(c, kind); is == nil || is.Status != status || is.Reason == controlplanev1.EtcdMemberRemovalRequiredReason {
				return false, kind + " " + text(is)
			}
		}
		return *c.Status.Replicas == int32(count), text(c.Status)
	})
}

// mark annotates the Machine of a node.
func (x *site) mark(nodeName, annotation string) {
	x.t.Helper()
	m := x.machineOf(nodeName)
	before := m.DeepCopy()
	m.Annotations[annotation] = ""
	if err := x.client.Patch(x.t.Context(), m, mergeFrom(before)); err != nil {
		x.t.Fatal(err)
	}
}

// TestControlPlaneScalesByOneAndKeepsItsQuorum: one Machine more is made, and the one that a person has
// marked goes once the new one is a member of etcd, after its own member has gone. The
// controller never takes a member out itself.
func TestControlPlaneScalesByOneAndKeepsItsQuorum(t *testing.T) {
	x := open(t, 3, model.ClusterAddingHosts)
	x.run(3)
	x.settled(3)
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) { c.Spec.Replicas = ptr.To[int32](4) })
	x.settled(4)
	marked := x.nodeName(1)
	x.mark(marked, clusterv1.DeleteMachineAnnotation)
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) { c.Spec.Replicas = ptr.To[int32](3) })
	x.asked(clusterv1.ScalingDownCondition, metav1.ConditionTrue, marked)
	x.never("the Machine goes while its member is there, or another one goes", func() (bool, string) {
		leaving := 0
		for _, m := range x.machines() {
			if !m.DeletionTimestamp.IsZero() {
				leaving++
			}
		}
		return x.machineOf(marked) == nil || leaving != 1 || len(x.members()) != 4, text(x.members())
	})
	x.person(marked)
	x.gone(marked)
	x.settled(3)
}

// TestDeadControlPlaneMachineIsReplaced: a Machine that the health check of Cluster API finds unhealthy is
// deleted, a person is asked to take its member out of etcd, and another one is made then. The
// Machine that a person deletes while all is well is replaced the same way.
func TestDeadControlPlaneMachineIsReplaced(t *testing.T) {
	x := open(t, 3, model.ClusterAddingHosts)
	x.run(3)
	x.settled(3)
	x.create(raw(t, `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: lab}
spec:
  clusterName: lab
  selector: {matchLabels: {cluster.x-k8s.io/control-plane: ""}}
  checks: {nodeStartupTimeoutSeconds: 600, unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 1}]}
`))
	dead := x.nodeName(0)
	old := x.machineOf(dead)
	x.switchOff(dead)
	x.eventually("its node to be silent", func() (bool, string) {
		return conditions.IsUnknown(x.machineOf(dead), clusterv1.MachineNodeReadyCondition), ""
	})
	// The node's dates are of a clock that runs faster than the health check's, which waits for none by this.
	x.mark(dead, clusterv1.RemediateMachineAnnotation)
	x.asked(clusterv1.RemediatingCondition, metav1.ConditionFalse, dead)
	// The quorum stands, and so the control plane is available.
	x.says(clusterv1.AvailableCondition, metav1.ConditionTrue, clusterv1.AvailableReason)
	if c := x.says(controlplanev1.EtcdClusterAvailableCondition, metav1.ConditionTrue, controlplanev1.EtcdClusterAvailableCondition); !strings.Contains(c.Message, dead+" is unhealthy") {
		t.Errorf("of etcd it says %q", c.Message)
	}
	if c := conditions.Get(x.machineOf(dead), clusterv1.MachineOwnerRemediatedCondition); c == nil || c.Status != metav1.ConditionFalse || c.Reason != lifecycle.ReasonDeleting {
		t.Errorf("its owner says %s", text(c))
	}
	x.never("another Machine is made while the dead member is there", func() (bool, string) { return len(x.machines()) != 3, text(x.machines()) })
	x.person(dead)
	x.gone(dead)
	x.settled(3)
	last := x.plane().Status.LastRemediation
	if last.Machine != old.Name || last.Time.IsZero() || *last.RetryCount != 0 {
		t.Errorf("the last remediation is %s", text(last))
	}
	made := x.machineOf(x.nodeName(3))
	if r := lifecycle.RemediationFor(made); r == nil || r.Machine != old.Name {
		t.Errorf("the new Machine does not say for whom it was made: %v", made.Annotations)
	}
	if left := x.plane().Annotations[lifecycle.ReplacingAnnotation]; left != "" {
		t.Errorf("it is still being replaced: %s", left)
	}
	person := x.nodeName(1)
	if err := x.client.Delete(t.Context(), x.machineOf(person)); err != nil {
		t.Fatal(err)
	}
	x.asked(clusterv1.RemediatingCondition, metav1.ConditionFalse, person)
	x.person(person)
	x.gone(person)
	x.settled(3)
}

// TestRolloutReplacesOneAfterTheOther: once that is asked for, a Machine of the new template joins first, and
// an old one leaves then, and never are two on their way.
func TestRolloutReplacesOneAfterTheOther(t *testing.T) {
	x := open(t, 3, model.ClusterAddingHosts)
	x.run(3)
	x.settled(3)
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) {
		c.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "second"
		c.Spec.Rollout.Strategy.Type = controlplanev1.RollingUpdateStrategy
	})
	x.eventually("the rollout to be told", func() (bool, string) {
		c := conditions.Get(x.plane(), clusterv1.RollingOutCondition)
		return c.Status == metav1.ConditionTrue && c.Reason == clusterv1.RollingOutReason && strings.Contains(c.Message, "Rolling out 3 not up-to-date replicas\n* spec.machineTemplate.spec.infrastructureRef"), text(c)
	})
	for i := range 2 {
		var leaving string
		x.eventually("an old Machine to leave once a new one is a member", func() (bool, string) {
			all, members := x.machines(), len(x.members())
			if len(all) > 4 {
				t.Fatalf("there are %d Machines", len(all))
			}
			for _, m := range all {
				if !m.DeletionTimestamp.IsZero() {
					if leaving = m.Status.NodeRef.Name; members != 4 {
						t.Errorf("%s leaves while etcd has %d members", leaving, members)
					}
					if is := x.infrastructure(&m).GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation]; is != "first" {
						t.Errorf("%s leaves, and is of template %s", leaving, is)
					}
					return true, ""
				}
			}
			return false, text([]any{len(all), members, conditions.Get(x.plane(), clusterv1.RollingOutCondition)})
		})
		x.asked(clusterv1.RollingOutCondition, metav1.ConditionTrue, leaving)
		x.person(leaving)
		x.gone(leaving)
		if n := len(x.machines()); n < 3 {
			t.Errorf("after %d there are %d Machines", i+1, n)
		}
	}
}

// TestDeletionOfTheWholeWaitsForNobody: Machines of a cluster that is deleted as a whole are released though its API
// server does not answer any more, and in any state of etcd.
func TestDeletionOfTheWholeWaitsForNobody(t *testing.T) {
	x := open(t, 3, model.ClusterAddingHosts)
	x.run(3)
	x.settled(3)
	first := x.machineOf(x.nodeName(0))
	if err := x.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	x.asked(clusterv1.RemediatingCondition, metav1.ConditionFalse, x.nodeName(0))
	x.mu.Lock()
	x.state = model.ClusterUnknown // and nothing is seen of it any more
	x.mu.Unlock()
	if err := x.client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "lab"}}); err != nil {
		t.Fatal(err)
	}
	x.eventually("everything to be gone", func() (bool, string) {
		plane := &controlplanev1.OpenshiftAssistedControlPlane{}
		there := x.get(plane, "lab")
		if left := len(x.machines()); !there && left > 0 {
			t.Fatalf("the control plane has gone before %d of its Machines", left)
		}
		return !there && len(x.machines()) == 0, text([]any{conditions.Get(plane, clusterv1.DeletingCondition), len(x.machines())})
	})
}

// TestMachinesAreReplacedBeforeTheInstallation: a Machine that never showed up is replaced before anything is
// installed; while the installation runs, none is.
func TestMachinesAreReplacedBeforeTheInstallation(t *testing.T) {
	x := open(t, 3, "")
	x.lab(3)
	x.eventually("three Machines", func() (bool, string) { return len(x.machines()) == 3, "" })
	unhealthy := func(m *clusterv1.Machine) {
		t.Helper()
		before := m.DeepCopy()
		for _, kind := range []string{clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition} {
			conditions.Set(m, metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: "Test"})
		}
		if err := x.client.Status().Patch(t.Context(), m, mergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	first := x.machines()[0]
	unhealthy(&first)
	x.eventually("it to be replaced", func() (bool, string) {
		all := x.machines()
		return len(all) == 3 && !slices.ContainsFunc(all, func(m clusterv1.Machine) bool { return m.Name == first.Name }), text(len(all))
	})
	x.mu.Lock()
	x.state = model.ClusterInstalling
	x.mu.Unlock()
	x.eventually("the installation to be seen", func() (bool, string) {
		state := x.plane().Status.Installation.State
		return state == string(model.ClusterInstalling), state
	})
	second := x.machines()[0]
	unhealthy(&second)
	x.eventually("its owner to say why not", func() (bool, string) {
		m := &clusterv1.Machine{}
		x.get(m, second.Name)
		c := conditions.Get(m, clusterv1.MachineOwnerRemediatedCondition)
		return c.Reason == lifecycle.ReasonDeferred && m.DeletionTimestamp.IsZero(), text(c)
	})
}
