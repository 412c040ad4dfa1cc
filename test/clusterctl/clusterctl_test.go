//go:build e2e

package clusterctl

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/capi/manifests/components"
)

// noteCore has clusterctl know of the core manager, and gives the lines of a clusterctl.yaml by which it
// finds the core's metadata.
func noteCore(t *testing.T, m *kubetest.Management, writer client.Client) string {
	t.Helper()
	version, module := kubetest.CoreModule(t)
	m.AddInventory(t)
	must.Do(t, m.Install(t.Context(), nil, "testdata/cert-manager.yaml"))
	const namespace = "capi-system"
	for _, o := range objectsOf(t, fmt.Appendf(nil, `{apiVersion: v1, kind: Namespace, metadata: {name: %s}}
---
{apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3, kind: Provider, metadata: {name: cluster-api, namespace: %[1]s,
  labels: {clusterctl.cluster.x-k8s.io: "", cluster.x-k8s.io/provider: cluster-api, clusterctl.cluster.x-k8s.io/core: inventory}},
  providerName: cluster-api, type: CoreProvider, version: %[2]s}`, namespace, version)) {
		must.Do(t, writer.Create(t.Context(), o))
	}
	folder := filepath.Join(t.TempDir(), "cluster-api", version)
	must.Do(t, os.MkdirAll(folder, 0o755))
	metadata := must.Get(os.ReadFile(filepath.Join(module, "metadata.yaml")))(t)
	for name, content := range map[string][]byte{"metadata.yaml": metadata, "core-components.yaml": []byte("{}\n")} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	return fmt.Sprintf("- name: cluster-api\n  type: CoreProvider\n  url: %q\n", filepath.Join(folder, "core-components.yaml"))
}

func names() []string {
	return []string{"--bootstrap", "openshift-assisted", "--control-plane", "openshift-assisted", "--infrastructure", "agent"}
}

