package agent

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// agentChanges lets changes of an Agent pass that matter for choosing or showing it. Its service writes to it much more
// often.
func agentChanges(of Pool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := agentOf(of, e.ObjectOld), agentOf(of, e.ObjectNew)
		return was == nil || is == nil || !pool.Same(was, is)
	}}
}

// agentOf is an Agent that is watched as a host; nil for what cannot be read.
func agentOf(of Pool, object client.Object) *pool.Host {
	u, is := object.(*unstructured.Unstructured)
	hub, onHub := of.(*HubPool)
	if !is || !onHub {
		return nil
	}
	host, err := hub.hostOf(u)
	if err != nil {
		return nil
	}
	return &host
}

// list reads a list from the cache, to find the objects that a change concerns. An error is only logged: an object that
// is not reconciled now is reconciled after the next change.
func list[L client.ObjectList](ctx context.Context, c client.Reader, into L, options ...client.ListOption) L {
	if err := c.List(ctx, into, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the objects that a change affects")
	}
	return into
}

// OfAgent are the AgentMachines that an Agent concerns: the one that has it, and, where it is free or carries a name,
// those that have none yet. An Agent of another owner concerns no AgentMachine.
func (r *MachineReconciler) OfAgent(ctx context.Context, object client.Object) []reconcile.Request {
	host := agentOf(r.Pool, object)
	if host == nil {
		return nil
	}
	all := list(ctx, r.Client, &agentv1.AgentMachineList{}, client.InNamespace(r.Namespace))
	var concerned []types.NamespacedName
	for i := range all.Items {
		m := &all.Items[i]
		name, has := client.ObjectKeyFromObject(m), hostOf(m)
		switch {
		case has == host.NamespacedName:
			concerned = append(concerned, name)
		case has.Name == "" && (host.Free() || host.IsOwnedBy(name)):
			concerned = append(concerned, name)
		}
	}
	return requests(concerned...)
}

// OfInstallation are the AgentMachines whose hosts or nodes a change of an installation concerns.
func (r *MachineReconciler) OfInstallation(ctx context.Context, cluster clusterloop.Key, scopes []model.Scope) []reconcile.Request {
	var concerned []types.NamespacedName
	for _, scope := range scopes {
		if scope == model.ScopeState {
			return r.ofCluster(ctx, cluster)
		}
		name := scope.Host()
		if name == "" {
			continue
		}
		machine := &clusterv1.Machine{}
		if err := r.Client.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: name}, machine); err != nil {
			continue // gone, or no Machine's name: its deletion wakes by itself
		}
		if ref := machine.Spec.InfrastructureRef; ref.Kind == agentv1.MachineKind && ref.APIGroup == agentv1.Group {
			concerned = append(concerned, types.NamespacedName{Namespace: machine.Namespace, Name: ref.Name})
		}
	}
	return requests(concerned...)
}

// ofAgentCluster are the AgentMachines of the Cluster of an AgentCluster.
func (r *MachineReconciler) ofAgentCluster(ctx context.Context, infra client.Object) []reconcile.Request {
	var concerned []reconcile.Request
	for _, c := range clustersOn(ctx, r.Client, infra) {
		concerned = append(concerned, r.ofCluster(ctx, client.ObjectKeyFromObject(c))...)
	}
	return concerned
}

// ofCluster are the AgentMachines of a Cluster.
func (r *MachineReconciler) ofCluster(ctx context.Context, cluster clusterloop.Key) []reconcile.Request {
	all := list(ctx, r.Client, &agentv1.AgentMachineList{}, client.InNamespace(cluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name})
	var concerned []types.NamespacedName
	for i := range all.Items {
		concerned = append(concerned, client.ObjectKeyFromObject(&all.Items[i]))
	}
	return requests(concerned...)
}

// clustersOf are the Clusters of a control plane.
func clustersOf(ctx context.Context, reader client.Reader, controlPlane client.Object) []*clusterv1.Cluster {
	return clusters(ctx, reader, controlPlane.GetNamespace(), func(c *clusterv1.Cluster) bool {
		return isAssisted(c) && c.Spec.ControlPlaneRef.Name == controlPlane.GetName()
	})
}

// clustersOn are the Clusters whose infrastructure is an AgentCluster. Its owner says so only later.
func clustersOn(ctx context.Context, reader client.Reader, infra client.Object) []*clusterv1.Cluster {
	return clusters(ctx, reader, infra.GetNamespace(), func(c *clusterv1.Cluster) bool {
		return isOfAgents(c) && c.Spec.InfrastructureRef.Name == infra.GetName()
	})
}

