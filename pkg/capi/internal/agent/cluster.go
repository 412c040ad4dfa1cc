package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
)

// ClusterReconciler reconciles AgentClusters.
type ClusterReconciler struct {
	Client client.Client
	// Live reads what must not be out of date, past the cache.
	Live     client.Reader
	Pool     Pool
	Recorder events.EventRecorder
	// Installations say which cluster of a service is proven to be that of a Cluster.
	Installations *clusterloop.Set

	watchFilter string
}

// clusterScope is one reconcile of an AgentCluster.
type clusterScope struct {
	*ClusterReconciler
	object  *agentv1.AgentCluster
	cluster *clusterv1.Cluster
	waits   bool // for an object that is not watched
}

// Reasons of the conditions of an AgentCluster.
const (
	reasonWaitingForControlPlane = "WaitingForControlPlane"
	reasonNoEndpoint             = "NoControlPlaneEndpoint"
)

// portAPI is the port of a cluster's API.
const portAPI = 6443

// Reconcile brings one AgentCluster a step further.
func (r *ClusterReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := &agentv1.AgentCluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if annotations.IsExternallyManaged(object) || !machines.IsWatched(object, r.watchFilter) {
		return ctrl.Result{}, nil
	}
	cluster, err := machines.ClusterOwning(ctx, r.Client, "AgentCluster", object.ObjectMeta)
	if err != nil {
		return ctrl.Result{}, err
	}
	s := &clusterScope{ClusterReconciler: r, object: object, cluster: cluster}
	if machines.IsPaused(s.cluster, object) {
		return ctrl.Result{}, machines.Pause(ctx, r.Client, s.cluster, object)
	}
	if !object.DeletionTimestamp.IsZero() {
		return s.delete(ctx)
	}
	if s.cluster == nil {
		return ctrl.Result{}, nil // a change of it wakes
	}
	before := object.DeepCopy()
	conditions.Set(object, metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason})
	err = s.reconcile(ctx)
	s.summarize()
	return ctrl.Result{RequeueAfter: s.again()}, errors.Join(err, s.save(ctx, before))
}

// again is the time after which the AgentCluster is reconciled again, for changes that no watch reports; 0 for never.
func (s *clusterScope) again() time.Duration {
	switch {
	case s.waits:
		return hostedComes
	case len(s.object.Spec.FailureDomains) > 0 && !s.Pool.RecordsReservation(): // a host may have come
		return waitsInPool
	}
	return 0
}

func (s *clusterScope) reconcile(ctx context.Context) error {
	return errors.Join(s.endpoint(ctx), s.deployment(ctx), s.domains(ctx))
}

// endpoint finds out where the API of the cluster is reached, and writes it down once it is known.
func (s *clusterScope) endpoint(ctx context.Context) error {
	have := s.object.Spec.ControlPlaneEndpoint
	if have.Host == "" {
		want, err := s.wantedEndpoint(ctx)
		if err != nil || want.Host == "" {
			return err
		}
		if err := s.patch(ctx, func(c *agentv1.AgentCluster) { c.Spec.ControlPlaneEndpoint = want }); err != nil {
			return err
		}
	}
	s.object.Status.Initialization.Provisioned = ptr.To(true)
	return nil
}

// wantedEndpoint is that of the Cluster, else the first virtual address of the control plane, else the
// name that OpenShift gives it.
func (s *clusterScope) wantedEndpoint(ctx context.Context) (clusterv1.APIEndpoint, error) {
	if of := s.cluster.Spec.ControlPlaneEndpoint; of.Host != "" {
		return clusterv1.APIEndpoint{Host: of.Host, Port: portOf(of.Port)}, nil
	}
	controlPlane, err := s.controlPlane(ctx)
	if err != nil || controlPlane == nil {
		return clusterv1.APIEndpoint{}, err
	}
	config := &controlPlane.Spec.Config
	name := config.ClusterName
	if name == "" {
		name = s.cluster.Name
	}
	switch {
	case len(config.APIVIPs) > 0:
		return clusterv1.APIEndpoint{Host: config.APIVIPs[0], Port: portAPI}, nil
	case config.BaseDomain != "":
		return clusterv1.APIEndpoint{Host: "api." + name + "." + config.BaseDomain, Port: portAPI}, nil
	}
	return clusterv1.APIEndpoint{}, nil
}

