package machines

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// SkippedDrain reports whether Cluster API came to the hooks before the machine's end when a Machine that is being deleted
// had no node yet, so that it does not drain the node that there is now.
func SkippedDrain(m *clusterv1.Machine) bool {
	_, excluded := m.Annotations[clusterv1.ExcludeNodeDrainingAnnotation]
	d := m.Status.Deletion
	return m.Status.NodeRef.IsDefined() && !excluded && d != nil && d.NodeDrainStartTime.IsZero() &&
		!d.WaitForPreTerminateHookStartTime.IsZero()
}

// DrainAfterAll makes Cluster API drain it once no hook before that is left. A hook has to be there meanwhile: without
// one Cluster API would record again that it came to the later ones.
func DrainAfterAll(m *clusterv1.Machine) {
	d := m.Status.Deletion.DeepCopy()
	d.WaitForPreTerminateHookStartTime = metav1.Time{}
	if m.Status.Deletion = d; *d == (clusterv1.MachineDeletionStatus{}) {
		m.Status.Deletion = nil
	}
}
