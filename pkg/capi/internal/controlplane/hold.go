package controlplane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
)

// isHooked reports whether a Machine has one of the hooks of its control plane.
func isHooked(m *clusterv1.Machine) bool {
	_, ofEtcd := m.Annotations[lifecycle.HookAnnotation]
	_, ofDrain := m.Annotations[lifecycle.DrainHookAnnotation]
	return ofEtcd || ofDrain
}

// hold keeps a Machine that is being deleted until no installation runs and its member of etcd is gone, and releases it
// then. Only the object in memory is changed.
func (k *machineKeeper) hold(ctx context.Context, q *lifecycle.Question, m *lifecycle.Machine) error {
	found := lifecycle.CheckDeletion(q, m)
	_, undrained := m.Annotations[lifecycle.DrainHookAnnotation]
	switch {
	case !undrained || !lifecycle.MayDrain(q, m):
	case machines.SkippedDrain(m.Machine):
		machines.DrainAfterAll(m.Machine)
	default:
		delete(m.Annotations, lifecycle.DrainHookAnnotation)
	}
	if found.Release {
		if _, ofEtcd := m.Annotations[lifecycle.HookAnnotation]; ofEtcd { // else a person has let it go
			delete(m.Annotations, lifecycle.HookAnnotation)
			setOn(m.Machine, MachineEtcdMemberRemoved, metav1.ConditionTrue, MachineEtcdMemberRemoved, "")
		}
		return nil
	}
	if found.Member != "" {
		m.Annotations[lifecycle.MemberAnnotation] = found.Member
	}
	if conditions.IsFalse(m.Machine, clusterv1.MachineOwnerRemediatedCondition) {
		setOn(m.Machine, clusterv1.MachineOwnerRemediatedCondition, metav1.ConditionFalse, lifecycle.ReasonDeleting, found.Message)
	}
	asked := conditions.GetReason(m.Machine, MachineEtcdMemberRemoved) == found.Reason
	setOn(m.Machine, MachineEtcdMemberRemoved, metav1.ConditionFalse, found.Reason, found.Message)
	k.kept.held = append(k.kept.held, held{
		DeletionBlock: found, name: m.Name, outdated: len(m.Outdated) > 0 || m.Expired,
		unhealthy: conditions.IsFalse(m.Machine, clusterv1.MachineHealthCheckSucceededCondition),
	})
	if found.Reason == lifecycle.ReasonRemovalRequired && !asked {
		k.recorder.Eventf(k.plane, m.Machine, corev1.EventTypeWarning, found.Reason, "Delete", "Machine %s: %s", m.Name, found.Message)
	}
	if found.DeleteNode {
		return k.deleteNode(ctx, found.NodeName, found.NodeID)
	}
	return nil
}

// deleteNode deletes a node of the installed cluster that is drained: while it is there, the etcd operator would make
// it a member again after its member was removed.
func (k *machineKeeper) deleteNode(ctx context.Context, name, uid string) error {
	c, err := k.workload(ctx)
	if err != nil {
		return err
	}
	if err := c.Core.Nodes().Delete(ctx, name, *metav1.NewPreconditionDeleteOptions(uid)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete node %s: %w", name, err)
	}
	k.installations.Changed(k.key())
	k.recorder.Eventf(k.plane, nil, corev1.EventTypeNormal, "NodeDeleted", "Delete", "deleted the drained node %s", name)
	return nil
}

// workload is a client of the installed cluster.
func (k *machineKeeper) workload(ctx context.Context) (*workloadclient.Client, error) {
	kubeconfig := &corev1.Secret{}
	if err := k.client.Get(ctx, k.kubeconfigSecret(), kubeconfig); err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", k.kubeconfigSecret().Name, err)
	}
	return k.workloads.Client(k.key(), kubeconfig.Data[secret.KubeconfigDataName])
}

// letGo releases the Machines of a control plane that is deleted as a whole, without waiting for etcd.
func (d *deletion) letGo(ctx context.Context) error {
	for _, m := range d.machines {
		if !isHooked(m) {
			continue
		}
		before := m.DeepCopy()
		delete(m.Annotations, lifecycle.HookAnnotation)
		delete(m.Annotations, lifecycle.DrainHookAnnotation)
		if err := d.client.Patch(ctx, m, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("let go of Machine %s: %w", m.Name, err)
		}
	}
	return nil
}
