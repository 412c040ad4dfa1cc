//go:build e2e

package spoke_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

func (st *stage) members() map[string]string {
	st.t.Helper()
	c, err := st.core.CoreV1().ConfigMaps("openshift-etcd").Get(st.t.Context(), "etcd-endpoints", metav1.GetOptions{})
	if err != nil {
		st.t.Fatal(err)
	}
	return c.Data
}

func (st *stage) memberAt(address string) bool {
	st.t.Helper()
	for _, at := range st.members() {
		if at == address {
			return true
		}
	}
	return false
}

// TestControlPlaneReplaced is what replacing a dead control plane node looks like from
// etcd: its member is unhealthy, goes when a person removes it, and the new node's comes.
func TestControlPlaneReplaced(t *testing.T) {
	st := play(t, nil)
	const available = "EtcdMembersAvailable"
	st.awaitCondition(etcds, "cluster", available, "True", "3 members are available")
	st.PowerOff("cp-1")
	st.awaitCondition(etcds, "cluster", available, "True", "2 of 3 members are available, cp-1 is unhealthy")
	st.awaitCondition(etcds, "cluster", "EtcdMembersDegraded", "True", "2 of 3 members are available, cp-1 is unhealthy")
	st.awaitCondition(operators, "etcd", "Degraded", "True", "EtcdMembersDegraded: 2 of 3 members are available, cp-1 is unhealthy")
	if err := st.core.CoreV1().Nodes().Delete(t.Context(), "cp-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	st.sleep(20 * time.Minute)
	if !st.memberAt("192.168.127.11") {
		t.Fatal("the member went by itself, without the Machine API")
	}
	if was, err := st.RemoveMember(t.Context(), "cp-1"); err != nil || !was {
		t.Fatalf("removing the member: %t, %v", was, err)
	}
	if was, err := st.RemoveMember(t.Context(), "cp-1"); err != nil || was {
		t.Fatalf("removing it again: %t, %v", was, err)
	}
	st.awaitCondition(etcds, "cluster", available, "True", "2 members are available")

	m := machine("cp-3", "192.168.127.13")
	m.Role = spoke.RoleControlPlane
	st.joined(m)
	if n := st.node("cp-3"); n.Labels["node-role.kubernetes.io/master"] != "" || !tainted(n, "node-role.kubernetes.io/master") {
		t.Errorf("the new node has %v, %v", n.Labels, n.Spec.Taints)
	}
	st.awaitCondition(etcds, "cluster", "EtcdMembersProgressing", "True", "2 of 3 members are available, 192.168.127.13 has not started")
	st.awaitCondition(etcds, "cluster", available, "True", "3 members are available")
	if !st.memberAt("192.168.127.13") || st.memberAt("192.168.127.11") {
		t.Errorf("the members are %v", st.members())
	}
	if _, err := st.core.CoreV1().Secrets("openshift-etcd").Get(t.Context(), "etcd-peer-cp-3", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	// The objects of the dead member stay until they are removed.
	if _, err := st.core.CoreV1().Secrets("openshift-etcd").Get(t.Context(), "etcd-peer-cp-1", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	st.eventually("the pod of its member", func(ctx context.Context) (bool, error) {
		pod, err := st.core.CoreV1().Pods("openshift-etcd").Get(ctx, "etcd-cp-3", metav1.GetOptions{})
		return err == nil && len(pod.Status.Conditions) == 1 && pod.Status.Conditions[0].Status == corev1.ConditionTrue, nil
	})
}

// TestQuorumLost says so when most members are gone.
func TestQuorumLost(t *testing.T) {
	st := play(t, nil)
	st.PowerOff("cp-1")
	st.PowerOff("cp-2")
	st.awaitCondition(etcds, "cluster", "EtcdMembersAvailable", "False", "1 of 3 members are available, cp-1 is unhealthy, cp-2 is unhealthy")
}
