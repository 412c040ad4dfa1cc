package controlplane

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
)

// followWorkers writes the version of its node into each Machine of a MachineSet that asks for none: an upgrade
// of the cluster brings a node another version, and Cluster API takes a Machine for outdated whose version is
// not its node's.
func (s *scope) followWorkers(ctx context.Context) error {
	if s.view == nil || s.view.Observed.Spoke == nil || !s.view.Installed() {
		return nil
	}
	within := []client.ListOption{client.InNamespace(s.plane.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: s.cluster.Name}}
	sets, list := &clusterv1.MachineSetList{}, &clusterv1.MachineList{}
	if err := s.Client.List(ctx, sets, within...); err != nil {
		return fmt.Errorf("list the MachineSets of Cluster %s: %w", s.cluster.Name, err)
	}
	if err := s.Client.List(ctx, list, within...); err != nil {
		return fmt.Errorf("list the Machines of Cluster %s: %w", s.cluster.Name, err)
	}
	follows := map[string]bool{}
	for i := range sets.Items {
		follows[string(sets.Items[i].UID)] = sets.Items[i].Spec.Template.Spec.Version == ""
	}
	for i := range list.Items {
		m := &list.Items[i]
		owner := metav1.GetControllerOf(m)
		if machines.IsControlPlane(m) || owner == nil || !follows[string(owner.UID)] || !m.DeletionTimestamp.IsZero() || m.Status.NodeInfo == nil {
			continue
		}
		version := m.Status.NodeInfo.KubeletVersion // whole, as it is compared
		if version == "" || m.Spec.Version == version {
			continue
		}
		changed := m.DeepCopy()
		changed.Spec.Version = version
		if err := s.writes.once(m, changed, func() error { return s.Client.Patch(ctx, changed, client.MergeFrom(m)) }); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("write the version of Machine %s: %w", m.Name, err)
		}
	}
	return nil
}
