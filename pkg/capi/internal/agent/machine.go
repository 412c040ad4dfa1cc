// Package agent reconciles AgentClusters, AgentMachines and AgentMachineTemplates: machines are hosts
// that have booted already and wait in a pool. Each AgentMachine has one of them reserved, bound to
// its cluster and installed, and gives it back when its Machine is deleted.
package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
)

// MachineReconciler reconciles AgentMachines.
type MachineReconciler struct {
	Client client.Client
	// Live reads what must not be out of date, past the cache.
	Live          client.Reader
	Pool          Pool
	Installations *clusterloop.Set
	// Source reads what clusters ask of hosts.
	Source   *clusterspec.Source
	Recorder events.EventRecorder
	// Namespace is the one in which AgentMachines are reconciled; "" for all.
	Namespace string
	// Connector guards the connections to the installed clusters of hosted control planes.
	Connector workloadclient.Connector

	watchFilter string

	// reserving is held while a host is chosen and reserved: of several machines that are made at
	// once each sees what the others have taken.
	reserving sync.Mutex
	workloads workloadclient.Clients // of hosted clusters
}

// scope is one reconcile of an AgentMachine.
type scope struct {
	*MachineReconciler
	object  *agentv1.AgentMachine
	machine *clusterv1.Machine
	cluster *clusterv1.Cluster
	infra   *agentv1.AgentCluster // nil where the cluster has other infrastructure
	key     clusterloop.Key
	host    *pool.Host // that is reserved; nil where there is none, or none any more
	view    *clusterloop.View
	acted   error  // why the last action for the machine failed
	trouble string // of the node of a machine that is installed
}

// Reconcile brings one AgentMachine a step further.
func (r *MachineReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := &agentv1.AgentMachine{}
	if err := r.Client.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !machines.IsWatched(object, r.watchFilter) {
		return ctrl.Result{}, nil
	}
	s := &scope{MachineReconciler: r, object: object}
	if err := s.find(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if machines.IsPaused(s.cluster, object) {
		return ctrl.Result{}, machines.Pause(ctx, r.Client, s.cluster, object)
	}
	before := object.DeepCopy()
	if s.machine == nil && object.DeletionTimestamp.IsZero() || s.cluster == nil && s.machine != nil && s.machine.DeletionTimestamp.IsZero() {
		if conditions.IsTrue(object, clusterv1.PausedCondition) {
			s.set(clusterv1.PausedCondition, metav1.ConditionFalse, clusterv1.NotPausedReason, "")
		}
		return ctrl.Result{}, s.save(ctx, before) // a change of either wakes
	}
	s.set(clusterv1.PausedCondition, metav1.ConditionFalse, clusterv1.NotPausedReason, "")
	result, err := s.reconcile(ctx)
	s.summarize()
	if failed := s.save(ctx, before); failed != nil {
		return result, errors.Join(err, failed)
	}
	s.report(before)
	return result, err
}

func (s *scope) reconcile(ctx context.Context) (ctrl.Result, error) {
	if err := s.seeCluster(ctx); err != nil {
		return ctrl.Result{}, err
	}
	switch {
	case !s.object.DeletionTimestamp.IsZero():
		return s.delete(ctx)
	case !s.machine.DeletionTimestamp.IsZero():
		return s.release(ctx)
	}
	if !ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false) {
		s.waitToReserve(reasonWaitingForCluster, "waiting for the infrastructure of Cluster "+s.cluster.Name)
		return ctrl.Result{}, nil
	}
	reserved, result, err := s.reserve(ctx)
	if err != nil || !reserved {
		return result, err
	}
	switch {
	case s.host == nil:
		s.showElsewhere()
	case isHosted(s.cluster):
		result, err = s.installHosted(ctx)
	default:
		result, err = s.install(ctx)
	}
	return result, errors.Join(err, s.letMove(ctx))
}

// letMove lets clusterctl move the AgentMachine once it is handed over.
func (s *scope) letMove(ctx context.Context) error {
	if !s.isProvisioned() {
		return nil
	}
	return s.patch(ctx, func(m *agentv1.AgentMachine) { delete(m.Annotations, clusterctlv1.BlockMoveAnnotation) })
}

// me is the AgentMachine's name.
func (s *scope) me() types.NamespacedName { return client.ObjectKeyFromObject(s.object) }

// find reads the Machine, the Cluster and its AgentCluster, as far as they are there.
func (s *scope) find(ctx context.Context) error {
	owners, err := machines.OwnersOf(ctx, s.Client, "AgentMachine", s.object.ObjectMeta)
	s.machine, s.cluster, s.key = owners.Machine, owners.Cluster, owners.Key
	if err != nil || s.cluster == nil {
		return err
	}
	s.infra, err = agentClusterOf(ctx, s.Client, s.cluster)
	return err
}

// isOfAgents reports whether the infrastructure of a Cluster is an AgentCluster, be that there or not.
func isOfAgents(cluster *clusterv1.Cluster) bool {
	ref := cluster.Spec.InfrastructureRef
	return ref.Kind == agentv1.ClusterKind && ref.APIGroup == agentv1.Group
}

// agentClusterOf is the AgentCluster of a Cluster, nil where it has none, or that is not there.
func agentClusterOf(ctx context.Context, c client.Reader, cluster *clusterv1.Cluster) (*agentv1.AgentCluster, error) {
	if !isOfAgents(cluster) {
		return nil, nil
	}
	ref, infra := cluster.Spec.InfrastructureRef, &agentv1.AgentCluster{}
	err := c.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, infra)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read AgentCluster %s: %w", ref.Name, err)
	}
	return infra, nil
}

// patch writes a change of the AgentMachine except its status, which is kept as it is being written. It fails if
// another client has changed the object meanwhile, or what was read is out of date.
func (s *scope) patch(ctx context.Context, change func(*agentv1.AgentMachine)) error {
	changed := s.object.DeepCopy()
	change(changed)
	if equality.Semantic.DeepEqual(changed.ObjectMeta, s.object.ObjectMeta) && equality.Semantic.DeepEqual(changed.Spec, s.object.Spec) {
		return nil
	}
	if err := s.Client.Patch(ctx, changed, client.MergeFromWithOptions(s.object, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write AgentMachine %s: %w", s.object.Name, err)
	}
	s.object.ObjectMeta, s.object.Spec = changed.ObjectMeta, changed.Spec
	return nil
}

// save writes the status in one request, and none where nothing has changed.
func (s *scope) save(ctx context.Context, before *agentv1.AgentMachine) error {
	s.object.Status.Deprecated = nil
	if equality.Semantic.DeepEqual(before.Status, s.object.Status) || isGone(s.object) {
		return nil
	}
	base := s.object.DeepCopy()
	base.Status = before.Status
	if err := s.Client.Status().Patch(ctx, s.object.DeepCopy(), client.MergeFrom(base)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of AgentMachine %s: %w", s.object.Name, err)
	}
	return nil
}

// isGone reports whether nothing holds an object any more that is being deleted.
func isGone(object client.Object) bool {
	return !object.GetDeletionTimestamp().IsZero() && len(object.GetFinalizers()) == 0
}

func (s *scope) set(kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(s.object, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: rewording.Message(message)})
}
