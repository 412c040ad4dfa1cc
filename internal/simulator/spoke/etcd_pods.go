package spoke

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const guardBudget = "etcd-guard-pdb"

// keepEtcdPods keeps on each control plane node its static pod of etcd and a guard, which is
// ready where its member runs.
func (p *operators) keepEtcdPods(ctx context.Context, w *snapshot, endpoints map[string]string) error {
	for _, n := range controlPlaneOf(w) {
		if readyOf(n) != corev1.ConditionTrue {
			continue
		}
		_, member := endpoints[memberID(n.Name)]
		static := etcdPod("etcd-"+n.Name, n.Name, map[string]string{"app": "etcd", "etcd": "true", "k8s-app": "etcd"})
		static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: digest(n.Name), "kubernetes.io/config.source": "file"}
		static.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID, Controller: new(true)}}
		if err := p.startPod(ctx, w, static, member); err != nil {
			return err
		}
		if n.Spec.Unschedulable {
			continue // a guard that was evicted comes back with the node
		}
		if err := p.startPod(ctx, w, etcdPod("etcd-guard-"+n.Name, n.Name, map[string]string{"app": "guard"}), member); err != nil {
			return err
		}
	}
	return nil
}

// keepBudget has the guards' budget let go of one of them.
func (p *operators) keepBudget(ctx context.Context, nodes int) error {
	budgets := p.core.PolicyV1().PodDisruptionBudgets(nsEtcd)
	atLeast := intstr.FromInt32(int32(max(nodes-1, 0)))
	budget, err := budgets.Get(ctx, guardBudget, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = budgets.Create(ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: guardBudget},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MinAvailable: &atLeast, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "guard"}},
			},
		}, metav1.CreateOptions{})
	case err == nil && (budget.Spec.MinAvailable == nil || *budget.Spec.MinAvailable != atLeast):
		budget.Spec.MinAvailable = &atLeast
		_, err = budgets.Update(ctx, budget, metav1.UpdateOptions{})
	}
	return ignoreRetriable(err, "write the guards' budget")
}

// etcdPod is a pod that tolerates everything on its node. A guard has no owner.
func etcdPod(name, node string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: nsEtcd, Name: name, Labels: maps.Clone(labels)},
		Spec: corev1.PodSpec{
			NodeName: node, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, TerminationGracePeriodSeconds: new(int64(3)),
			Containers: []corev1.Container{{Name: labels["app"], Image: "quay.io/openshift-release-dev/ocp-v4.0-art-dev"}},
		},
	}
}

// startPod makes a pod that is not there, and keeps it ready or not.
func (p *operators) startPod(ctx context.Context, w *snapshot, pod *corev1.Pod, isReady bool) error {
	pods := p.core.CoreV1().Pods(pod.Namespace)
	at := slices.IndexFunc(w.pods, func(o corev1.Pod) bool { return o.Namespace == pod.Namespace && o.Name == pod.Name })
	var there *corev1.Pod
	if at >= 0 {
		there = &w.pods[at]
	} else {
		var err error
		if there, err = pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return ignoreRetriable(err, "start pod "+pod.Name)
		}
	}
	status := corev1.ConditionFalse
	if isReady {
		status = corev1.ConditionTrue
	}
	if len(there.Status.Conditions) == 1 && there.Status.Conditions[0].Status == status || there.DeletionTimestamp != nil {
		return nil
	}
	there.Status.Phase = corev1.PodRunning
	there.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: w.now}}
	_, err := pods.UpdateStatus(ctx, there, metav1.UpdateOptions{})
	return ignoreRetriable(err, "report on pod "+pod.Name)
}
