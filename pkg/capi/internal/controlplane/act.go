package controlplane

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
)

// act does what was decided.
func (k *machineKeeper) act(ctx context.Context, q *lifecycle.Question) error {
	d := &k.kept.decision
	replacing := k.replacing(q)
	if d.Remediation != nil && !slices.ContainsFunc(replacing, func(r lifecycle.Remediation) bool { return r.Machine == d.Machine }) {
		replacing = append(replacing, *d.Remediation)
	}
	if err := k.noteReplacing(ctx, replacing); err != nil {
		return err
	}
	switch d.Act {
	case lifecycle.Make:
		_, err := k.maker.makeMachines(ctx, 1)
		return err
	case lifecycle.Delete:
		return k.deleteMachine(ctx, d)
	}
	return nil
}

// replacing are the unhealthy Machines that were deleted and are still to have a successor, no more than are missing.
// The Machine that is deleted now counts: it may have been deleted before, while a cache still shows it.
func (k *machineKeeper) replacing(q *lifecycle.Question) []lifecycle.Remediation {
	going := ""
	if d := &k.kept.decision; d.Remediation != nil {
		going = d.Machine
	}
	living := slices.DeleteFunc(k.living(), func(m *clusterv1.Machine) bool { return m.Name == going })
	left := slices.DeleteFunc(slices.Clone(q.Replacing), func(r lifecycle.Remediation) bool {
		return slices.ContainsFunc(living, func(m *clusterv1.Machine) bool { return m.Name == r.Machine })
	})
	if missing := max(0, k.replicas()-len(living)); len(left) > missing {
		left = left[len(left)-missing:]
	}
	return left
}

// noteReplacing writes that down, where it says something else.
func (k *machineKeeper) noteReplacing(ctx context.Context, replacing []lifecycle.Remediation) error {
	text := ""
	if len(replacing) > 0 {
		text = lifecycle.Note(replacing)
		newest := replacing[len(replacing)-1]
		k.plane.Status.LastRemediation = controlplanev1.LastRemediationStatus{Machine: newest.Machine, Time: newest.Timestamp,
			RetryCount: ptr.To(newest.RetryCount)}
	}
	if k.plane.Annotations[lifecycle.ReplacingAnnotation] == text {
		return nil
	}
	before := k.plane.DeepCopy()
	k.annotate(lifecycle.ReplacingAnnotation, text)
	if err := k.patchNow(ctx, before); err != nil {
		return fmt.Errorf("note which Machines are replaced: %w", err)
	}
	return nil
}

// deleteMachine deletes the chosen Machine, if all Machines are still as they were for the decision: another Machine
// may be in deletion that the cache does not show yet.
func (k *machineKeeper) deleteMachine(ctx context.Context, d *lifecycle.Decision) error {
	now, err := k.listMachines(ctx, k.live)
	if err != nil {
		return err
	}
	var victim *clusterv1.Machine
	for _, m := range now {
		known := slices.ContainsFunc(k.machines, func(was *clusterv1.Machine) bool {
			return was.UID == m.UID && was.DeletionTimestamp.IsZero() == m.DeletionTimestamp.IsZero()
		})
		if !known {
			return nil // the cache will show it, which wakes
		}
		if m.Name == d.Machine {
			victim = m
		}
	}
	if victim == nil || len(now) != len(k.machines) {
		return nil
	}
	err = k.client.Delete(ctx, victim, client.Preconditions{UID: &victim.UID, ResourceVersion: &victim.ResourceVersion})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	case err != nil:
		return fmt.Errorf("delete Machine %s: %w", victim.Name, err)
	}
	reasons := map[lifecycle.Cause]string{lifecycle.Scale: "there is one too many", lifecycle.Rollout: "it is not what the control plane says",
		lifecycle.Remediate: "it is unhealthy"}
	k.recorder.Eventf(k.plane, victim, corev1.EventTypeNormal, "MachineDeleted", "Delete", "deleted Machine %s: %s", victim.Name,
		reasons[d.Cause])
	return nil
}

// dropHooks removes our hooks from Machines that are left after their Cluster is gone.
func (d *deletion) dropHooks(ctx context.Context) error {
	if d.isMoving() {
		return nil
	}
	list := &clusterv1.MachineList{}
	if err := d.client.List(ctx, list, client.InNamespace(d.plane.Namespace),
		client.MatchingLabels{clusterv1.MachineControlPlaneNameLabel: nameLabel(d.plane.Name)}); err != nil {
		return fmt.Errorf("list the Machines of the control plane %s: %w", d.plane.Name, err)
	}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], d.plane) {
			d.machines = append(d.machines, &list.Items[i])
		}
	}
	return d.letGo(ctx)
}
