// Package controlplane reconciles OpenshiftAssistedControlPlanes: for each it makes the Machines, registers and
// installs the cluster, and hands out the kubeconfig; afterwards it reports the state of the cluster.
package controlplane

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/oaictl/oaictl/pkg/capi/internal/recordmark"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/capi/internal/versions"
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
	Keys *recordmark.Keys
	// Workloads are the clients of installed clusters.
	Workloads *Workloads
	// Status writes statuses.
	Status *status.Writer
	// Versions knows which version of Kubernetes is in a release.
	Versions *versions.Mapping
	// ReadRelease reads a release image, given the control plane that it is for and what else is desired of its
	// cluster; nil where none can be read.
	ReadRelease releaseReader
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

// scope is one reconcile of a control plane: it has the values that do the parts of it.
type scope struct {
	*Reconciler
	*subject
}

func (r *Reconciler) scope(plane *controlplanev1.OpenshiftAssistedControlPlane, cluster *clusterv1.Cluster) *scope {
	return &scope{Reconciler: r, subject: &subject{client: r.Client, installations: r.Installations, plane: plane, cluster: cluster}}
}

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
	cluster, err := machines.ClusterOwning(ctx, r.Client, "control plane", plane.ObjectMeta)
	if err != nil {
		return ctrl.Result{}, err
	}
	s := r.scope(plane, cluster)
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
			if err := s.deletion().dropHooks(ctx); err != nil {
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
		report := s.statusReport()
		report.show()
		report.report()
		again, failed := report.writeStatus(ctx)
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
func (r *statusReport) writeStatus(ctx context.Context) (again time.Duration, err error) {
	r.plane.Status.Deprecated, r.plane.Status.ObservedGeneration = nil, r.plane.Generation
	before := r.plane.DeepCopy()
	before.Status = r.was
	_, again, err = r.status.Write(ctx, r.client, before, r.plane, status.Words{Progress: []string{"installation.percentage"}, News: r.news()})
	return again, err
}

// news are the conditions with messages about what a person may have to solve: all but one that reports the progress of
// an upgrade, and one that repeats what Machines report themselves.
func (r *statusReport) news() []string {
	var kinds []string
	for _, c := range r.plane.Status.Conditions {
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

func (s *scope) reconcile(ctx context.Context) (ctrl.Result, error) {
	if !ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false) {
		s.notAvailable(controlplanev1.ControlPlaneInstallingReason, "waiting for the infrastructure of Cluster "+s.cluster.Name)
		return ctrl.Result{}, nil
	}
	if !s.cluster.Spec.ControlPlaneEndpoint.IsValid() {
		s.notAvailable(controlplanev1.ControlPlaneInstallingReason,
			"waiting for the endpoint of the control plane of Cluster "+s.cluster.Name+
				": its infrastructure provider sets spec.controlPlaneEndpoint")
		return ctrl.Result{}, nil
	}
	if err := s.registration().takeOver(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if waits, err := s.machineMaker().makeMissing(ctx); err != nil || waits {
		return ctrl.Result{}, err
	}
	failed := s.installation().install(ctx)
	kept, err := s.machineKeeper().keep(ctx)
	kept = util.LowestNonZeroResult(kept, ctrl.Result{RequeueAfter: s.recheck})
	if err = errors.Join(failed, err, s.machineWriter().followWorkers(ctx)); err != nil || s.view == nil {
		return kept, err
	}
	result, err := s.kubeconfig(ctx)
	return util.LowestNonZeroResult(kept, result), err
}

// report reports what newly blocks the cluster.
func (r *statusReport) report() {
	before, now := meta.FindStatusCondition(r.was.Conditions, clusterv1.AvailableCondition),
		conditions.Get(r.plane, clusterv1.AvailableCondition)
	if now == nil || before != nil && before.Status == now.Status && before.Reason == now.Reason {
		return
	}
	kind := corev1.EventTypeNormal
	if now.Reason == controlplanev1.ControlPlaneInstallFailedReason || before != nil && before.Status == metav1.ConditionTrue &&
		now.Status != metav1.ConditionTrue {
		kind = corev1.EventTypeWarning
	}
	r.recorder.Eventf(r.plane, r.cluster, kind, now.Reason, "Install", "%s", cmp.Or(now.Message, availability(now.Status)))
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
