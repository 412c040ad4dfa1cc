//go:build e2e

package hub_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	simulated "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

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
	s := newStage(t, cluster, simulated.Config{Webhooks: true})
	if result, _ := s.run(t, &model.Desired{Spec: cluster}, nil); result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %s", result.Verdict)
	}
	if _, written := s.run(t, &model.Desired{Spec: cluster}, nil); len(written) > 0 {
		t.Errorf("a second run writes %v", written)
	}
	env := s.get(t, hubapi.Resource(hubapi.KindInfraEnv), "edge")
	if env.GetLabels()["example.com/site"] != "north" || env.GetAnnotations()[hubapi.AnnotationPropagateNodeLabels] != "example.com/site" || env.GetAnnotations()[hubapi.AnnotationIPFamily] != "v4" {
		t.Errorf("InfraEnv %v %v", env.GetLabels(), env.GetAnnotations())
	}
	agents, err := s.admin.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(s.config.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "zone=a," + hubapi.LabelClassificationPrefix + "size=Large"})
	if err != nil || len(agents.Items) != 1 {
		t.Fatalf("%d Agents with the labels: %v", len(agents.Items), err)
	}
	labels, _, _ := unstructured.NestedStringMap(agents.Items[0].Object, "spec", "nodeLabels")
	if labels["rack"] != "a" || labels["example.com/site"] != "north" {
		t.Errorf("node labels %v", labels)
	}
	plane, err := hub.New(hub.Config{Kube: s.config.Kube, Namespace: s.config.Namespace, Clock: s.clock})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	if err := plane.DeleteCluster(t.Context(), s.config.Namespace+"/edge", install.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	left, err := s.admin.Resource(hubapi.Resource(hubapi.KindAgentClassification)).Namespace(s.config.Namespace).List(t.Context(), metav1.ListOptions{})
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
	s := newStage(t, cluster, simulated.Config{Webhooks: true})
	desired := &model.Desired{Spec: cluster, Options: model.Options{AddNodes: true}}
	result, written := s.run(t, desired, nil)
	slices.Sort(result.Plan.Added)
	if result.Verdict != model.VerdictInstalled || strings.Join(result.Plan.Added, " ") != "w-0 w-1" {
		t.Fatalf("verdict %s, added %v", result.Verdict, result.Plan.Added)
	}
	for path, n := range written {
		if n > 2 {
			t.Errorf("%s was written %d times", path, n)
		}
	}
	deployment := s.get(t, hubapi.Resource(hubapi.KindClusterDeployment), "old")
	installed, _, _ := unstructured.NestedBool(deployment.Object, "spec", "installed")
	secret, _, _ := unstructured.NestedString(deployment.Object, "spec", "clusterMetadata", "adminKubeconfigSecretRef", "name")
	if !installed || secret != "old-admin-kubeconfig" {
		t.Errorf("installed %v, kubeconfig in %q", installed, secret)
	}
	if version, _, _ := unstructured.NestedString(s.get(t, hubapi.Resource(hubapi.KindInfraEnv), "old").Object, "spec", "osImageVersion"); version != "4.20" {
		t.Errorf("the live system is of %q", version)
	}
	if _, written := s.run(t, desired, nil); len(written) > 0 {
		t.Errorf("a second run writes %v", written)
	}
}
