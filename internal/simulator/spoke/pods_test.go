//go:build e2e

package spoke_test

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pod makes a pod that runs on a node.
func (st *stage) pod(name, node string, change func(*corev1.Pod)) {
	st.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
	}
	if change != nil {
		change(pod)
	}
	made, err := st.core.CoreV1().Pods("default").Create(st.t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		st.t.Fatal(err)
	}
	made.Status.Phase = corev1.PodRunning
	made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := st.core.CoreV1().Pods("default").UpdateStatus(st.t.Context(), made, metav1.UpdateOptions{}); err != nil {
		st.t.Fatal(err)
	}
}

// uid is a pod's; "" without it.
func (st *stage) uid(name string) types.UID {
	st.t.Helper()
	pod, err := st.core.CoreV1().Pods("default").Get(st.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		st.t.Fatal(err)
	}
	return pod.UID
}

func (st *stage) deletePod(name string) {
	st.t.Helper()
	if err := st.core.CoreV1().Pods("default").Delete(st.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		st.t.Fatal(err)
	}
}

// daemonSet makes a DaemonSet without a controller, until the test's end: pods without their owner would be collected.
func (st *stage) daemonSet(name string) types.UID {
	st.t.Helper()
	labels := map[string]string{"app": name}
	sets := st.core.AppsV1().DaemonSets("default")
	made, err := sets.Create(st.t.Context(), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		st.t.Fatal(err)
	}
	st.t.Cleanup(func() { _ = sets.Delete(context.WithoutCancel(st.t.Context()), name, metav1.DeleteOptions{}) })
	return made.UID
}

// TestPodsEnd plays what a drain waits for: pods that are to end do, on nodes that run.
func TestPodsEnd(t *testing.T) {
	st := play(t, nil)
	owner := st.daemonSet("d")
	st.pod("app", "cp-0", nil)
	st.pod("daemon", "cp-0", func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: owner, Controller: new(true)}}
	})
	st.pod("static", "cp-0", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} })
	before := map[string]types.UID{}
	for _, name := range []string{"app", "daemon", "static"} {
		before[name] = st.uid(name)
		st.deletePod(name)
	}
	st.eventually("the pod's end", func(context.Context) (bool, error) { return st.uid("app") == "", nil })
	for _, name := range []string{"daemon", "static"} {
		st.eventually(name+" to be back", func(context.Context) (bool, error) {
			now := st.uid(name)
			return now != "" && now != before[name], nil
		})
	}
	// Without a kubelet it stays until its node is gone.
	st.pod("stuck", "cp-1", nil)
	st.PowerOff("cp-1")
	st.awaitReady("cp-1", corev1.ConditionUnknown)
	st.deletePod("stuck")
	st.sleep(5 * time.Minute)
	if st.uid("stuck") == "" {
		t.Fatal("a pod ended on a machine that is off")
	}
	if err := st.core.CoreV1().Nodes().Delete(t.Context(), "cp-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	st.eventually("the orphan's end", func(context.Context) (bool, error) { return st.uid("stuck") == "", nil })
}

// TestGuards lets one of the quorum's guards be evicted, and no second one.
func TestGuards(t *testing.T) {
	st := play(t, nil)
	evict := func(name string) error {
		return st.core.PolicyV1().Evictions("openshift-etcd").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-etcd", Name: name}})
	}
	st.eventually("the guards' budget", func(ctx context.Context) (bool, error) {
		b, err := st.core.PolicyV1().PodDisruptionBudgets("openshift-etcd").Get(ctx, "etcd-guard-pdb", metav1.GetOptions{})
		return err == nil && b.Status.DisruptionsAllowed == 1, nil
	})
	cordon := st.node("cp-0")
	cordon.Spec.Unschedulable = true
	if _, err := st.core.CoreV1().Nodes().Update(t.Context(), cordon, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := evict("etcd-guard-cp-0"); err != nil {
		t.Fatal(err)
	}
	if err := evict("etcd-guard-cp-1"); !apierrors.IsTooManyRequests(err) {
		t.Errorf("the second eviction: %v", err)
	}
	st.sleep(5 * time.Minute)
	if _, err := st.core.CoreV1().Pods("openshift-etcd").Get(t.Context(), "etcd-guard-cp-0", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the guard of a cordoned node is back (%v)", err)
	}
}
