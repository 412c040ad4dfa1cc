//go:build e2e

package spoke_test

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func tainted(n *corev1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// TestSilentNodes shows machines that are switched off as nodes with unknown conditions, those that
// have joined and those of the installation, and has one that has joined come back.
func TestSilentNodes(t *testing.T) {
	st := play(t, nil)
	m := machine("worker-0", "192.168.127.50")
	off := st.joined(m)
	st.eventually("no taints", func(context.Context) (bool, error) {
		return !tainted(st.node("worker-0"), corev1.TaintNodeNotReady), nil
	})
	off()
	st.PowerOff("cp-1")
	for _, name := range []string{"worker-0", "cp-1"} {
		c := st.awaitReady(name, corev1.ConditionUnknown)
		if c.Reason != "NodeStatusUnknown" || c.Message != "Kubelet stopped posting node status." {
			t.Errorf("%s is %s: %s", name, c.Reason, c.Message)
		}
		st.eventually("the taint of "+name, func(context.Context) (bool, error) { return tainted(st.node(name), corev1.TaintNodeUnreachable), nil })
	}
	if c := st.readiness("cp-0"); c.Status != corev1.ConditionTrue {
		t.Errorf("cp-0 is %v, too", c)
	}
	st.join(m)
	st.awaitReady("worker-0", corev1.ConditionTrue)
	st.eventually("no taint of worker-0", func(context.Context) (bool, error) {
		return !tainted(st.node("worker-0"), corev1.TaintNodeUnreachable), nil
	})
}
