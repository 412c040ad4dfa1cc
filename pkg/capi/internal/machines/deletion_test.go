package machines

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// TestDrainAfterAll: a Machine whose node came when it waited at the last hooks already is drained, once.
func TestDrainAfterAll(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC))
	for name, test := range map[string]struct {
		node     string
		excluded bool
		status   *clusterv1.MachineDeletionStatus
		skipped  bool
	}{
		"it is not that far":      {node: "n"},
		"it has no node":          {status: &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: now}},
		"its node came later":     {node: "n", status: &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: now}, skipped: true},
		"and it waits for a hook": {node: "n", status: &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: now, WaitForPreDrainHookStartTime: now}, skipped: true},
		"it was drained":          {node: "n", status: &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: now, NodeDrainStartTime: now}},
		"nobody wants it drained": {node: "n", excluded: true, status: &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: now}},
	} {
		m := &clusterv1.Machine{}
		m.Status.NodeRef.Name, m.Status.Deletion = test.node, test.status
		if test.excluded {
			m.Annotations = map[string]string{clusterv1.ExcludeNodeDrainingAnnotation: ""}
		}
		if SkippedDrain(m) != test.skipped {
			t.Errorf("%s: skipped %v", name, !test.skipped)
		}
		if !test.skipped {
			continue
		}
		before := test.status.DeepCopy()
		if DrainAfterAll(m); SkippedDrain(m) || m.Status.Deletion != nil && m.Status.Deletion.WaitForPreDrainHookStartTime.IsZero() || before.WaitForPreTerminateHookStartTime != test.status.WaitForPreTerminateHookStartTime {
			t.Errorf("%s: it is %+v, and was %+v", name, m.Status.Deletion, test.status)
		}
	}
}
