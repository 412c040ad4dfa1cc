//go:build e2e

package hub_test

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestInstall installs an example with nothing but an API client: what a person
// with kubectl would do. Then it adds a machine, and takes everything apart.
func TestInstall(t *testing.T) {
	w := newWorld(t, "compact", hub.Config{Hive: true, Webhooks: true})
	w.apply()
	w.waitFor("the image", hubapi.Resource(hubapi.KindInfraEnv), w.name, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "isoDownloadURL") != ""
	})
	w.approve(3)
	w.waitFor("the end of the installation", hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, func(o *unstructured.Unstructured) bool {
		return conditionIs(o, "Completed", "True", "InstallationCompleted")
	})
	w.waitFor("Hive", hubapi.Resource(hubapi.KindClusterDeployment), w.name, func(o *unstructured.Unstructured) bool {
		done, _, _ := unstructured.NestedBool(o.Object, "spec", "installed")
		return done
	})
	for _, name := range []string{w.name + "-admin-kubeconfig", w.name + "-admin-password"} {
		secret, err := w.client.Resource(hubapi.Resource(hubapi.KindSecret)).Namespace(w.space).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if owners := secret.GetOwnerReferences(); len(owners) != 1 || owners[0].Kind != "ClusterDeployment" {
			t.Errorf("%s is owned by %v", name, owners)
		}
	}
	w.waitFor("day 2", hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "debugInfo", "state") == "adding-hosts"
	})
	w.isFrozen()
	w.addMachine()
	w.deleteAll()
}

// TestExamples installs clusters of other shapes. All of them are tried with oaictl, in
// test/real.
func TestExamples(t *testing.T) {
	for example, hosts := range map[string]int{"sno": 1, "arbiter": 3} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, example, hub.Config{Hive: true, Webhooks: true})
			w.apply()
			w.approve(hosts)
			w.reason("Completed", "True", "InstallationCompleted")
		})
	}
}

// isFrozen checks that admission is asked: an installed cluster's spec is frozen.
func (w *world) isFrozen() {
	w.t.Helper()
	_, err := w.client.Resource(hubapi.Resource(hubapi.KindAgentClusterInstall)).Namespace(w.space).Patch(w.t.Context(), w.name, types.MergePatchType,
		[]byte(`{"spec":{"apiVIPs":["192.168.127.77"]}}`), metav1.PatchOptions{})
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "apiVIPs") {
		w.t.Errorf("changing a VIP of an installed cluster: %v", err)
	}
	o, err := w.client.Resource(hubapi.Resource(hubapi.KindAgentClusterInstall)).Namespace(w.space).Get(w.t.Context(), w.name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if managed, said, _ := unstructured.NestedBool(o.Object, "spec", "networking", "userManagedNetworking"); !said || managed {
		w.t.Errorf("userManagedNetworking was not filled in")
	}
}

// addMachine boots another machine from the image of the installed cluster.
func (w *world) addMachine() {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	defer func() { stop(); running.Wait() }()
	running.Go(func() {
		err := simulator.Boot(ctx, simulator.BootConfig{ServiceURL: w.url, Clock: w.clock, Seed: 99, InfraEnv: w.name, Count: 1, Day: host.Day2})
		if err != nil && ctx.Err() == nil {
			w.t.Error(err)
		}
	})
	w.approve(4)
	w.until("the added host", func() bool {
		list, err := w.client.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(w.space).List(w.t.Context(), metav1.ListOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if text(o, "status", "kind") == "AddToExistingClusterHost" && conditionIs(o, "Installed", "True", "InstallationCompleted") {
				return true
			}
		}
		return false
	})
}