func portOf(port int32) int32 {
	if port == 0 {
		return portAPI
	}
	return port
}

// isAssisted reports whether the control plane of a Cluster is an OpenshiftAssistedControlPlane.
func isAssisted(cluster *clusterv1.Cluster) bool {
	ref := cluster.Spec.ControlPlaneRef
	return ref.Kind == controlplanev1.ControlPlaneKind && ref.APIGroup == controlplanev1.Group
}

// controlPlane is that of the Cluster where it is ours, nil where it is not, or not there yet.
func (s *clusterScope) controlPlane(ctx context.Context) (*controlplanev1.OpenshiftAssistedControlPlane, error) {
	if !isAssisted(s.cluster) {
		return nil, nil
	}
	found := &controlplanev1.OpenshiftAssistedControlPlane{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.cluster.Namespace, Name: s.cluster.Spec.ControlPlaneRef.Name}, found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the control plane of Cluster %s: %w", s.cluster.Name, err)
	}
	return found, nil
}

// deployment says which ClusterDeployment hosts are bound to. With a hosted control plane it is made here; otherwise
// the control plane's controller makes it, and records its id.
func (s *clusterScope) deployment(ctx context.Context) error {
	if isHosted(s.cluster) {
		return s.hostedDeployment(ctx)
	}
	controlPlane, err := s.controlPlane(ctx)
	if err != nil {
		return err
	}
	id := ""
	if controlPlane != nil {
		id, err = s.clusterID(ctx, controlPlane)
		switch {
		case err != nil && !clusterloop.IsRefusal(err):
			return err
		case err != nil:
			s.object.Status.ClusterDeploymentRef = agentv1.ClusterDeploymentReference{} // hosts would count as those of this cluster by it
			s.set(agentv1.ClusterDeploymentReadyCondition, metav1.ConditionFalse, reasonForeign, err.Error())
			return nil
		}
	}
	if id == "" {
		s.set(agentv1.ClusterDeploymentReadyCondition, metav1.ConditionFalse, reasonWaitingForControlPlane,
			"the cluster is not registered in the service yet")
		return nil
	}
	namespace, name := split(id)
	s.object.Status.ClusterDeploymentRef = agentv1.ClusterDeploymentReference{Namespace: namespace, Name: name}
	s.set(agentv1.ClusterDeploymentReadyCondition, metav1.ConditionTrue, agentv1.ClusterDeploymentReadyCondition, "")
	return nil
}

// clusterID is the id of the cluster in the service, "" where it has none: on a hub as the control plane records it,
// over REST that of the record that is proven to be the cluster's.
func (s *clusterScope) clusterID(ctx context.Context, controlPlane *controlplanev1.OpenshiftAssistedControlPlane) (string, error) {
	noted, err := clusterspec.IDOf(controlPlane, s.Pool.RecordsReservation())
	if err != nil || s.Pool.RecordsReservation() {
		return noted, err
	}
	view, err := s.Installations.View(ctx, client.ObjectKeyFromObject(s.cluster))
	switch {
	case view != nil && view.Observed.Cluster != nil:
		return view.Observed.Cluster.ID, nil
	case view != nil, errors.Is(err, clusterloop.ErrNotYet):
		s.waits = s.waits || noted != "" // for what the control plane has seen already
		return "", nil
	}
	return "", err
}

