package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Wiring says how a controller runs.
type Wiring struct {
	Options controller.Options
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that objects must have; ""
	// takes all.
	WatchFilter string
	// Woken is a source of requests for AgentMachines: those that a change of an installation is
	// mapped to (see clusterloop.Config.Wake). Nil for none.
	Woken func(requests func(ctx context.Context, cluster clusterloop.Key, scopes []model.Scope) []reconcile.Request) source.Source
	// Later is a source of requests by the objects of a kind that may be installed later, with another
	// provider. Nil for one that waits for the kind.
	Later func(of client.Object, then handler.EventHandler, predicates ...predicate.Predicate) source.Source
}

// watch is a source of requests by the objects of another provider's kind.
func (w Wiring) watch(mgr ctrl.Manager, of client.Object, then handler.EventHandler, predicates ...predicate.Predicate) source.Source {
	if w.Later != nil {
		return w.Later(of, then, predicates...)
	}
	return source.Kind(mgr.GetCache(), of, then, predicates...)
}

// SetupWithManager makes a manager run the reconciler. It starts for an AgentMachine when that, its Machine, its
// Cluster, its host or the plan for it has changed, and for those that wait for a host when one may be free.
func (r *MachineReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, w Wiring) error {
	r.watchFilter = w.WatchFilter
	log, scheme := ctrl.LoggerFrom(ctx).WithValues("controller", "agentmachine"), mgr.GetScheme()
	ofCluster, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &agentv1.AgentMachineList{}, scheme)
	if err != nil {
		return fmt.Errorf("watch the Clusters of AgentMachines: %w", err)
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("agentmachine").WithOptions(w.Options).
		For(&agentv1.AgentMachine{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(scheme, log, w.WatchFilter), notStatusAlone())).
		Watches(&clusterv1.Machine{},
			handler.EnqueueRequestsFromMapFunc(util.MachineToInfrastructureMapFunc(agentv1.GroupVersion().WithKind(agentv1.MachineKind)))).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster), builder.WithPredicates(clusterChanges())).
		Watches(&agentv1.AgentCluster{}, handler.EnqueueRequestsFromMapFunc(r.ofAgentCluster), builder.WithPredicates(agentClusterChanges())).
		WatchesRawSource(w.watch(mgr, &controlplanev1.OpenshiftAssistedControlPlane{}, handler.EnqueueRequestsFromMapFunc(r.ofControlPlane),
			predicate.GenerationChangedPredicate{}))
	if r.Pool.RecordsReservation() {
		b = b.Watches(newAgent(), handler.EnqueueRequestsFromMapFunc(r.OfAgent), builder.WithPredicates(agentChanges(r.Pool)))
	}
	b = b.Watches(&clusterv1.Cluster{}, handler.Funcs{DeleteFunc: r.forgetCluster})
	if w.Woken != nil {
		b = b.WatchesRawSource(w.Woken(r.OfInstallation))
	}
	return b.Complete(r)
}

// forgetCluster drops what is kept of a Cluster that is gone.
func (r *MachineReconciler) forgetCluster(_ context.Context, e event.DeleteEvent,
	_ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	r.workloads.Forget(client.ObjectKeyFromObject(e.Object))
}

// SetupWithManager makes a manager run the reconciler.
func (r *ClusterReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, w Wiring) error {
	r.watchFilter = w.WatchFilter
	log, scheme := ctrl.LoggerFrom(ctx).WithValues("controller", "agentcluster"), mgr.GetScheme()
	toInfra := util.ClusterToInfrastructureMapFunc(ctx, agentv1.GroupVersion().WithKind(agentv1.ClusterKind), mgr.GetClient(),
		&agentv1.AgentCluster{})
	b := ctrl.NewControllerManagedBy(mgr).Named("agentcluster").WithOptions(w.Options).
		For(&agentv1.AgentCluster{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(scheme, log, w.WatchFilter), notStatusAlone(),
			predicates.ResourceIsNotExternallyManaged(scheme, log))).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(toInfra), builder.WithPredicates(clusterChanges())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.ofMachine),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(w.watch(mgr, &controlplanev1.OpenshiftAssistedControlPlane{}, handler.EnqueueRequestsFromMapFunc(r.ofControlPlane),
			specOrAnnotations()))
	if r.Pool.RecordsReservation() {
		b = b.Watches(newAgent(), handler.EnqueueRequestsFromMapFunc(r.OfAgent), builder.WithPredicates(agentChanges(r.Pool)))
	}
	return b.Complete(r)
}

// SetupWithManager makes a manager run the reconciler. It starts for a template when that, its Cluster, the
// AgentCluster that says what the pool is, or a host has changed.
func (r *TemplateReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, w Wiring) error {
	r.watchFilter = w.WatchFilter
	log, scheme := ctrl.LoggerFrom(ctx).WithValues("controller", "agentmachinetemplate"), mgr.GetScheme()
	b := ctrl.NewControllerManagedBy(mgr).Named("agentmachinetemplate").WithOptions(w.Options).
		For(&agentv1.AgentMachineTemplate{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(scheme, log, w.WatchFilter),
			notStatusAlone())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(clusterChanges())).
		Watches(&agentv1.AgentCluster{}, handler.EnqueueRequestsFromMapFunc(r.ofAgentCluster), builder.WithPredicates(agentClusterChanges()))
	if r.Pool.RecordsReservation() {
		b = b.Watches(newAgent(), handler.EnqueueRequestsFromMapFunc(r.OfAgent), builder.WithPredicates(agentChanges(r.Pool)))
	}
	return b.Complete(r)
}

// specOrAnnotations lets changes pass of what is asked for, and of annotations.
func specOrAnnotations() predicate.Predicate {
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// notStatusAlone keeps changes of the status back, which are the reconciler's own.
func notStatusAlone() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld, e.ObjectNew
		return was.GetGeneration() != is.GetGeneration() || was.GetDeletionTimestamp().IsZero() != is.GetDeletionTimestamp().IsZero() ||
			!maps.Equal(was.GetLabels(), is.GetLabels()) || !maps.Equal(was.GetAnnotations(), is.GetAnnotations()) ||
			!slices.Equal(was.GetFinalizers(), is.GetFinalizers()) ||
			!equality.Semantic.DeepEqual(was.GetOwnerReferences(), is.GetOwnerReferences()) ||
			was.GetResourceVersion() == is.GetResourceVersion() // everything is read again
	}}
}

// clusterChanges lets changes of a Cluster pass by which it may go on.
func clusterChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*clusterv1.Cluster), e.ObjectNew.(*clusterv1.Cluster)
		return was.Generation != is.Generation || was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() ||
			ptr.Deref(was.Status.Initialization.InfrastructureProvisioned, false) != ptr.Deref(is.Status.Initialization.InfrastructureProvisioned,
				false)
	}}
}

// agentClusterChanges lets changes of an AgentCluster pass that concern its machines.
func agentClusterChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*agentv1.AgentCluster), e.ObjectNew.(*agentv1.AgentCluster)
		return was.Generation != is.Generation || was.Status.ClusterDeploymentRef != is.Status.ClusterDeploymentRef
	}}
}

// requests are those for objects, each once.
func requests(names ...types.NamespacedName) []reconcile.Request {
	seen := map[types.NamespacedName]bool{}
	var all []reconcile.Request
	for _, name := range names {
		if name.Name != "" && !seen[name] {
			seen[name] = true
			all = append(all, reconcile.Request{NamespacedName: name})
		}
	}
	return all
}
