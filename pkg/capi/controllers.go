package capi

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent"
	"github.com/oaictl/oaictl/pkg/capi/internal/bootstrap"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/capi/internal/versions"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// woken is a Cluster with an installation in which something has changed.
type woken struct {
	cluster clusterloop.Key
	scopes  []model.Scope
}

// wakes hand out to controllers what concerns them.
type wakes struct {
	listeners []chan event.TypedGenericEvent[woken]
}

func newWakes() *wakes { return &wakes{} }

// wakesKept is how many changes a controller may be behind. After that, the sender waits for the controller.
const wakesKept = 1024

// wake is called by the loops of installations, which begin once all controllers listen.
func (w *wakes) wake(cluster clusterloop.Key, scopes []model.Scope) {
	for _, listener := range w.listeners {
		listener <- event.TypedGenericEvent[woken]{Object: woken{cluster, scopes}}
	}
}

// source is a source of requests: those that a change is mapped to.
func (w *wakes) source(requests func(context.Context, woken) []reconcile.Request) source.Source {
	listener := make(chan event.TypedGenericEvent[woken], wakesKept)
	w.listeners = append(w.listeners, listener)
	return source.Channel(listener, handler.TypedFuncs[woken, reconcile.Request]{
		GenericFunc: func(ctx context.Context, e event.TypedGenericEvent[woken], queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			for _, request := range requests(ctx, e.Object) {
				queue.Add(request)
			}
		},
	})
}

func (c *controllerManager) controller(name string, of client.Object) *builder.Builder {
	log := c.GetLogger().WithValues("controller", name)
	return ctrl.NewControllerManagedBy(c.Manager).Named(name).For(of).
		WithEventFilter(predicates.ResourceHasFilterLabel(c.GetScheme(), log, c.options.WatchFilter))
}

// events records the events of a controller.
func (c *controllerManager) events(controller string) events.EventRecorder {
	return rewording.Recorder{EventRecorder: c.GetEventRecorder(controller)}
}

func (c *controllerManager) controlPlane() *controlplane.Reconciler {
	return &controlplane.Reconciler{
		Client: c.GetClient(), Live: c.GetAPIReader(), Installations: c.installations, Clock: c.options.Clock,
		Recorder: c.events("openshiftassistedcontrolplane-controller"), Answers: controlplane.NewReadyCheck(c.source.Connector),
		OnHub: c.options.Service == nil, Keys: c.source.Keys,
		Workloads: c.workloads, Status: status.New(c.options.Clock), Versions: &versions.Mapping{Clock: c.options.Clock},
		ReadRelease: c.releases.payloadOf, WatchFilter: c.options.WatchFilter,
	}
}

func (c *controllerManager) setUpControlPlane(context.Context) error {
	if err := c.updateInPlace(); err != nil {
		return err
	}
	return c.controller("openshiftassistedcontrolplane", &controlplanev1.OpenshiftAssistedControlPlane{}).
		Owns(&clusterv1.Machine{}).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			cluster, is := o.(*clusterv1.Cluster)
			if !is || cluster.Spec.ControlPlaneRef.Kind != "OpenshiftAssistedControlPlane" {
				return nil
			}
			return request(cluster.Namespace, cluster.Spec.ControlPlaneRef.Name)
		})).
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(c.controlPlaneOf)).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(c.controlPlaneOf), builder.WithPredicates(otherKubelet())).
		WatchesRawSource(c.later(&bootstrapv1.OpenshiftAssistedConfig{}, handler.EnqueueRequestsFromMapFunc(c.controlPlaneOf),
			predicates.ResourceIsChanged(c.GetScheme(), c.GetLogger()))).
		WatchesRawSource(c.wakes.source(func(ctx context.Context, w woken) []reconcile.Request {
			if !slices.Contains(w.scopes, model.ScopeCluster) && !slices.Contains(w.scopes, model.ScopeState) {
				return nil
			}
			return c.controlPlaneFor(ctx, w.cluster)
		})).
		Complete(c.controlPlane())
}

// otherKubelet lets changes of Machines through that report another version of their kubelet.
func otherKubelet() predicate.Predicate {
	version := func(o client.Object) string {
		if m, is := o.(*clusterv1.Machine); is && m.Status.NodeInfo != nil {
			return m.Status.NodeInfo.KubeletVersion
		}
		return ""
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return version(e.ObjectOld) != version(e.ObjectNew) },
	}
}

// controlPlaneOf is the control plane of the Cluster that an object belongs to by its label.
func (c *controllerManager) controlPlaneOf(ctx context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil
	}
	return c.controlPlaneFor(ctx, clusterloop.Key{Namespace: o.GetNamespace(), Name: name})
}

