package spoke

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// orphanTime is how long the pods of a deleted node stay.
const orphanTime = 40 * time.Second

// runPods is what kubelets do with pods that are to end, and controllers with those of
// nodes that are silent or gone. Pods are neither scheduled nor started here.
func (p *operators) runPods(ctx context.Context, w *snapshot) error {
	for i := range w.pods {
		if err := p.runPod(ctx, w, &w.pods[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *operators) runPod(ctx context.Context, w *snapshot, pod *corev1.Pod) error {
	name := pod.Spec.NodeName
	switch {
	case name == "":
		return nil
	case w.node(name) == nil:
		return p.collect(ctx, w, pod)
	}
	delete(p.missing, name)
	switch {
	case w.silent[name]:
		return p.markNotReady(ctx, w, pod)
	case pod.DeletionTimestamp != nil:
		return p.end(ctx, pod)
	}
	return nil
}

func (p *operators) collect(ctx context.Context, w *snapshot, pod *corev1.Pod) error {
	since, known := p.missing[pod.Spec.NodeName]
	if !known {
		p.missing[pod.Spec.NodeName] = w.now.Time
		return nil
	}
	if w.now.Sub(since) < orphanTime {
		return nil
	}
	return p.remove(ctx, pod)
}

// markNotReady is what is done with the pods of a silent node. Those that are to end stay until it is back or gone.
func (p *operators) markNotReady(ctx context.Context, w *snapshot, pod *corev1.Pod) error {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	pod.Status.Conditions[i].Status, pod.Status.Conditions[i].LastTransitionTime = corev1.ConditionFalse, w.now
	_, err := p.core.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return ignoreRetriable(err, "report on pod "+pod.Name)
}

// end is a kubelet that has stopped a pod's containers. A static pod, and one of a
// DaemonSet, is there again at once.
func (p *operators) end(ctx context.Context, pod *corev1.Pod) error {
	if err := p.remove(ctx, pod); err != nil {
		return err
	}
	owner := metav1.GetControllerOf(pod)
	_, static := pod.Annotations[corev1.MirrorPodAnnotationKey]
	if !static && (owner == nil || owner.Kind != "DaemonSet") {
		return nil
	}
	next := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels, Annotations: pod.Annotations, OwnerReferences: pod.OwnerReferences,
	}, Spec: pod.Spec}
	made, err := p.core.CoreV1().Pods(pod.Namespace).Create(ctx, next, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return ignoreRetriable(err, "start pod "+pod.Name+" again")
	}
	made.Status = pod.Status
	_, err = p.core.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return ignoreRetriable(err, "report on pod "+pod.Name)
}

func (p *operators) remove(ctx context.Context, pod *corev1.Pod) error {
	now := int64(0)
	err := p.core.CoreV1().Pods(pod.Namespace).Delete(
		ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID}},
	)
	return ignoreRetriable(err, "remove pod "+pod.Name)
}
