// Package controlplane reconciles OpenshiftAssistedControlPlanes: for each it makes the Machines, registers and
// installs the cluster, and hands out the kubeconfig; afterwards it reports the state of the cluster.
package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/oaictl/oaictl/internal/shared/clock"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/messages"
	"github.com/oaictl/oaictl/pkg/capi/internal/ownership"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/capi/internal/versions"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Reconciler reconciles OpenshiftAssistedControlPlanes.
type Reconciler struct {
	Client client.Client
	// Live reads what the cache has not, or may not have yet.
	Live          client.Reader
	Installations *clusterloop.Set
	Recorder      events.EventRecorder
	Clock         clock.Clock
	// OnHub says that the service is the management cluster's own.
	OnHub bool
	// Keys prove which record belongs to a Cluster, where the service is not the management cluster's own.
	Keys *ownership.Keys
	// Workloads are the clients of installed clusters.
	Workloads *Workloads
	// Status writes statuses.
	Status *status.Writer
	// Versions knows which version of Kubernetes is in a release.
	Versions *versions.Mapping
	// ReadRelease reads a release image, given the control plane that it is for and what else is desired of its
	// cluster; nil where none can be read.
	ReadRelease func(ctx context.Context, plane *controlplanev1.OpenshiftAssistedControlPlane, desired *spec.Cluster, image string) (versions.Payload, error)
	// Answers reports whether the API server that a kubeconfig names takes requests.
	Answers func(ctx context.Context, kubeconfig []byte) error
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter of the control planes that are reconciled;
	// "" for all.
	WatchFilter string

	writes   writes
	known    kubeconfigs
	clusters clusters
	claiming sync.Mutex // held while a control plane asks for a name
}

// scope is one reconcile of a control plane.
type scope struct {
	*Reconciler
	plane   *controlplanev1.OpenshiftAssistedControlPlane
	cluster *clusterv1.Cluster
	was     controlplanev1.OpenshiftAssistedControlPlaneStatus // the status as it was read
	// machines are those of the control plane, by name.
	machines []*clusterv1.Machine
	view     *clusterloop.View // nil where there is none yet
	kept     *kept             // nil before the Machines were processed
	mismatch string            // why version and distributionVersion are not of one release; "" where they are
	noCopy   string            // why the service's copy of the kubeconfig cannot be read; "" where it can, or there is none
	recheck  time.Duration     // how soon something is read again that no watch reports; 0 where there is none
}

func (s *scope) key() clusterloop.Key { return client.ObjectKeyFromObject(s.cluster) }