// domains are the failure domains that have hosts, or Machines that stay: the hosts of those may be elsewhere, or of an
// InfraEnv that is named no more.
func (s *clusterScope) domains(ctx context.Context) error {
	if len(s.object.Spec.FailureDomains) == 0 {
		s.object.Status.FailureDomains = nil
		return nil
	}
	hosts, err := s.Pool.Hosts(ctx, s.object.Namespace, s.object)
	if err != nil {
		return err
	}
	pool.Assign(hosts, domainsOf(s.object))
	used := map[string]bool{}
	for i := range hosts {
		used[hosts[i].Domain] = true
	}
	list := &clusterv1.MachineList{}
	if err := s.Client.List(ctx, list, client.InNamespace(s.cluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: s.cluster.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the Machines of Cluster %s: %w", s.cluster.Name, err)
	}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			used[list.Items[i].Spec.FailureDomain] = true
		}
	}
	var all []clusterv1.FailureDomain
	for _, d := range s.object.Spec.FailureDomains {
		if used[d.Name] {
			all = append(all, clusterv1.FailureDomain{Name: d.Name, ControlPlane: ptr.To(ptr.Deref(d.ControlPlane, true))})
		}
	}
	s.object.Status.FailureDomains = all
	return nil
}

// summarize sets Ready: the endpoint is known, and, with a hosted control plane, hosts can be bound.
func (s *clusterScope) summarize() {
	ready := metav1.Condition{Type: clusterv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ReadyReason}
	bound := conditions.Get(s.object, agentv1.ClusterDeploymentReadyCondition)
	switch {
	case s.object.Spec.ControlPlaneEndpoint.Host == "":
		ready.Status, ready.Reason = metav1.ConditionFalse, reasonNoEndpoint
		ready.Message = "the address of the API is not known: set spec.controlPlaneEndpoint, or apiVIPs or baseDomain of the control plane"
	case isHosted(s.cluster) && bound != nil && bound.Status != metav1.ConditionTrue:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, bound.Reason, bound.Message
	}
	conditions.Set(s.object, ready)
}

// delete removes the finalizer of an AgentCluster. What was made for a hosted control plane is deleted with it, but not
// where the AgentCluster was moved: it lives on in another management cluster.
func (s *clusterScope) delete(ctx context.Context) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(s.object, agentv1.AgentClusterFinalizer) {
		return ctrl.Result{}, nil
	}
	if !machines.IsMoving(s.object) {
		left, err := s.deleteHosted(ctx)
		if err != nil {
			return ctrl.Result{}, err
		}
		if len(left) > 0 {
			before := s.object.DeepCopy()
			s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonObjectsGo,
				"waiting for "+strings.Join(left, " and ")+" to be removed by the controllers that set these finalizers")
			return ctrl.Result{RequeueAfter: objectsGo}, s.save(ctx, before)
		}
	}
	return ctrl.Result{}, client.IgnoreNotFound(s.patch(ctx, func(c *agentv1.AgentCluster) {
		controllerutil.RemoveFinalizer(c,
			agentv1.AgentClusterFinalizer)
	}))
}

// patch writes a change of the AgentCluster except its status, which is kept as it is being written.
func (s *clusterScope) patch(ctx context.Context, change func(*agentv1.AgentCluster)) error {
	changed := s.object.DeepCopy()
	change(changed)
	if equality.Semantic.DeepEqual(changed.ObjectMeta, s.object.ObjectMeta) && equality.Semantic.DeepEqual(changed.Spec, s.object.Spec) {
		return nil
	}
	if err := s.Client.Patch(ctx, changed, client.MergeFromWithOptions(s.object, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write AgentCluster %s: %w", s.object.Name, err)
	}
	s.object.ObjectMeta, s.object.Spec = changed.ObjectMeta, changed.Spec
	return nil
}

// save writes the status in one request, and none where nothing has changed.
func (s *clusterScope) save(ctx context.Context, before *agentv1.AgentCluster) error {
	if equality.Semantic.DeepEqual(before.Status, s.object.Status) {
		return nil
	}
	base := s.object.DeepCopy()
	base.Status = before.Status
	if err := s.Client.Status().Patch(ctx, s.object.DeepCopy(), client.MergeFrom(base)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of AgentCluster %s: %w", s.object.Name, err)
	}
	return nil
}

func (s *clusterScope) set(kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(s.object, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: rewording.Message(message)})
}
