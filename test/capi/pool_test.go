//go:build e2e

package capi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestPool takes control plane and workers from a pool of machines that have booted already. The cluster is moved to a
// hub that knows none of its machines: they stay what they were, and keep running when they are deleted there.
func TestPool(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5)
	r.fillPool(5)
	r.order("agents", 1)
	r.untilAvailable(aWhile)
	r.untilWorkers(1)
	r.checkWatches()
	there := r.beside()
	r.pauseHosts()
	r.move(there, 1)
	starts := r.site.Hardware().Starts()
	worker := there.machines(false)[0]
	there.scaleWorkers(0)
	there.untilGone(&worker)
	there.delete()
	there.checkGone()
	if after := r.site.Hardware().Starts(); len(r.free()) != 1 || !maps.Equal(starts, after) {
		t.Errorf("machines were started so often: %v, and now %v; the pool is %v", starts, after, r.states())
	}
}

// TestPoolElsewhere takes a control plane and a worker from a pool in a namespace of its own. The hub boots the machines
// of the pool by their BareMetalHosts. It takes the worker and gives it back, twice: the hub boots it into the
// pool each time. The providers may act in that namespace and in the Cluster's, and in no other.
func TestPoolElsewhere(t *testing.T) {
	t.Parallel()
	m := kubetest.StartManagement(t, kubetest.ManagementConfig{}) // where the hub manages only the two namespaces
	r := newRig(t, 4, func(r *rig) { r.Management, r.hosts = m, m.Namespace(t) })
	pool := r.in(r.hosts)
	pool.enrolPool(4)
	r.order("agents", 0)
	r.untilAvailable(aWhile)
	for range 2 {
		r.scaleWorkers(1)
		r.untilWorkers(1)
		r.scaleWorkers(0)
		r.untilWorkers(0)
		pool.untilFree(1)
	}
	r.delete()
	if left := r.serviceObjects(); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	for agent, state := range pool.states() {
		if strings.Contains(state, "lab") {
			t.Errorf("Agent %s is %s", agent, state)
		}
	}
}

// pauseHosts makes the Bare Metal Operator of either side leave the machines of the pool alone, as docs/capi.md says.
func (r *rig) pauseHosts() {
	r.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("metal3.io/v1alpha1")
	list.SetKind("BareMetalHostList")
	must.Do(r.t, r.client.List(r.t.Context(), list, client.InNamespace(r.namespace)))
	for i := range list.Items {
		r.patch(&list.Items[i], func(o client.Object) { o.SetAnnotations(map[string]string{"baremetalhost.metal3.io/paused": ""}) })
	}
}

// untilFree waits until so many hosts wait in the pool.
func (r *rig) untilFree(count int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d hosts are back in the pool", count), aWhile, func() (bool, string) {
		return len(r.free()) == count, fmt.Sprint(r.states())
	})
}

// enrolPool makes the hub boot the machines of BareMetalHosts into a pool, and approve them.
func (r *rig) enrolPool(count int) {
	r.t.Helper()
	r.apply(pullSecret)
	r.apply(poolEnv)
	for i := range count {
		host := object("metal3.io/v1alpha1", "BareMetalHost")
		host.SetName(fmt.Sprintf("rack-host-%d", i))
		r.patch(host, func(o client.Object) { o.SetLabels(map[string]string{hubapi.LabelAgentInfraEnv: "pool"}) })
	}
	r.until("all machines of the pool are there", aWhile, func() (bool, string) {
		return len(r.free()) == count, fmt.Sprint(r.states())
	})
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
	must.Do(r.t, r.client.List(r.t.Context(), list, client.InNamespace(r.namespace)))
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