// TestInit installs the providers by clusterctl init from a local repository, upgrades them, and deletes them
// again.
func TestInit(t *testing.T) {
	m := management.Start(t)
	writer := must.Get(client.New(m.Config, client.Options{}))(t)
	config := writeRepository(t, noteCore(t, m, writer))
	kubeconfig := m.Kubeconfig(t)
	if out, err := clusterctl(t, m, config, nil, append([]string{"init", "--kubeconfig", kubeconfig}, names()...)...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range components.Names() {
		p := must.Get(components.Of(name))(t)
		for _, want := range componentsOf(t, p, components.Options{}) {
			got := &unstructured.Unstructured{}
			got.SetGroupVersionKind(want.GroupVersionKind())
			if err := writer.Get(t.Context(), client.ObjectKeyFromObject(want), got); err != nil {
				t.Errorf("%s %s: %v", want.GetKind(), want.GetName(), err)
				continue
			}
			labels := got.GetLabels()
			if _, moved := labels["clusterctl.cluster.x-k8s.io"]; labels[components.LabelKey] != p.Label() || !moved {
				t.Errorf("%s %s has the labels %v", want.GetKind(), want.GetName(), labels)
			}
		}
	}
	checkUpgrade(t, m, writer, config, kubeconfig)
	for named := range slices.Chunk(names(), 2) { // one by one: clusterctl lists the kinds of the one before, which are about to go, and fails if they do
		if out, err := clusterctl(t, m, config, nil, append([]string{"delete", "--kubeconfig", kubeconfig, "--include-crd", "--include-namespace"}, named...)...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		p := must.Get(components.Of(strings.TrimPrefix(named[0], "--")))(t)
		eventually(t, "nothing is left of "+named[0], func() (bool, string) {
			now := left(t, m, p)
			return now == "", now
		})
	}
}

// checkUpgrade has clusterctl find the next release in the repository, and upgrade to it.
func checkUpgrade(t *testing.T, m *kubetest.Management, writer client.Client, config, kubeconfig string) {
	t.Helper()
	const next = "v0.1.1"
	core := must.Get(os.ReadFile(config))(t)
	addRelease(t, filepath.Dir(config), next, "")
	if err := os.WriteFile(config, core, 0o600); err != nil { // as it was: the release before is still what is named
		t.Fatal(err)
	}
	out, err := clusterctl(t, m, config, nil, "upgrade", "plan", "--kubeconfig", kubeconfig)
	if err != nil || strings.Count(out, next) < len(components.Names()) {
		t.Fatalf("%v\n%s", err, out)
	}
	args := []string{"upgrade", "apply", "--kubeconfig", kubeconfig}
	for named := range slices.Chunk(names(), 2) {
		args = append(args, named[0], named[1]+":"+next)
	}
	if out, err := clusterctl(t, m, config, nil, args...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range components.Names() {
		p := must.Get(components.Of(name))(t)
		for _, want := range componentsOf(t, p, components.Options{Version: next}) {
			if want.GetKind() != "Deployment" {
				continue
			}
			got := &unstructured.Unstructured{}
			got.SetGroupVersionKind(want.GroupVersionKind())
			if err := writer.Get(t.Context(), client.ObjectKeyFromObject(want), got); err != nil {
				t.Error(err)
				continue
			}
			if text := fmt.Sprint(got.Object["spec"]); !strings.Contains(text, components.DefaultImage(next)) {
				t.Errorf("%s does not run %s: %s", want.GetName(), next, text)
			}
		}
	}
}

// left is what the API server has of a provider: one of its kinds, or its namespace.
func left(t *testing.T, m *kubetest.Management, p components.Provider) string {
	t.Helper()
	kinds := must.Get(p.Kinds())(t)
	_, lists, err := m.Client.Discovery().ServerGroupsAndResources()
	if err != nil {
		return err.Error()
	}
	for _, list := range lists {
		group, _, _ := strings.Cut(list.GroupVersion, "/")
		for _, r := range list.APIResources {
			if name := r.Name + "." + group; slices.ContainsFunc(kinds, func(k components.Kind) bool { return k.Definition == name }) {
				return name
			}
		}
	}
	if _, err := m.Client.CoreV1().Namespaces().Get(t.Context(), p.Namespace(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Sprint(p.Namespace(), " ", err)
	}
	return ""
}

// values are those of the variables that templates need.
func values() []string {
	return []string{
		"OPENSHIFT_VERSION=4.20.33", "OPENSHIFT_BASE_DOMAIN=example.com", "OPENSHIFT_API_VIP=192.0.2.100", "OPENSHIFT_INGRESS_VIP=192.0.2.101",
		"OPENSHIFT_MACHINE_NETWORK=192.0.2.0/24", "OPENSHIFT_IMAGE_URL=http://images.example.com/rhcos.qcow2", "OPENSHIFT_IMAGE_CHECKSUM=abc",
	}
}

// TestTemplates renders every template with the real clusterctl, and applies the result to the API server: by its
// schemas, by our webhooks and by those of Cluster API.
func TestTemplates(t *testing.T) {
	m := management.Start(t)
	writer := must.Get(client.New(m.Config, client.Options{}))(t)
	for _, name := range components.Names() {
		x := install(t, m, name)
		x.start(t)
		x.awaitReady(t)
	}
	config, kubeconfig := writeRepository(t, ""), m.Kubeconfig(t)
	for _, flavour := range []string{"", "sno", "compact", "ha", "metal3", "agents"} {
		t.Run("flavour-"+flavour, func(t *testing.T) {
			namespace := m.Namespace(t)
			for _, o := range generate(t, m, config, kubeconfig, namespace, flavour) {
				if err := writer.Create(t.Context(), o, client.DryRunAll); err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
			}
		})
	}
	t.Run("topology", func(t *testing.T) { checkTopology(t, m, writer, config, kubeconfig) })
}

func generate(t *testing.T, m *kubetest.Management, config, kubeconfig, namespace, flavour string) []*unstructured.Unstructured {
	t.Helper()
	out := must.Get(clusterctl(t, m, config, values(), "generate", "cluster", "lab", "--kubeconfig", kubeconfig, "-n", namespace, "--infrastructure", "agent:v0.1.0",
		"--flavor", flavour, "--kubernetes-version", "v1.33.5", "--control-plane-machine-count", "3", "--worker-machine-count", "2"))(t)
	return objectsOf(t, []byte(out))
}

// checkTopology makes a Cluster by the ClusterClass, and waits for what Cluster API makes of it.
func checkTopology(t *testing.T, m *kubetest.Management, writer client.Client, config, kubeconfig string) {
	namespace := m.Namespace(t)
	objects := generate(t, m, config, kubeconfig, namespace, "topology")
	isCluster := func(o *unstructured.Unstructured) bool { return o.GetKind() == "Cluster" }
	if !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "ClusterClass" }) {
		t.Fatal("clusterctl adds no ClusterClass")
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { // a Cluster is refused without its class
		return map[bool]int{true: 1}[isCluster(a)] - map[bool]int{true: 1}[isCluster(b)]
	})
	for _, o := range objects {
		last := ""
		eventually(t, o.GetKind()+" "+o.GetName()+" is taken", func() (bool, string) {
			err := writer.Create(t.Context(), o)
			if err != nil {
				last = err.Error()
			}
			return err == nil, last
		})
	}
	list := func(group, version, kind string) []unstructured.Unstructured {
		of := &unstructured.UnstructuredList{}
		of.SetAPIVersion(group + "/" + version)
		of.SetKind(kind + "List")
		if err := writer.List(t.Context(), of, client.InNamespace(namespace)); err != nil && !meta.IsNoMatchError(err) {
			t.Fatal(err)
		}
		return of.Items
	}
	eventually(t, "the Cluster has its control plane", func() (bool, string) {
		planes := list("controlplane.cluster.x-k8s.io", "v1beta1", "OpenshiftAssistedControlPlane")
		if len(planes) != 1 {
			return false, conditionsOf(list("cluster.x-k8s.io", "v1beta2", "Cluster"))
		}
		text := fmt.Sprint(planes[0].Object["spec"])
		for _, want := range []string{"replicas:3", "version:v1.33.5", "distributionVersion:4.20.33", "baseDomain:example.com", "apiVIPs:[192.0.2.100]", "type:OnDelete"} {
			if !strings.Contains(text, want) {
				t.Fatalf("%q is not in %s", want, text)
			}
		}
		return true, ""
	})
	eventually(t, "the Cluster has its workers", func() (bool, string) {
		deployments := list("cluster.x-k8s.io", "v1beta2", "MachineDeployment")
		if len(deployments) != 1 {
			return false, conditionsOf(list("cluster.x-k8s.io", "v1beta2", "Cluster"))
		}
		strategy, _, _ := unstructured.NestedString(deployments[0].Object, "spec", "rollout", "strategy", "type")
		replicas, _, _ := unstructured.NestedInt64(deployments[0].Object, "spec", "replicas")
		if strategy != "OnDelete" || replicas != 2 {
			t.Fatalf("it has %d workers with strategy %s", replicas, strategy)
		}
		return true, ""
	})
	eventually(t, "the control plane has hosts of the pool", func() (bool, string) {
		hosts := list("capi-provider.agent-install.openshift.io", "v1beta2", "AgentMachine")
		hosts = slices.DeleteFunc(hosts, func(o unstructured.Unstructured) bool {
			_, is := o.GetLabels()["cluster.x-k8s.io/control-plane"]
			return !is
		})
		return len(hosts) == 3, conditionsOf(list("controlplane.cluster.x-k8s.io", "v1beta1", "OpenshiftAssistedControlPlane"))
	})
	for _, o := range objects {
		if isCluster(o) {
			must.Do(t, writer.Delete(t.Context(), o))
		}
	}
	eventually(t, "the Cluster is deleted, and its control plane with it", func() (bool, string) {
		clusters, planes := list("cluster.x-k8s.io", "v1beta2", "Cluster"), list("controlplane.cluster.x-k8s.io", "v1beta1", "OpenshiftAssistedControlPlane")
		return len(clusters)+len(planes) == 0, conditionsOf(slices.Concat(clusters, planes))
	})
}

func conditionsOf(objects []unstructured.Unstructured) string {
	var texts []string
	for i := range objects {
		conditions, _, _ := unstructured.NestedSlice(objects[i].Object, "status", "conditions")
		for _, each := range conditions {
			condition, _ := each.(map[string]any)
			texts = append(texts, fmt.Sprintf("%v=%v %v", condition["type"], condition["status"], condition["message"]))
		}
	}
	return strings.Join(texts, "; ")
}
