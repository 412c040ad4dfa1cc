package controlplane

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
)

// followWorkers writes the version of its node into the Machine of each worker: an upgrade of the cluster brings a node
// another version, and for Cluster API a Machine is being upgraded as long as its version is not its node's. A topology
// would accept no further version.
func (w *machineWriter) followWorkers(ctx context.Context) error {
	if w.view == nil || w.view.Observed.Spoke == nil || !w.view.Installed() {
		return nil
	}
	list := &clusterv1.MachineList{}
	if err := w.client.List(ctx, list, client.InNamespace(w.plane.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: w.cluster.Name}); err != nil {
		return fmt.Errorf("list the Machines of Cluster %s: %w", w.cluster.Name, err)
	}
	for i := range list.Items {
		m := &list.Items[i]
		if machines.IsControlPlane(m) || !m.DeletionTimestamp.IsZero() || m.Status.NodeInfo == nil {
			continue
		}
		if _, updating := m.Annotations[clusterv1.UpdateInProgressAnnotation]; updating {
			continue // it has the version that its node is updated to
		}
		version := m.Status.NodeInfo.KubeletVersion // whole, as it is compared
		if version == "" || m.Spec.Version == version {
			continue
		}
		changed := m.DeepCopy()
		changed.Spec.Version = version
		if err := w.writes.once(m, changed, func() error {
			return w.client.Patch(ctx, changed,
				client.MergeFrom(m))
		}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("write the version of Machine %s: %w", m.Name, err)
		}
	}
	return nil
}
