package agent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TemplateReconciler reconciles AgentMachineTemplates: each shows the cluster autoscaler what a node of it would be
// like.
type TemplateReconciler struct {
	Client client.Client
	Pool   Pool

	watchFilter string
}

// Reasons of PoolObserved.
const (
	reasonObserved   = agentv1.PoolObservedCondition
	reasonUnobserved = "PoolNotObserved"
)

// Reconcile brings the status of one template to what the pool is now.
func (r *TemplateReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	template := &agentv1.AgentMachineTemplate{}
	if err := r.Client.Get(ctx, request.NamespacedName, template); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !template.DeletionTimestamp.IsZero() || !machines.IsWatched(template, r.watchFilter) {
		return ctrl.Result{}, nil
	}
	cluster, err := r.clusterOf(ctx, template)
	if err != nil {
		return ctrl.Result{}, err
	}
	if machines.IsPaused(cluster, template) {
		return ctrl.Result{}, machines.Pause(ctx, r.Client, cluster, template)
	}
	before := template.DeepCopy()
	conditions.Set(template, metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse,
		Reason: clusterv1.NotPausedReason})
	result, err := r.observe(ctx, cluster, template)
	if err != nil {
		return ctrl.Result{}, err
	}
	if equality.Semantic.DeepEqual(before.Status, template.Status) {
		return result, nil
	}
	if err := r.Client.Status().Patch(ctx, template, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("write the status of AgentMachineTemplate %s: %w", template.Name, err)
	}
	return result, nil
}

// clusterOf is the Cluster that a template is used by; nil where that is not known.
func (r *TemplateReconciler) clusterOf(ctx context.Context, template *agentv1.AgentMachineTemplate) (*clusterv1.Cluster, error) {
	if name := template.Labels[clusterv1.ClusterNameLabel]; name != "" {
		cluster := &clusterv1.Cluster{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: template.Namespace, Name: name}, cluster)
		if err == nil {
			return cluster, nil
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read Cluster %s: %w", name, err)
		}
	}
	return machines.ClusterOwning(ctx, r.Client, "AgentMachineTemplate", template.ObjectMeta)
}

func (r *TemplateReconciler) observe(ctx context.Context, cluster *clusterv1.Cluster,
	template *agentv1.AgentMachineTemplate) (ctrl.Result, error) {
	var infra *agentv1.AgentCluster
	if cluster != nil {
		var err error
		if infra, err = agentClusterOf(ctx, r.Client, cluster); err != nil {
			return ctrl.Result{}, err
		}
	}
	set := func(status metav1.ConditionStatus, reason, message string) {
		conditions.Set(template, metav1.Condition{Type: agentv1.PoolObservedCondition, Status: status, Reason: reason,
			Message: rewording.Message(message)})
	}
	if cluster != nil && infra == nil && isOfAgents(cluster) { // without it every host would be of the pool
		set(metav1.ConditionFalse, reasonWaitingForCluster, "waiting for AgentCluster "+cluster.Spec.InfrastructureRef.Name+
			", which names the pool")
		return ctrl.Result{}, nil // it wakes
	}
	var again ctrl.Result
	if !r.Pool.RecordsReservation() { // no watch reports that a host has come
		again.RequeueAfter = waitsInPool
	}
	wishes, err := wishesOf(&template.Spec.Template.Spec)
	if err != nil {
		set(metav1.ConditionFalse, reasonInvalid, err.Error())
		return ctrl.Result{}, nil
	}
	hosts, err := r.Pool.Hosts(ctx, template.Namespace, infra)
	if err != nil {
		set(metav1.ConditionFalse, reasonUnobserved, rewording.Error(err))
		again.RequeueAfter = waitsInPool
		return again, nil
	}
	pool.Assign(hosts, domainsOf(infra))
	wishes.Demand(false)
	smallest, free := pool.Capacity(hosts, wishes)
	status := &template.Status
	status.FreeAgents = ptr.To(int32(free)) //nolint:gosec // no pool has billions of hosts
	if smallest == nil {
		status.Capacity, status.NodeInfo = nil, agentv1.NodeInfo{}
		set(metav1.ConditionTrue, reasonObserved, "none of "+listtext.CountText(len(hosts), r.Pool.HostKind())+" fits")
		return again, nil
	}
	status.Capacity = capacityOf(smallest)
	status.NodeInfo = agentv1.NodeInfo{Architecture: architecture(smallest.Arch), OperatingSystem: "linux"}
	set(metav1.ConditionTrue, reasonObserved, "")
	return again, nil
}

// capacityOf is what a node of a host has.
func capacityOf(h *pool.Host) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(h.CPUs), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(h.MemoryBytes, resource.BinarySI),
	}
	if h.DiskBytes > 0 {
		list[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(h.DiskBytes, resource.DecimalSI)
	}
	return list
}

// architecture is the word of Kubernetes for an architecture, "" if it has none.
func architecture(arch spec.Arch) string {
	switch arch {
	case spec.X86:
		return "amd64"
	case spec.ARM:
		return "arm64"
	case spec.Power, spec.Z:
		return string(arch)
	}
	return ""
}
