package hub_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/simulator"
	simulated "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// stage is a simulated hub on a real API server, and what is written to it.
type stage struct {
	kube      *kubetest.Cluster
	namespace string
	clock     clock.Clock
	admin     *dynamic.DynamicClient

	mu     sync.Mutex
	writes map[string]int
}

// newStage runs a simulated hub whose machines are those of a file.
func newStage(t *testing.T, cluster *spec.Cluster) *stage {
	t.Helper()
	s := &stage{kube: hub.ServerForTests(t), clock: clock.Scaled(300), writes: map[string]int{}}
	service, err := simulator.Start(t.Context(), simulator.Config{Clock: s.clock, Seed: 1, Cluster: cluster, KubeAPI: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() {
		stop()
		running.Wait()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	s.namespace = s.kube.Namespace(t)
	running.Go(func() {
		config := simulated.Config{Kube: s.kube.Config, Service: service.URL(), Clock: s.clock, Namespace: s.namespace, Webhooks: true}
		if err := simulated.Run(ctx, config); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	if s.admin, err = dynamic.NewForConfig(s.kube.Config); err != nil {
		t.Fatal(err)
	}
	set := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"releaseImage": "quay.io/openshift-release-dev/ocp-release:4.20.33-x86_64"}}}
	set.SetAPIVersion("hive.openshift.io/v1")
	set.SetKind("ClusterImageSet")
	set.SetName("openshift-v4.20.33")
	if _, err := s.admin.Resource(hubapi.ClusterImageSets()).Apply(t.Context(), set.GetName(), set, metav1.ApplyOptions{FieldManager: "test", Force: true}); err != nil {
		t.Fatal(err)
	}
	return s
}

// run carries out what is desired, and says what was written for it.
func (s *stage) run(t *testing.T, desired *install.Desired) (install.Result, map[string]int) {
	t.Helper()
	plane, err := hub.New(hub.Config{Kube: s.kube.Config, Namespace: s.namespace, Clock: s.clock, Log: func(call hub.Call) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if call.Writes() && call.Status < 300 {
			s.writes[call.Path]++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	result, err := install.New(plane, install.WithClock(s.clock), install.WithTimeouts(4*time.Hour, time.Hour)).Run(t.Context(), desired)
	if err != nil {
		t.Fatalf("%v (next: %s)", err, install.NextOf(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	written := s.writes
	s.writes = map[string]int{}
	return result, written
}

func (s *stage) get(t *testing.T, kind schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := s.admin.Resource(kind).Namespace(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// load reads a cluster of the tests.
func load(t *testing.T, text string) *spec.Cluster {
	t.Helper()
	env := spec.OSEnv()
	env.LookupEnv = func(name string) (string, bool) {
		text, set := map[string]string{"PULL": `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`, "ADMIN": "apiVersion: v1\nkind: Config\n"}[name]
		return text, set
	}
	c, err := spec.Parse(t.Context(), "cluster.yaml", []byte(text), env)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// oneNode says what only a hub knows.
const oneNode = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: edge}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network: {machine: [192.168.127.0/24]}
  hub:
    agentLabels: {zone: a}
    nodeLabels: {example.com/site: north}
    classifications: [{label: size, value: Large, query: .cpu.count > 1}, {label: gpu, value: "yes", query: (.gpus | length) > 99}]
    ironic: {image: "quay.io/metal3/ironic-agent:v1", ipFamilies: [v4]}
    ipxe: boot-order
  hosts:
  - {name: node, role: control-plane, match: {mac: "52:54:00:00:00:00"}, labels: {rack: a}}
`

// TestWhatOnlyAHubKnows is written, takes effect, is read back so that a second run
// writes nothing, and goes with the cluster.
func TestWhatOnlyAHubKnows(t *testing.T) {
	cluster := load(t, oneNode)
	s := newStage(t, cluster)
	if result, _ := s.run(t, &install.Desired{Spec: cluster}); result.Verdict != install.VerdictInstalled {
		t.Fatalf("verdict %s", result.Verdict)
	}
	if _, written := s.run(t, &install.Desired{Spec: cluster}); len(written) > 0 {
		t.Errorf("a second run writes %v", written)
	}
	env := s.get(t, hubapi.InfraEnvs(), "edge")
	if env.GetLabels()["example.com/site"] != "north" || env.GetAnnotations()[hubapi.AnnotationPropagateNodeLabels] != "example.com/site" || env.GetAnnotations()[hubapi.AnnotationIPFamily] != "v4" {
		t.Errorf("InfraEnv %v %v", env.GetLabels(), env.GetAnnotations())
	}
	agents, err := s.admin.Resource(hubapi.Agents()).Namespace(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "zone=a," + hubapi.LabelClassificationPrefix + "size=Large"})
	if err != nil || len(agents.Items) != 1 {
		t.Fatalf("%d Agents with the labels: %v", len(agents.Items), err)
	}
	labels, _, _ := unstructured.NestedStringMap(agents.Items[0].Object, "spec", "nodeLabels")
	if labels["rack"] != "a" || labels["example.com/site"] != "north" {
		t.Errorf("node labels %v", labels)
	}
	plane, err := hub.New(hub.Config{Kube: s.kube.Config, Namespace: s.namespace, Clock: s.clock})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	if err := plane.DeleteCluster(t.Context(), s.namespace+"/edge"); err != nil {
		t.Fatal(err)
	}
	left, err := s.admin.Resource(hubapi.AgentClassifications()).Namespace(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("%d AgentClassifications are left: %v", len(left.Items), err)
	}
}

// elsewhere is a cluster that something else installed.
const elsewhere = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: old}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  import: {kubeconfig: {env: ADMIN}, clusterID: 11111111-2222-3333-4444-555555555555}
  discovery: {osVersion: "4.20"}
  hosts:
  - {name: w-0, role: worker, match: {mac: "52:54:00:00:01:00"}}
  - {name: w-1, role: worker, match: {mac: "52:54:00:00:01:01"}}
`

// TestAddNodesToAnImportedCluster: the objects of a cluster that something else
// installed are made, and its hosts are added; a second run writes nothing.
func TestAddNodesToAnImportedCluster(t *testing.T) {
	cluster := load(t, elsewhere)
	s := newStage(t, cluster)
	desired := &install.Desired{Spec: cluster, Options: install.Options{AddNodes: true}}
	result, written := s.run(t, desired)
	slices.Sort(result.Plan.Added)
	if result.Verdict != install.VerdictInstalled || strings.Join(result.Plan.Added, " ") != "w-0 w-1" {
		t.Fatalf("verdict %s, added %v", result.Verdict, result.Plan.Added)
	}
	for path, n := range written {
		if n > 2 {
			t.Errorf("%s was written %d times", path, n)
		}
	}
	deployment := s.get(t, hubapi.ClusterDeployments(), "old")
	installed, _, _ := unstructured.NestedBool(deployment.Object, "spec", "installed")
	secret, _, _ := unstructured.NestedString(deployment.Object, "spec", "clusterMetadata", "adminKubeconfigSecretRef", "name")
	if !installed || secret != "old-admin-kubeconfig" {
		t.Errorf("installed %v, kubeconfig in %q", installed, secret)
	}
	if version, _, _ := unstructured.NestedString(s.get(t, hubapi.InfraEnvs(), "old").Object, "spec", "osImageVersion"); version != "4.20" {
		t.Errorf("the live system is of %q", version)
	}
	if _, written := s.run(t, desired); len(written) > 0 {
		t.Errorf("a second run writes %v", written)
	}
}
