package controlplane

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
)

// TestConditionsOfOthersStay: a Machine is written while another controller writes a condition of it. What each has said stays,
// and the labels are written too.
func TestConditionsOfOthersStay(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "Test", LastTransitionTime: metav1.Unix(1, 0)}
	}
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", UID: "1", Generation: 3}}
	m.Status.Conditions = []metav1.Condition{
		condition(clusterv1.MachineNodeHealthyCondition, metav1.ConditionFalse), condition(clusterv1.MachineOwnerRemediatedCondition, metav1.ConditionFalse),
	}
	inner := fake.NewClientBuilder().WithScheme(scheme).WithObjects(m).WithStatusSubresource(m).Build()
	read := func() *clusterv1.Machine {
		t.Helper()
		out := &clusterv1.Machine{}
		if err := inner.Get(t.Context(), client.ObjectKeyFromObject(m), out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	tries := 0
	s, _ := observed()
	s.client = interceptor.NewClient(inner, interceptor.Funcs{SubResourcePatch: func(
		ctx context.Context, c client.Client, part string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
	) error {
		if tries++; tries == 1 {
			other := read()
			conditions.Set(other, condition(clusterv1.MachineNodeHealthyCondition, metav1.ConditionTrue))
			if err := inner.Status().Update(ctx, other); err != nil {
				t.Error(err)
			}
		}
		return c.SubResource(part).Patch(ctx, o, patch, options...)
	}})
	before := read()
	after := before.DeepCopy()
	after.Labels = map[string]string{"rack": "a"}
	conditions.Delete(after, clusterv1.MachineOwnerRemediatedCondition)
	conditions.Set(after, condition(clusterv1.MachineUpToDateCondition, metav1.ConditionTrue))
	if err := s.machineWriter().write(t.Context(), before, after); err != nil {
		t.Fatal(err)
	}
	now := read()
	told := conditions.Get(now, clusterv1.MachineUpToDateCondition)
	if told == nil || told.Status != metav1.ConditionTrue || told.ObservedGeneration != 3 ||
		!conditions.IsTrue(now, clusterv1.MachineNodeHealthyCondition) || conditions.Has(now, clusterv1.MachineOwnerRemediatedCondition) {
		t.Errorf("the conditions are %v", now.Status.Conditions)
	}
	if now.Labels["rack"] != "a" || tries != 2 {
		t.Errorf("the labels are %v, after %d tries", now.Labels, tries)
	}
}

// TestDrainAfterAllIsWritten: what is changed of the status besides conditions, so that Cluster API drains a node, is written
// beside the annotations.
func TestDrainAfterAllIsWritten(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", UID: "1", Annotations: map[string]string{"hook": "a"}}}
	m.Status.Phase = string(clusterv1.MachinePhaseDeleting)
	m.Status.Deletion = &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: metav1.Unix(1, 0)}
	s, _ := observed()
	s.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(m).WithStatusSubresource(m).Build()
	before := &clusterv1.Machine{}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(m), before); err != nil {
		t.Fatal(err)
	}
	after := before.DeepCopy()
	machines.DrainAfterAll(after)
	after.Annotations = nil
	if err := s.machineWriter().write(t.Context(), before, after); err != nil {
		t.Fatal(err)
	}
	now := &clusterv1.Machine{}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(m), now); err != nil {
		t.Fatal(err)
	}
	if now.Status.Deletion != nil || len(now.Annotations) > 0 || now.Status.Phase != m.Status.Phase {
		t.Errorf("its status is %+v, its annotations are %v", now.Status, now.Annotations)
	}
	if before.Status.Deletion == nil {
		t.Error("the Machine as it was read is changed")
	}
}
