//go:build e2e

package real

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/metal3"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/fixture"
)

// poolName is the InfraEnv of a pool.
const poolName = "pool"

// TestPoolOfHosts installs a cluster on machines that a hub boots into a pool by their BareMetalHosts, and gives them
// back, twice: the hub boots the machines into the pool again each time.
func TestPoolOfHosts(t *testing.T) {
	all := backends(t)
	b := all[len(all)-1]
	if !b.hub {
		t.Skip("without a hub there are no BareMetalHosts")
	}
	begins(t)
	b.bmhs = true
	x := b.open(t, fixture.Example(t, "compact"), nil)
	x.cluster.Spec.InfraEnv = spec.InfraEnv{Bind: spec.BindLate, Ref: poolName}
	x.provisions(t)
	if !x.simulated() {
		x.cleanUp(t) // while the bare metal operator still releases its hosts
	}
	x.makePool(t)
	x.untilFree(t, len(x.cluster.Spec.Hosts))
	for range 2 {
		r := &runs{site: x, dir: t.TempDir()}
		r.installs(t)
		x.giveBack(t)
		x.untilFree(t, len(x.cluster.Spec.Hosts))
		x.does(t, "delete", "cluster", x.cluster.Metadata.Name, "--yes")
	}
}

// giveBack returns all hosts to the pool. They leave the cluster before it is deleted: the nodes of a deleted cluster run on,
// and the hub deletes their Agents.
func (x *site) giveBack(t testing.TB) {
	t.Helper()
	plane := x.plane(t)
	desired := &model.Desired{Spec: x.cluster, Options: model.Options{Run: x.cluster.Metadata.Name}}
	now, err := plane.Observe(t.Context(), desired.Query(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range now.Hosts {
		h := &now.Hosts[i]
		if h.Returns != model.ReturnByHub {
			t.Errorf("%s goes back by %q", h.Hostname, h.Returns)
		}
		back := model.Action{
			Key: "return/" + h.Hostname, Kind: model.ReturnHost, Target: h.ID, InfraEnv: h.InfraEnvID, Name: h.Hostname, Scope: model.ScopeNode.Of(h.Hostname),
			NodeGone: true, // the service is not to look for nodes in a cluster that has no API
		}
		if err := plane.Act(t.Context(), desired, back); err != nil {
			t.Fatalf("%s: %v", h.Hostname, err)
		}
	}
}

// provisions plays the operator of bare metal, and the machines.
func (x *site) provisions(t testing.TB) {
	t.Helper()
	says := func(of string) func(string, ...any) {
		return func(format string, args ...any) { t.Logf(of+": "+format, args...) }
	}
	var err error
	x.hardware, err = metal3.NewHardware(metal3.HardwareConfig{
		ServiceURL: x.wire.base, HTTPClient: x.wire.client, Clock: x.machines, Seed: uint64(x.seed), Logf: says("machine"),
	})
	if err != nil {
		t.Fatal(err)
	}
	beside(t, func(ctx context.Context) { _ = x.hardware.Run(ctx) })
	beside(t, func(ctx context.Context) {
		config := metal3.Config{
			Kube: x.kube, Namespace: x.namespace, HostsOnly: true, Hardware: x.hardware, Clock: x.machines, Logf: says("metal3"),
		}
		if err := metal3.Run(ctx, config); err != nil && ctx.Err() == nil {
			t.Errorf("the operator of bare metal: %v", err)
		}
	})
}

// beside does something until the test's end, and while what was made later is cleaned up.
func beside(t testing.TB, do func(context.Context)) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { do(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
}

// makePool makes an InfraEnv without a cluster, and the BareMetalHosts of the file's machines, which boot its image.
func (x *site) makePool(t testing.TB) {
	t.Helper()
	x.make(t, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", "v1", "Namespace", x.namespace, nil)
	secrets := hubapi.Resource(hubapi.KindSecret)
	x.make(t, secrets, x.namespace, "v1", "Secret", "pool-pull-secret", map[string]any{
		"type": "kubernetes.io/dockerconfigjson", "stringData": map[string]any{".dockerconfigjson": x.cluster.PullSecret().Reveal()},
	})
	x.make(t, hubapi.Resource(hubapi.KindInfraEnv), x.namespace, "agent-install.openshift.io/v1beta1", "InfraEnv", poolName, map[string]any{
		"spec": map[string]any{"pullSecretRef": map[string]any{"name": "pool-pull-secret"}, "cpuArchitecture": "x86_64"},
	})
	for i := range x.cluster.Spec.Hosts {
		h := &x.cluster.Spec.Hosts[i]
		x.make(t, secrets, x.namespace, "v1", "Secret", h.Name+"-bmc", map[string]any{"stringData": map[string]any{"username": "admin", "password": "simulated"}})
		x.make(t, hubapi.Resource(hubapi.KindBareMetalHost), x.namespace, "metal3.io/v1alpha1", "BareMetalHost", h.Name, map[string]any{
			"metadata": map[string]any{"name": h.Name, "labels": map[string]any{hubapi.LabelAgentInfraEnv: poolName}},
			"spec": map[string]any{
				"online": true, "bootMACAddress": h.Match.MAC, "automatedCleaningMode": "disabled",
				"bmc": map[string]any{"address": "redfish-virtualmedia://bmc.example.com/redfish/v1/Systems/" + h.Name, "credentialsName": h.Name + "-bmc"},
			},
		})
	}
}

func (x *site) make(t testing.TB, kind schema.GroupVersionResource, namespace, version, name, object string, fields map[string]any) {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": object}}}
	maps.Copy(u.Object, fields)
	u.SetAPIVersion(version)
	u.SetKind(name)
	if _, err := x.client.Resource(kind).Namespace(namespace).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatalf("make %s %s: %v", name, object, err)
	}
}

// untilFree waits until so many Agents of the pool are without a cluster, and ready for one.
func (x *site) untilFree(t testing.TB, count int) {
	t.Helper()
	last := ""
	for within := x.time.Now().Add(30 * time.Minute); x.time.Now().Before(within) && x.time.Sleep(t.Context(), 2*time.Second) == nil; {
		list, err := x.client.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(x.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		free, states := 0, ""
		for _, a := range list.Items {
			bound, _, _ := unstructured.NestedString(a.Object, "spec", "clusterDeploymentName", "name")
			state, _, _ := unstructured.NestedString(a.Object, "status", "debugInfo", "state")
			if bound == "" && state == "known-unbound" {
				free++
			}
			states += fmt.Sprintf(" %s %s %q", a.GetName(), state, bound)
		}
		if free == count {
			return
		}
		if states != last {
			t.Logf("the pool:%s", states)
			last = states
		}
	}
	t.Fatalf("the pool does not become free: %s", last)
}
