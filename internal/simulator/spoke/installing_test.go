//go:build e2e

package spoke_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

// version is the cluster's ClusterVersion, with its conditions as one text each.
func (st *stage) version() (v *unstructured.Unstructured, conditions map[string]string) {
	st.t.Helper()
	v, err := st.objects.Resource(schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusterversions"}).Get(st.t.Context(), "version", metav1.GetOptions{})
	if err != nil {
		st.t.Fatal(err)
	}
	list, _, _ := unstructured.NestedSlice(v.Object, "status", "conditions")
	conditions = map[string]string{}
	for _, each := range list {
		c := each.(map[string]any)
		conditions[fmt.Sprint(c["type"])] = fmt.Sprintf("%v %v", c["status"], c["message"])
	}
	return v, conditions
}

func (st *stage) update(text string) {
	st.t.Helper()
	if _, err := st.objects.Resource(schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusterversions"}).Patch(
		st.t.Context(), "version", types.MergePatchType, []byte(`{"spec": {"desiredUpdate": `+text+`}}`), metav1.PatchOptions{}); err != nil {
		st.t.Fatal(err)
	}
}

// TestClusterIsInstalledUpdatedAndCleared has the nodes of a cluster join while it is being
// installed, takes it to another release, and makes room for the next cluster.
func TestClusterIsInstalledUpdatedAndCleared(t *testing.T) {
	st := play(t, func(c *spoke.Config) {
		c.Cluster.Joining, c.Stamps = true, clock.Real()
		c.Cluster.Updates = []spoke.Update{{Version: "4.20.33"}, {Version: "4.20.34"}}
	})
	if _, is := st.version(); is["Available"] != "False <nil>" || is["Progressing"] != "True Working towards 4.20.33" {
		t.Errorf("before any node is there: %q", is)
	}
	uids := map[string]types.UID{}
	for i, name := range []string{"cp-0", "cp-1", "cp-2"} {
		m := machine(name, fmt.Sprintf("192.168.127.%d", 10+i))
		m.Role = spoke.RoleControlPlane
		st.join(m)
	}
	for _, name := range []string{"cp-0", "cp-1", "cp-2"} {
		if c := st.awaitReady(name, corev1.ConditionTrue); c.LastTransitionTime.After(time.Now().Add(time.Minute)) {
			t.Errorf("%s is ready since %s, which is still to come", name, c.LastTransitionTime)
		}
		uids[name] = st.node(name).UID
		st.eventually(name+" runs workloads", func(context.Context) (bool, error) {
			_, does := st.node(name).Labels["node-role.kubernetes.io/worker"]
			return does && !tainted(st.node(name), "node-role.kubernetes.io/master"), nil
		})
	}
	if err := st.Installed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, is := st.version(); is["Available"] != "True Done applying 4.20.33" || is["Progressing"] != "False Cluster version is 4.20.33" {
		t.Errorf("once it is installed: %q", is)
	}
	st.eventually("three members", func(ctx context.Context) (bool, error) {
		endpoints, err := st.core.CoreV1().ConfigMaps("openshift-etcd").Get(ctx, "etcd-endpoints", metav1.GetOptions{})
		return err == nil && len(endpoints.Data) == 3, err
	})
	st.update(`{"version": "4.20.99"}`)
	st.eventually("what is no update is refused", func(context.Context) (bool, error) {
		_, is := st.version()
		return is["Invalid"] == `True The cluster version is invalid: spec.desiredUpdate.version: Invalid value: "4.20.99": when image is empty the update must be an available update`, nil
	})
	st.update(`{"version": "4.20.34", "force": false}`)
	st.eventually("the update has begun", func(context.Context) (bool, error) {
		v, is := st.version()
		history, _, _ := unstructured.NestedSlice(v.Object, "status", "history")
		return len(history) == 2 && history[0].(map[string]any)["state"] == "Partial" && is["Invalid"] == "", nil
	})
	st.eventually("the update is over", func(context.Context) (bool, error) {
		v, is := st.version()
		history, _, _ := unstructured.NestedSlice(v.Object, "status", "history")
		return history[0].(map[string]any)["state"] == "Completed" && is["Progressing"] == "False Cluster version is 4.20.34", nil
	})
	for name, uid := range uids {
		st.eventually(name+" runs the new release", func(context.Context) (bool, error) {
			return st.node(name).Status.NodeInfo.KubeletVersion == spoke.KubeletOf("4.20.34"), nil
		})
		if st.node(name).UID != uid {
			t.Errorf("%s is another node", name)
		}
	}
	operators, err := st.objects.Resource(schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusteroperators"}).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range operators.Items {
		versions, _, _ := unstructured.NestedSlice(operators.Items[i].Object, "status", "versions")
		if fmt.Sprint(versions) != "[map[name:operator version:4.20.34]]" {
			t.Errorf("%s has %v", operators.Items[i].GetName(), versions)
		}
	}
	st.stopAll()
	if err := st.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := spoke.Find(t.Context(), server.Start(t).Config); !errors.Is(err, spoke.ErrNoCluster) {
		t.Errorf("it is still there: %v", err)
	}
	if nodes, err := st.core.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil || len(nodes.Items) > 0 {
		t.Errorf("%d nodes are left (%v)", len(nodes.Items), err)
	}
}

// TestSharedServer plays nothing but nodes where many clusters have theirs.
func TestSharedServer(t *testing.T) {
	st := play(t, func(c *spoke.Config) {
		c.Cluster.Joining, c.Shared, c.LeaseEvery = true, true, 5*time.Second
	})
	st.join(machine("east-0", "192.168.127.50"))
	st.join(machine("west-0", "192.168.127.51"))
	st.awaitReady("east-0", corev1.ConditionTrue)
	st.awaitReady("west-0", corev1.ConditionTrue)
}

// TestSlowedDown has nodes report in time though their last signs of life were minutes apart, while the clock was fast.
func TestSlowedDown(t *testing.T) {
	st := play(t, func(c *spoke.Config) {
		c.Cluster.Joining, c.Shared, c.LeaseEvery = true, true, 2*time.Second
	})
	st.join(machine("east-0", "192.168.127.50"))
	st.awaitReady("east-0", corev1.ConditionTrue)
	st.sleep(50 * time.Minute) // it does nothing but report by now
	clock.SlowDown(st.clock)
	renewed := func(ctx context.Context) (time.Time, error) {
		lease, err := st.core.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, "east-0", metav1.GetOptions{})
		if err != nil {
			return time.Time{}, err
		}
		return lease.Spec.RenewTime.Time, nil
	}
	began := st.clock.Now()
	st.eventually("two more signs of life", func(ctx context.Context) (bool, error) {
		if is := st.readiness("east-0"); is.Status != corev1.ConditionTrue {
			return false, errors.New(is.Message)
		}
		at, err := renewed(ctx)
		return at.Sub(began) > 10*time.Second, err
	})
}