// clusters are those of a namespace that are meant.
func clusters(ctx context.Context, reader client.Reader, namespace string, meant func(*clusterv1.Cluster) bool) []*clusterv1.Cluster {
	all := list(ctx, reader, &clusterv1.ClusterList{}, client.InNamespace(namespace))
	var of []*clusterv1.Cluster
	for i := range all.Items {
		if c := &all.Items[i]; meant(c) {
			of = append(of, c)
		}
	}
	return of
}

// ofControlPlane are the AgentMachines of a control plane's Cluster that have no host yet: it says what hosts have to be.
func (r *MachineReconciler) ofControlPlane(ctx context.Context, controlPlane client.Object) []reconcile.Request {
	var concerned []types.NamespacedName
	for _, c := range clustersOf(ctx, r.Client, controlPlane) {
		all := list(ctx, r.Client, &agentv1.AgentMachineList{}, client.InNamespace(c.Namespace),
			client.MatchingLabels{clusterv1.ClusterNameLabel: c.Name})
		for i := range all.Items {
			if m := &all.Items[i]; hostOf(m).Name == "" {
				concerned = append(concerned, client.ObjectKeyFromObject(m))
			}
		}
	}
	return requests(concerned...)
}

// ofControlPlane is the AgentCluster of the Cluster of a control plane.
func (r *ClusterReconciler) ofControlPlane(ctx context.Context, controlPlane client.Object) []reconcile.Request {
	var concerned []types.NamespacedName
	for _, c := range clustersOf(ctx, r.Client, controlPlane) {
		if isOfAgents(c) {
			concerned = append(concerned, types.NamespacedName{Namespace: c.Namespace, Name: c.Spec.InfrastructureRef.Name})
		}
	}
	return requests(concerned...)
}

// ofMachine is the AgentCluster of the Cluster of a Machine that is in a failure domain.
func (r *ClusterReconciler) ofMachine(ctx context.Context, object client.Object) []reconcile.Request {
	machine, cluster := object.(*clusterv1.Machine), &clusterv1.Cluster{}
	if machine.Spec.FailureDomain == "" {
		return nil
	}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.ClusterName}, cluster); err != nil ||
		!isOfAgents(cluster) {
		return nil // a Cluster that comes later wakes by itself
	}
	return requests(types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name})
}

// OfAgent are the AgentClusters whose failure domains an Agent may be of.
func (r *ClusterReconciler) OfAgent(ctx context.Context, _ client.Object) []reconcile.Request {
	all := list(ctx, r.Client, &agentv1.AgentClusterList{})
	var concerned []types.NamespacedName
	for i := range all.Items {
		if len(all.Items[i].Spec.FailureDomains) > 0 {
			concerned = append(concerned, client.ObjectKeyFromObject(&all.Items[i]))
		}
	}
	return requests(concerned...)
}

// OfAgent are the templates that an Agent may fit: all.
func (r *TemplateReconciler) OfAgent(ctx context.Context, _ client.Object) []reconcile.Request {
	all := list(ctx, r.Client, &agentv1.AgentMachineTemplateList{})
	var concerned []types.NamespacedName
	for i := range all.Items {
		concerned = append(concerned, client.ObjectKeyFromObject(&all.Items[i]))
	}
	return requests(concerned...)
}

// ofCluster are the templates that a Cluster uses.
func (r *TemplateReconciler) ofCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	all := list(ctx, r.Client, &agentv1.AgentMachineTemplateList{}, client.InNamespace(cluster.GetNamespace()))
	var concerned []types.NamespacedName
	for i := range all.Items {
		if isUsedBy(&all.Items[i], cluster.GetName()) {
			concerned = append(concerned, client.ObjectKeyFromObject(&all.Items[i]))
		}
	}
	return requests(concerned...)
}

// isUsedBy reports whether a template says of itself that it is of a Cluster.
func isUsedBy(template *agentv1.AgentMachineTemplate, cluster string) bool {
	return template.Labels[clusterv1.ClusterNameLabel] == cluster ||
		slices.ContainsFunc(template.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == clusterv1.ClusterKind &&
				o.Name == cluster
		})
}

// ofAgentCluster are the templates of the Clusters of an AgentCluster.
func (r *TemplateReconciler) ofAgentCluster(ctx context.Context, infra client.Object) []reconcile.Request {
	var concerned []reconcile.Request
	for _, c := range clustersOn(ctx, r.Client, infra) {
		concerned = append(concerned, r.ofCluster(ctx, c)...)
	}
	return concerned
}
