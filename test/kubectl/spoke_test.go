//go:build e2e

package kubectl

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

// TestInstalledCluster looks at a simulated cluster with the real kubectl, drains its nodes
// by it, and finds that a second process may play it no less than the first.
func TestInstalledCluster(t *testing.T) {
	d := newDesk(t)
	file := d.example(t, "ha-workers", "edge")
	arguments := []string{"-f", file, "--without", "worker-1", "--speed", "120", "--cluster-id", "11111111-2222-3333-4444-555555555555"}
	for _, round := range []string{"first", "again"} {
		t.Run(round, func(t *testing.T) {
			check.Equal(t, d.simulate(t, "spoke", arguments...), "11111111-2222-3333-4444-555555555555", "the cluster's id is")
			nodes := d.must(t, "", "get", "nodes", "--no-headers")
			for _, name := range []string{"cp-0", "cp-1", "cp-2", "worker-0"} {
				if !strings.Contains(nodes, name+" ") {
					t.Errorf("no %s in\n%s", name, nodes)
				}
			}
			if strings.Contains(nodes, "worker-1") || strings.Contains(nodes, "NotReady") {
				t.Errorf("nodes:\n%s", nodes)
			}
			d.must(t, "", "wait", "--for=condition=Available", "clusteroperator", "--all", "--timeout=30s")
			drains(t, d)
		})
	}
}

// drains drains two nodes of the control plane at once: the quorum's guards let one of them go.
func drains(t *testing.T, d *desk) {
	t.Helper()
	d.must(t, "", "wait", "--for=jsonpath={.status.disruptionsAllowed}=1", "-n", "openshift-etcd", "pdb/etcd-guard-pdb", "--timeout=30s")
	d.must(t, "", "run", "web", "--image=web", `--overrides={"spec":{"nodeName":"worker-0"}}`)
	d.must(t, "", "drain", "worker-0", "--force", "--ignore-daemonsets", "--timeout=30s")
	d.must(t, "", "drain", "cp-0", "--force", "--ignore-daemonsets", "--timeout=30s")
	held := d.kubectl(t, "", "drain", "cp-1", "--force", "--ignore-daemonsets", "--timeout=6s")
	if held.code == 0 || !strings.Contains(held.errors, "violate the pod's disruption budget") {
		t.Errorf("the second node: %d, %s", held.code, held.errors)
	}
	d.must(t, "", "uncordon", "cp-0", "cp-1", "worker-0")
}