func (c *controllerManager) controlPlaneFor(ctx context.Context, key clusterloop.Key) []reconcile.Request {
	cluster := &clusterv1.Cluster{}
	if c.GetClient().Get(ctx, key, cluster) != nil || cluster.Spec.ControlPlaneRef.Kind != "OpenshiftAssistedControlPlane" {
		return nil // there is no control plane of this kind to wake
	}
	return request(key.Namespace, cluster.Spec.ControlPlaneRef.Name)
}

func request(namespace, name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

func (c *controllerManager) bootstrap() *bootstrap.Reconciler {
	return &bootstrap.Reconciler{
		Client: c.GetClient(), Live: c.GetAPIReader(), Installations: c.installations, OnHub: c.options.Service == nil,
		Recorder: c.events("openshiftassistedconfig-controller"),
		Clock:    c.options.Clock, Status: status.New(c.options.Clock), Media: c.media, WatchFilter: c.options.WatchFilter,
	}
}

func (c *controllerManager) setUpBootstrap(context.Context) error {
	if c.media != nil {
		if err := c.Add(c.media); err != nil {
			return err
		}
	}
	return c.controller("openshiftassistedconfig", &bootstrapv1.OpenshiftAssistedConfig{}).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			machine, is := o.(*clusterv1.Machine)
			if !is {
				return nil
			}
			return configOf(machine)
		})).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return c.configsOf(ctx, client.ObjectKeyFromObject(o))
		}), builder.WithPredicates(predicates.ClusterPausedTransitionsOrInfrastructureProvisioned(c.GetScheme(), c.GetLogger()))).
		WatchesRawSource(c.wakes.source(c.configsWoken)).
		Complete(c.bootstrap())
}

func configOf(machine *clusterv1.Machine) []reconcile.Request {
	ref := machine.Spec.Bootstrap.ConfigRef
	if ref.Kind != bootstrapv1.ConfigKind || ref.APIGroup != bootstrapv1.Group {
		return nil
	}
	return request(machine.Namespace, ref.Name)
}

func (c *controllerManager) configsOf(ctx context.Context, cluster clusterloop.Key) []reconcile.Request {
	list := &clusterv1.MachineList{}
	if c.GetClient().List(ctx, list, client.InNamespace(cluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}) != nil {
		return nil // the cache is closed
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, configOf(&list.Items[i])...)
	}
	return requests
}

// configsWoken are the configs of the Machines that a change concerns: all where the cluster itself has
// come or gone.
func (c *controllerManager) configsWoken(ctx context.Context, w woken) []reconcile.Request {
	var requests []reconcile.Request
	for _, scope := range w.scopes {
		kind, name, _ := strings.Cut(string(scope), "/")
		switch kind {
		case "infraenv":
			requests = append(requests, request(w.cluster.Namespace, name)...)
		case "host", "node":
			machine := &clusterv1.Machine{}
			if c.GetClient().Get(ctx, client.ObjectKey{Namespace: w.cluster.Namespace, Name: name}, machine) == nil {
				requests = append(requests, configOf(machine)...)
			}
		case string(model.ScopeState):
			return c.configsOf(ctx, w.cluster)
		}
	}
	return requests
}

// setUpInfrastructure adds the controllers of what takes machines out of a pool.
func (c *controllerManager) setUpInfrastructure(ctx context.Context) error {
	var hosts agent.Pool = &agent.HubPool{
		Client: c.GetClient(), Live: c.GetAPIReader(), Clock: c.options.Clock, Namespace: c.options.AgentNamespace,
	}
	if c.options.Service != nil {
		hosts = &agent.ServicePool{Service: c.installations.Service, Pools: c.options.Pools}
	}
	wiring := agent.Wiring{
		WatchFilter: c.options.WatchFilter, Later: c.later,
		Woken: func(requests func(context.Context, clusterloop.Key, []model.Scope) []reconcile.Request) source.Source {
			return c.wakes.source(func(ctx context.Context, w woken) []reconcile.Request { return requests(ctx, w.cluster, w.scopes) })
		},
	}
	machines := &agent.MachineReconciler{
		Client: c.GetClient(), Live: c.GetAPIReader(), Pool: hosts, Installations: c.installations, Source: c.source,
		Recorder: c.events("agentmachine-controller"), Namespace: c.options.Namespace, Connector: c.source.Connector,
	}
	clusters := &agent.ClusterReconciler{
		Client: c.GetClient(), Live: c.GetAPIReader(), Pool: hosts, Recorder: c.events("agentcluster-controller"), Installations: c.installations,
	}
	templates := &agent.TemplateReconciler{Client: c.GetClient(), Pool: hosts}
	return errors.Join(machines.SetupWithManager(ctx, c.Manager, wiring), clusters.SetupWithManager(ctx, c.Manager, wiring),
		templates.SetupWithManager(ctx, c.Manager, wiring))
}