// deleteAll deletes what was applied, and waits until everything is gone that
// the service has made.
func (w *world) deleteAll() {
	w.t.Helper()
	for kind, name := range map[schema.GroupVersionResource]string{hubapi.Resource(hubapi.KindClusterDeployment): w.name, hubapi.Resource(hubapi.KindInfraEnv): w.name} {
		if err := w.client.Resource(kind).Namespace(w.space).Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
	left := ""
	w.until("the deletion", func() bool {
		left = ""
		for _, kind := range []schema.GroupVersionResource{
			hubapi.Resource(hubapi.KindClusterDeployment), hubapi.Resource(hubapi.KindAgentClusterInstall),
			hubapi.Resource(hubapi.KindInfraEnv), hubapi.Resource(hubapi.KindAgent),
			hubapi.Resource(hubapi.KindSecret),
		} {
			list, err := w.client.Resource(kind).Namespace(w.space).List(w.t.Context(), metav1.ListOptions{})
			if err != nil {
				w.t.Fatal(err)
			}
			for i := range list.Items {
				if name := list.Items[i].GetName(); kind != hubapi.Resource(hubapi.KindSecret) || strings.HasPrefix(name, w.name+"-admin") {
					left += " " + list.Items[i].GetKind() + "/" + name
				}
			}
		}
		return left == ""
	}, &left)
	for _, path := range []string{"clusters", "infra-envs"} {
		if have := w.rest(path); have != "[]" {
			w.t.Errorf("the service has %s left: %s", path, have)
		}
	}
}

// rest reads a list of the service.
func (w *world) rest(path string) string {
	w.t.Helper()
	service, err := assisted.New(w.url, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	data, err := service.Raw(w.t.Context(), http.MethodGet, "/v2/"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// world is a hub with its service and machines, and a user of it.
type world struct {
	t       *testing.T
	space   string
	name    string
	cluster *spec.Cluster
	client  dynamic.Interface
	url     string
	clock   clock.Clock
	config  hub.Config
	stop    func() // ends the hub
}

func newWorld(t *testing.T, example string, config hub.Config) *world {
	t.Helper()
	cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "..", "examples", example, "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	time := clock.Scaled(300)
	service, err := simulator.Start(t.Context(), simulator.Config{Clock: time, Seed: 1, Cluster: cluster, KubeAPI: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	kube := server.Start(t)
	config.Kube, config.Service, config.Clock, config.Logf = kube.Config, service.URL(), time, t.Logf
	config.Namespace = kube.Namespace(t)
	client, err := dynamic.NewForConfig(kube.Config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, space: config.Namespace, name: cluster.Metadata.Name, cluster: cluster, client: client, url: service.URL(), clock: time, config: config}
	w.run(config)
	return w
}

// run runs a hub, until the end of the test or until it is stopped.
func (w *world) run(config hub.Config) {
	ctx, stop := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := hub.Run(ctx, config); err != nil && ctx.Err() == nil {
			w.t.Error(err)
		}
	}()
	w.stop = func() { stop(); <-done }
	w.t.Cleanup(w.stop)
}

// apply applies the objects of the cluster.
func (w *world) apply() {
	w.t.Helper()
	for _, o := range w.objects() {
		w.applyOne(o)
	}
}

// objects are those of the cluster, which is not held, with its ClusterImageSet.
func (w *world) objects() []*unstructured.Unstructured {
	w.t.Helper()
	held := false
	objects, err := render.Hub(w.cluster, render.Options{Namespace: w.space, Secrets: true, Hold: &held})
	if err != nil {
		w.t.Fatal(err)
	}
	all := slices.DeleteFunc(objects.All(), func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
	if objects.ImageSet != nil {
		return all
	}
	set := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "hive.openshift.io/v1", "kind": "ClusterImageSet",
		"spec": map[string]any{"releaseImage": "quay.io/openshift-release-dev/ocp-release:4.21.28-x86_64"}}}
	for _, o := range all {
		if o.GetKind() == "AgentClusterInstall" {
			set.SetName(text(o, "spec", "imageSetRef", "name"))
		}
	}
	return append(all, set)
}

func (w *world) applyOne(o *unstructured.Unstructured) {
	w.t.Helper()
	kinds := hubapi.Kinds()
	at := slices.IndexFunc(kinds, func(kind hubapi.Kind) bool { return kind.GroupKind() == o.GroupVersionKind().GroupKind() })
	if at < 0 {
		w.t.Fatalf("no kind %s", o.GetKind())
	}
	kind := kinds[at]
	var to dynamic.ResourceInterface = w.client.Resource(kind.GroupVersionResource())
	if kind.Namespaced {
		to = w.client.Resource(kind.GroupVersionResource()).Namespace(o.GetNamespace())
	}
	if _, err := to.Apply(w.t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "oaictl"}); err != nil {
		w.t.Fatalf("apply %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// wanted is what the file calls the machine of an Agent, and its role.
func (w *world) wanted(agent *unstructured.Unstructured) (name, role string) {
	nics, _, _ := unstructured.NestedSlice(agent.Object, "status", "inventory", "interfaces")
	for _, h := range w.cluster.Spec.Hosts {
		for _, nic := range nics {
			mac := h.Match.MAC
			if mac == "" && h.Net != nil {
				mac = h.Net.MAC
			}
			if text, _ := nic.(map[string]any)["macAddress"].(string); strings.EqualFold(text, mac) {
				return h.Name, strings.Replace(string(h.Role), "control-plane", "master", 1)
			}
		}
	}
	return "node-" + agent.GetName()[:8], "master"
}

// approve waits for that many Agents and approves them for what the file says.
func (w *world) approve(count int) {
	w.t.Helper()
	agents := w.client.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(w.space)
	approved := map[string]bool{}
	w.until("the Agents", func() bool {
		list, err := agents.List(w.t.Context(), metav1.ListOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if approved[o.GetName()] || text(o, "status", "inventory", "hostname") == "" {
				continue
			}
			name, role := w.wanted(o)
			patch, _ := json.Marshal(map[string]any{"spec": map[string]any{"approved": true, "role": role, "hostname": name}})
			if _, err := agents.Patch(w.t.Context(), o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				w.t.Fatal(err)
			}
			approved[o.GetName()] = true
		}
		return len(approved) == count
	})
}

func (w *world) waitFor(what string, kind schema.GroupVersionResource, name string, good func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	last := ""
	w.until(what, func() bool {
		o, err := w.client.Resource(kind).Namespace(w.space).Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			last = err.Error()
			return false
		}
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		data, _ := json.MarshalIndent(list, "", " ")
		last = string(data)
		return good(o)
	}, &last)
}

// until looks again and again until something is so.
func (w *world) until(what string, good func() bool, last ...*string) {
	w.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !good(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			for _, l := range last {
				w.t.Logf("last seen: %s", *l)
			}
			w.t.Fatalf("waited for %s in vain", what)
		}
	}
}

func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func conditionIs(o *unstructured.Unstructured, kind, status, reason string) bool {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if m := c.(map[string]any); m["type"] == kind {
			return m["status"] == status && m["reason"] == reason
		}
	}
	return false
}
