//go:build e2e

package spoke_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

const mco = "machineconfiguration.openshift.io/"

func (st *stage) config(node string) (current, desired, state string) {
	st.t.Helper()
	n := st.node(node)
	if n == nil {
		return "", "", ""
	}
	return n.Annotations[mco+"currentConfig"], n.Annotations[mco+"desiredConfig"], n.Annotations[mco+"state"]
}

func (st *stage) label(node, label string) {
	st.t.Helper()
	patch := []byte(`{"metadata":{"labels":{"` + label + `":""}}}`)
	if _, err := st.core.CoreV1().Nodes().Patch(st.t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		st.t.Fatal(err)
	}
}

func (st *stage) awaitConfig(node, current, state string) {
	st.t.Helper()
	st.eventually(node+" to be "+state+" with "+current, func(context.Context) (bool, error) {
		c, _, s := st.config(node)
		return c == current && s == state, nil
	})
}

func (st *stage) rendered(pool string) string {
	st.t.Helper()
	return text(st.object(pools, pool), "spec", "configuration", "name")
}

// TestPools configures a worker that has joined, and then by another pool, once that is not paused any more.
func TestPools(t *testing.T) {
	st := play(t, func(c *spoke.Config) {
		c.Cluster.Pools = []spoke.Pool{{Name: "infra"}}
		c.Trouble.PausedPools = []string{"infra"}
	})
	st.awaitCondition(pools, "master", "Updated", "True", "All nodes are updated with MachineConfig rendered-master-")
	st.joined(machine("worker-0", "192.168.127.50"))
	st.awaitConfig("worker-0", st.rendered("worker"), "Done")
	st.eventually("the count", func(context.Context) (bool, error) {
		count, _, _ := unstructured.NestedInt64(st.object(pools, "worker").Object, "status", "readyMachineCount")
		return count == 1, nil // the control plane runs workloads, too, and is not in this pool
	})
	st.label("worker-0", "node-role.kubernetes.io/infra")
	st.awaitCondition(pools, "infra", "Updating", "False", "Pool is paused")
	st.sleep(10 * time.Minute)
	if _, desired, _ := st.config("worker-0"); desired != st.rendered("worker") {
		t.Fatalf("the node of a paused pool is to have %s", desired)
	}
	if _, err := st.objects.Resource(pools).Patch(t.Context(), "infra", types.MergePatchType, []byte(`{"spec":{"paused":false}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	st.awaitConfig("worker-0", st.rendered("worker"), "Working")
	st.awaitCondition(pools, "infra", "Updating", "True", "All nodes are updating")
	st.awaitConfig("worker-0", st.rendered("infra"), "Done")
	st.awaitCondition(pools, "infra", "Updated", "True", "")
}

// TestDegraded shows operators and pools that were degraded before anybody came.
func TestDegraded(t *testing.T) {
	st := play(t, func(c *spoke.Config) {
		c.Trouble.DegradedOperators = map[string]string{"insights": "it is not reached"}
		c.Trouble.DegradedPools = map[string]string{"master": "unexpected on-disk state"}
	})
	st.awaitCondition(operators, "insights", "Degraded", "True", "it is not reached")
	st.awaitCondition(operators, "dns", "Degraded", "False", "")
	st.awaitCondition(pools, "master", "Degraded", "True", "Node cp-0 is reporting: \"unexpected on-disk state\"")
	if c := st.condition(pools, "worker", "Degraded"); c["status"] != "False" {
		t.Errorf("the other pool is %v", c)
	}
}
