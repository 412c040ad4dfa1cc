package capi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestPool takes control plane and workers from a pool of machines that have booted already.
func TestPool(t *testing.T) {
	r := newRig(t, 6)
	r.fillPool(6)
	r.order("agents", 1)
	r.untilAvailable(aWhile)
	r.untilWorkers(1)
	r.scaleWorkers(2)
	r.untilWorkers(2)
	r.scaleWorkers(1)
	r.untilWorkers(1)
	r.until("its host is back in the pool", aWhile, func() (bool, string) {
		return len(r.free()) == 2, fmt.Sprint(r.states())
	})
	r.delete()
	r.until("all hosts are back in the pool", aWhile, func() (bool, string) {
		return len(r.free()) == 6, fmt.Sprint(r.states())
	})
	if left := r.serviceObjects(); len(left) != 7 || !slices.Contains(left, "InfraEnv pool") {
		t.Errorf("left are %v, and should be a pool of six", left)
	}
}

const poolEnv = `{apiVersion: agent-install.openshift.io/v1beta1, kind: InfraEnv, metadata: {name: pool}, spec: {pullSecretRef: {name: pull-secret}, cpuArchitecture: x86_64}}`

// fillPool boots the machines of BareMetalHosts into a pool, and approves them.
func (r *rig) fillPool(count int) {
	r.t.Helper()
	r.apply(pullSecret)
	r.apply(poolEnv)
	image := ""
	r.until("the pool has its image", aWhile, func() (bool, string) {
		env := object("agent-install.openshift.io/v1beta1", "InfraEnv")
		r.get("pool", env)
		image, _, _ = unstructured.NestedString(env.Object, "status", "isoDownloadURL")
		return image != "", ""
	})
	for i := range count {
		host := object("metal3.io/v1alpha1", "BareMetalHost")
		host.SetName(fmt.Sprintf("rack-host-%d", i))
		r.patch(host, func(o client.Object) {
			fields := o.(*unstructured.Unstructured).Object["spec"].(map[string]any)
			fields["online"], fields["image"] = true, map[string]any{"url": image, "format": "live-iso"}
		})
	}
	approved := map[string]bool{}
	r.until("all machines of the pool are there", aWhile, func() (bool, string) {
		for _, name := range r.agents() {
			if approved[name] {
				continue
			}
			agent := object("agent-install.openshift.io/v1beta1", "Agent")
			agent.SetName(name)
			r.patch(agent, func(o client.Object) {
				o.(*unstructured.Unstructured).Object["spec"].(map[string]any)["approved"] = true
			})
			approved[name] = true
		}
		return len(approved) == count, fmt.Sprintf("%d Agents", len(approved))
	})
}

func object(version, kind string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(version)
	u.SetKind(kind)
	return u
}

// agents are the names of the Agents.
func (r *rig) agents() []string {
	r.t.Helper()
	return slices.Sorted(maps.Keys(r.states()))
}

// states are the states of the Agents, and the cluster of each that has one.
func (r *rig) states() map[string]string {
	r.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("agent-install.openshift.io/v1beta1")
	list.SetKind("AgentList")
	if err := r.client.List(r.t.Context(), list, client.InNamespace(r.namespace)); err != nil {
		r.t.Fatal(err)
	}
	states := map[string]string{}
	for i := range list.Items {
		state, _, _ := unstructured.NestedString(list.Items[i].Object, "status", "debugInfo", "state")
		cluster, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "clusterDeploymentName", "name")
		states[list.Items[i].GetName()] = strings.TrimSpace(state + " " + cluster)
	}
	return states
}

// free are the Agents that wait in the pool.
func (r *rig) free() []string {
	r.t.Helper()
	states := r.states()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(states)), func(name string) bool { return states[name] != "known-unbound" })
}
