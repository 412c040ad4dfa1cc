//go:build e2e

package spoke_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

const api = "openshift-machine-api"

func withMachines(c *spoke.Config) {
	c.Cluster.MachineAPI, c.Cluster.Platform = true, spoke.BareMetal
	c.Cluster.Workers = []spoke.Node{node("w-0", "192.168.127.20"), node("w-1", "192.168.127.21")}
}

// addMachine makes a Machine with its host, as a person does for a host that is added.
func (st *stage) addMachine(name, address, role string) {
	st.t.Helper()
	host := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"online": true, "externallyProvisioned": true, "bootMACAddress": "00:00:00:00:00:02"},
	}}
	machine := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
		"metadata": map[string]any{
			"name": name, "labels": map[string]any{"machine.openshift.io/cluster-api-machine-role": role, "machine.openshift.io/cluster-api-machine-type": role},
			"annotations": map[string]any{"metal3.io/BareMetalHost": api + "/" + name},
		},
		"spec": map[string]any{},
	}}
	for of, u := range map[schema.GroupVersionResource]*unstructured.Unstructured{hosts: host, machines: machine} {
		if _, err := st.objects.Resource(of).Namespace(api).Create(st.t.Context(), u, metav1.CreateOptions{}); err != nil {
			st.t.Fatal(err)
		}
	}
	status := []byte(`{"status":{"errorCount":0,"errorMessage":"","operationalStatus":"OK","poweredOn":true,"provisioning":{"state":"externally provisioned","ID":"x"},` +
		`"hardware":{"hostname":"` + name + `","nics":[{"ip":"` + address + `"}]}}}`)
	if _, err := st.objects.Resource(hosts).Namespace(api).Patch(st.t.Context(), name, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		st.t.Fatal(err)
	}
}

func (st *stage) patch(of schema.GroupVersionResource, name, patch string) {
	st.t.Helper()
	if _, err := st.objects.Resource(of).Namespace(api).Patch(st.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		st.t.Fatal(err)
	}
}

func (st *stage) machineOf(node string) string {
	st.t.Helper()
	_, name, _ := strings.Cut(st.node(node).Annotations["machine.openshift.io/machine"], "/")
	return name
}

func (st *stage) there(of schema.GroupVersionResource, name string) bool {
	st.t.Helper()
	_, err := st.objects.Resource(of).Namespace(api).Get(st.t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		st.t.Fatal(err)
	}
	return err == nil
}

// TestWorkerRemoved lowers a MachineSet: the marked Machine goes, with its pods and its node, and no other.
func TestWorkerRemoved(t *testing.T) {
	st := play(t, withMachines)
	name, other := st.machineOf("w-1"), st.machineOf("w-0")
	set := other[:strings.LastIndex(other, "-")]
	st.pod("app", "w-1", nil)
	st.patch(machines, name, `{"metadata":{"annotations":{"machine.openshift.io/delete-machine":"true"}}}`)
	st.patch(machineSets, set, `{"spec":{"replicas":1}}`)
	st.eventually("the node's end", func(context.Context) (bool, error) { return st.node("w-1") == nil && !st.there(machines, name), nil })
	if st.uid("app") != "" {
		t.Error("its pod is still there")
	}
	if !st.there(machines, other) || st.node("w-0") == nil || !st.there(hosts, "w-1") {
		t.Error("something else went, too")
	}
	// A Machine that is deleted while its set wants it comes again, without a host.
	if err := st.objects.Resource(machines).Namespace(api).Delete(t.Context(), other, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	st.eventually("another Machine", func(ctx context.Context) (bool, error) {
		list, err := st.objects.Resource(machines).Namespace(api).List(ctx, metav1.ListOptions{LabelSelector: "machine.openshift.io/cluster-api-machineset=" + set})
		if err != nil {
			return false, err
		}
		for i := range list.Items {
			if list.Items[i].GetName() != other && text(&list.Items[i], "status", "phase") == "Provisioning" {
				return st.node("w-0") == nil, nil
			}
		}
		return false, nil
	})
}

// TestScalesWithHosts is how a hub removes a worker: by its host.
func TestScalesWithHosts(t *testing.T) {
	st := play(t, withMachines)
	name := st.machineOf("w-0")
	set := name[:strings.LastIndex(name, "-")]
	st.patch(machines, name, `{"metadata":{"annotations":{"machine.openshift.io/delete-machine":"true","machine.openshift.io/exclude-node-draining":"true"}}}`)
	st.patch(machineSets, set, `{"metadata":{"annotations":{"metal3.io/autoscale-to-hosts":"true"}}}`)
	if err := st.objects.Resource(hosts).Namespace(api).Delete(t.Context(), "w-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	st.eventually("the node's end", func(context.Context) (bool, error) {
		return st.node("w-0") == nil && !st.there(machines, name) && !st.there(hosts, "w-0"), nil
	})
	if st.node("w-1") == nil {
		t.Error("the other worker is gone, too")
	}
}

// TestControlPlaneMachine holds a healthy control plane Machine that is deleted until there is a fourth member.
func TestControlPlaneMachine(t *testing.T) {
	st := play(t, withMachines)
	name := st.machineOf("cp-1")
	if err := st.objects.Resource(machines).Namespace(api).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m := machine("cp-3", "192.168.127.13")
	m.Role = spoke.RoleControlPlane
	st.joined(m)
	st.sleep(10 * 60e9)
	if st.memberAt("192.168.127.13") || !st.memberAt("192.168.127.11") {
		t.Fatalf("a node without a Machine is a member: %v", st.members())
	}
	st.addMachine("cp-3", "192.168.127.13", "master")
	st.eventually("the new member", func(context.Context) (bool, error) { return st.memberAt("192.168.127.13"), nil })
	st.eventually("the old node's end", func(context.Context) (bool, error) { return st.node("cp-1") == nil && !st.there(machines, name), nil })
	if st.memberAt("192.168.127.11") || len(st.members()) != 3 {
		t.Errorf("the members are %v", st.members())
	}
	if c := st.readiness("cp-3"); c.Status != corev1.ConditionTrue {
		t.Errorf("the new node is %v", c)
	}
}
