package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
)

// writes are the last writes of objects whose effect a cache may not show yet. The zero value is ready.
type writes struct {
	mu sync.Mutex
	of map[types.UID]written
}

// written is what was made of an object as it was read.
type written struct {
	version string
	mark    uint64
}

func markOf(version string, after client.Object) written {
	data, err := json.Marshal(after)
	if err != nil {
		data = []byte(err.Error()) // objects that came as JSON give no error
	}
	sum := fnv.New64a()
	_, _ = sum.Write(data) // it never fails
	return written{version, sum.Sum64()}
}

// once writes an object, unless the same change was already written to the same version of it: then the cache does not
// show that write yet.
func (w *writes) once(before, after client.Object, write func() error) error {
	mark := markOf(before.GetResourceVersion(), after)
	w.mu.Lock()
	known := w.of[before.GetUID()] == mark
	w.mu.Unlock()
	if known {
		return nil
	}
	if err := write(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[types.UID]written{}
	}
	w.of[before.GetUID()] = mark
	return nil
}

// forget drops what is known of an object that is as it was written, or gone.
func (w *writes) forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, uid)
}

// machineWriter writes Machines and what they refer to, where they have changed.
type machineWriter struct {
	*subject

	writes *writes
}

func (s *scope) machineWriter() *machineWriter {
	return &machineWriter{subject: s.subject, writes: &s.writes}
}

// patchOnce writes an object where it has changed.
func (w *machineWriter) patchOnce(ctx context.Context, before, after client.Object) error {
	if equality.Semantic.DeepEqual(before, after) {
		w.writes.forget(before.GetUID())
		return nil
	}
	return w.writes.once(before, after, func() error {
		written, is := after.DeepCopyObject().(client.Object) // which comes back as the API server has it
		if !is {
			return fmt.Errorf("%T is no object", after)
		}
		return client.IgnoreNotFound(w.client.Patch(ctx, written, client.MergeFrom(before)))
	})
}

// writeMade writes the config and the infrastructure object of a Machine where they have changed.
func (w *machineWriter) writeMade(ctx context.Context, before, after *lifecycle.MachineObjects) error {
	if before.Infrastructure != nil {
		if err := w.patchOnce(ctx, before.Infrastructure, after.Infrastructure); err != nil {
			return fmt.Errorf("apply the template to %s %s: %w", after.Infrastructure.GetKind(), after.Infrastructure.GetName(), err)
		}
	}
	if before.Config != nil {
		if err := w.patchOnce(ctx, before.Config, after.Config); err != nil {
			return fmt.Errorf("apply the template to OpenshiftAssistedConfig %s: %w", after.Config.Name, err)
		}
	}
	return nil
}

// write writes what has changed of a Machine. Fields that Cluster API refuses are left out, and reported: they keep no
// Machine from being processed.
func (w *machineWriter) write(ctx context.Context, before, after *clusterv1.Machine) error {
	err := w.patchMachine(ctx, before, after)
	if !isRefused(err) {
		return err
	}
	notApplied(after, err)
	if !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) { // which only some take, by a feature gate
		after.Spec.Taints = before.Spec.Taints
		if err := w.patchMachine(ctx, before, after); !isRefused(err) {
			return err
		}
	}
	after.Spec, after.Labels, after.Annotations = before.Spec, before.Labels, before.Annotations
	return w.patchMachine(ctx, before, after)
}

func (w *machineWriter) patchMachine(ctx context.Context, before, after *clusterv1.Machine) error {
	if equality.Semantic.DeepEqual(before, after) {
		w.writes.forget(before.UID)
		return nil
	}
	return w.writes.once(before, after, func() error {
		rest := after.DeepCopy()
		before.Status.DeepCopyInto(&rest.Status)
		errs := []error{w.patchConditions(ctx, before, after)}
		if !equality.Semantic.DeepEqual(before, rest) {
			errs = append(errs, client.IgnoreNotFound(w.client.Patch(ctx, rest, client.MergeFrom(before))))
		}
		status := before.DeepCopy()
		after.Status.DeepCopyInto(&status.Status)
		status.Status.Conditions = before.Status.Conditions // patchConditions writes them
		if !equality.Semantic.DeepEqual(before, status) {
			errs = append(errs, client.IgnoreNotFound(w.client.Status().Patch(ctx, status, client.MergeFrom(before))))
		}
		if err := utilerrors.NewAggregate(errs); err != nil {
			return fmt.Errorf("write Machine %s: %w", after.Name, err)
		}
		return nil
	})
}

// patchConditions writes those conditions of a Machine that a control plane has changed, and keeps what others have
// written of it since.
func (w *machineWriter) patchConditions(ctx context.Context, before, after *clusterv1.Machine) error {
	changed := slices.DeleteFunc([]string{
		clusterv1.MachineUpToDateCondition, clusterv1.MachineOwnerRemediatedCondition, MachineEtcdMemberRemoved,
	}, func(kind string) bool {
		return equality.Semantic.DeepEqual(conditions.Get(before, kind), conditions.Get(after, kind))
	})
	if len(changed) == 0 {
		return nil
	}
	backoff := wait.Backoff{Steps: 5, Duration: 100 * time.Millisecond, Jitter: 1}
	return client.IgnoreNotFound(retry.RetryOnConflict(backoff, func() error {
		latest := &clusterv1.Machine{}
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(after), latest); err != nil {
			return err
		}
		was := latest.DeepCopy()
		for _, kind := range changed {
			c := conditions.Get(after, kind)
			if c == nil {
				conditions.Delete(latest, kind)
				continue
			}
			conditions.Set(latest, *c)
			meta.FindStatusCondition(latest.Status.Conditions, kind).ObservedGeneration = c.ObservedGeneration
		}
		return w.client.Status().Patch(ctx, latest, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}))
	}))
}

// isRefused reports whether an API server does not take an object, now or later.
func isRefused(err error) bool {
	if all, is := errors.AsType[utilerrors.Aggregate](err); is {
		return slices.ContainsFunc(all.Errors(), isRefused)
	}
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err)
}

// notApplied says of a Machine that something is not applied to it, which no other Machine would be without
// either.
func notApplied(m *clusterv1.Machine, err error) {
	line := "* spec.machineTemplate is not applied: " + strings.ReplaceAll(err.Error(), "\n", " ")
	if c := conditions.Get(m, clusterv1.MachineUpToDateCondition); c != nil && c.Status == metav1.ConditionFalse &&
		!strings.Contains(c.Message, line) {
		line = c.Message + "\n" + line
	}
	setOn(m, clusterv1.MachineUpToDateCondition, metav1.ConditionFalse, clusterv1.MachineNotUpToDateReason, line)
}