// Reconcile brings one control plane a step further.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	plane := &controlplanev1.OpenshiftAssistedControlPlane{}
	if err := r.Client.Get(ctx, request.NamespacedName, plane); err != nil {
		if apierrors.IsNotFound(err) { // its finalizers may have been taken away
			r.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !machines.IsWatched(plane, r.WatchFilter) {
		return ctrl.Result{}, nil
	}
	cluster, err := util.GetOwnerCluster(ctx, r.Client, plane.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("read the Cluster of control plane %s: %w", plane.Name, err)
	}
	s := &scope{Reconciler: r, plane: plane, cluster: cluster}
	if cluster == nil {
		r.forget(request.NamespacedName)
	} else if former, another := r.clusters.note(request.NamespacedName, s.key()); another {
		r.forgetCluster(former)
	}
	if machines.IsPaused(cluster, plane) {
		return ctrl.Result{}, machines.Pause(ctx, r.Client, cluster, plane)
	}
	if cluster == nil {
		if !plane.DeletionTimestamp.IsZero() { // its Cluster is gone, and with it all that could be found by it
			if err := s.dropHooks(ctx); err != nil {
				return ctrl.Result{}, err
			}
			return ctrl.Result{}, s.release(ctx)
		}
		return ctrl.Result{}, nil // Cluster API makes the Cluster its owner, which wakes
	}
	if plane.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(plane, controlplanev1.ControlPlaneFinalizer) {
		before := plane.DeepCopy()
		controllerutil.AddFinalizer(plane, controlplanev1.ControlPlaneFinalizer)
		if err := r.Client.Patch(ctx, plane, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	if err := s.readMachines(ctx); err != nil {
		return ctrl.Result{}, err
	}
	s.was = *plane.Status.DeepCopy()
	s.set(clusterv1.PausedCondition, metav1.ConditionFalse, clusterv1.NotPausedReason, "")
	step := s.reconcile
	if !plane.DeletionTimestamp.IsZero() {
		step = s.delete
	}
	result, err := step(ctx)
	if controllerutil.ContainsFinalizer(plane, controlplanev1.ControlPlaneFinalizer) {
		s.show()
		s.report()
		again, failed := s.writeStatus(ctx)
		result, err = util.LowestNonZeroResult(result, ctrl.Result{RequeueAfter: again}), errors.Join(err, failed)
	}
	if apierrors.IsConflict(err) { // it was read too early
		return ctrl.Result{RequeueAfter: conflictAgain}, nil
	}
	return result, err
}

// conflictAgain is how soon a control plane is read again that another client has written meanwhile.
const conflictAgain = 200 * time.Millisecond

// writeStatus writes what has become of the control plane.
func (s *scope) writeStatus(ctx context.Context) (again time.Duration, err error) {
	s.plane.Status.Deprecated, s.plane.Status.ObservedGeneration = nil, s.plane.Generation
	before := s.plane.DeepCopy()
	before.Status = s.was
	_, again, err = s.Status.Write(ctx, s.Client, before, s.plane, status.Words{Progress: []string{"installation.percentage"}, News: s.news()})
	return again, err
}

// news are the conditions with messages about what a person may have to solve: all but one that reports the progress of
// an upgrade, and one that repeats what Machines report themselves.
func (s *scope) news() []string {
	var kinds []string
	for _, c := range s.plane.Status.Conditions {
		if c.Reason != controlplanev1.UpgradeInProgressReason && c.Type != clusterv1.MachinesReadyCondition {
			kinds = append(kinds, c.Type)
		}
	}
	return kinds
}

func (s *scope) readMachines(ctx context.Context) (err error) {
	s.machines, err = s.listMachines(ctx, s.Client)
	return err
}

func (s *scope) listMachines(ctx context.Context, reader client.Reader) ([]*clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	if err := reader.List(ctx, list, client.InNamespace(s.plane.Namespace), client.MatchingLabels{
		clusterv1.ClusterNameLabel: s.cluster.Name, clusterv1.MachineControlPlaneLabel: "",
	}); err != nil {
		return nil, fmt.Errorf("list the Machines of the control plane %s: %w", s.plane.Name, err)
	}
	var own []*clusterv1.Machine
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], s.plane) {
			own = append(own, &list.Items[i])
		}
	}
	slices.SortFunc(own, func(a, b *clusterv1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return own, nil
}

// living are the Machines that are not being deleted.
func (s *scope) living() []*clusterv1.Machine {
	return slices.DeleteFunc(slices.Clone(s.machines), func(m *clusterv1.Machine) bool { return !m.DeletionTimestamp.IsZero() })
}

func (s *scope) replicas() int { return int(ptr.Deref(s.plane.Spec.Replicas, 3)) }

func (s *scope) reconcile(ctx context.Context) (ctrl.Result, error) {
	if !ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false) {
		s.notAvailable(controlplanev1.ControlPlaneInstallingReason, "waiting for the infrastructure of Cluster "+s.cluster.Name)
		return ctrl.Result{}, nil
	}
	if !s.cluster.Spec.ControlPlaneEndpoint.IsValid() {
		s.notAvailable(controlplanev1.ControlPlaneInstallingReason, "waiting for the endpoint of the control plane of Cluster "+s.cluster.Name+": its infrastructure provider sets spec.controlPlaneEndpoint")
		return ctrl.Result{}, nil
	}
	if err := s.takeOver(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if waits, err := s.makeMissing(ctx); err != nil || waits {
		return ctrl.Result{}, err
	}
	failed := s.install(ctx)
	kept, err := s.keep(ctx)
	kept = util.LowestNonZeroResult(kept, ctrl.Result{RequeueAfter: s.recheck})
	if err = errors.Join(failed, err, s.followWorkers(ctx)); err != nil || s.view == nil {
		return kept, err
	}
	result, err := s.kubeconfig(ctx)
	return util.LowestNonZeroResult(kept, result), err
}

// report reports what newly blocks the cluster.
func (s *scope) report() {
	before, now := meta.FindStatusCondition(s.was.Conditions, clusterv1.AvailableCondition), conditions.Get(s.plane, clusterv1.AvailableCondition)
	if now == nil || before != nil && before.Status == now.Status && before.Reason == now.Reason {
		return
	}
	kind := corev1.EventTypeNormal
	if now.Reason == controlplanev1.ControlPlaneInstallFailedReason || before != nil && before.Status == metav1.ConditionTrue && now.Status != metav1.ConditionTrue {
		kind = corev1.EventTypeWarning
	}
	s.Recorder.Eventf(s.plane, s.cluster, kind, now.Reason, "Install", "%s", cmp.Or(now.Message, availability(now.Status)))
}

// availability says what a status of Available means that has no message.
func availability(status metav1.ConditionStatus) string {
	switch status {
	case metav1.ConditionTrue:
		return "the cluster is available"
	case metav1.ConditionFalse:
		return "the cluster is not available"
	}
	return "it is not known whether the cluster is available"
}

func (s *scope) set(kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(s.plane, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: messages.Message(message)})
}

func (s *scope) notAvailable(reason, message string) {
	s.set(clusterv1.AvailableCondition, metav1.ConditionFalse, reason, message)
}

// isMoving reports whether the control plane is deleted because it was moved elsewhere.
func (s *scope) isMoving() bool { return machines.IsMoving(s.plane) }
