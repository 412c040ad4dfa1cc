//go:build e2e

package kubetest_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/kubetest"
)

// managed is a namespace of a management cluster.
type managed struct {
	*kubetest.Management
	namespace string
	objects   dynamic.Interface
}

func (m *managed) of(version, resource string) dynamic.ResourceInterface {
	group := "cluster.x-k8s.io"
	if strings.HasPrefix(resource, "standin") {
		group = "infrastructure.cluster.x-k8s.io"
	}
	return m.objects.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).Namespace(m.namespace)
}

func (m *managed) create(t *testing.T, version, resource, text string) error {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", "  ")), &o.Object); err != nil {
		t.Fatal(err)
	}
	_, err := m.of(version, resource).Create(t.Context(), o, metav1.CreateOptions{})
	return err
}

// patch says what a provider would.
func (m *managed) patch(t *testing.T, resource, name, text string, subresources ...string) {
	t.Helper()
	if _, err := m.of("v1", resource).Patch(t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{}, subresources...); err != nil {
		t.Fatal(err)
	}
}

func (m *managed) field(t *testing.T, version, resource, name string, path ...string) string {
	t.Helper()
	o, err := m.of(version, resource).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return fmt.Sprint(value)
}

// TestManagementRunsTheCoreOfClusterAPI takes a Cluster and a Machine of a provider that does
// nothing by itself through their lives.
func TestManagementRunsTheCoreOfClusterAPI(t *testing.T) {
	m := &managed{Management: kubetest.StartManagement(t, kubetest.ManagementConfig{
		FeatureGates: map[string]bool{"ClusterTopology": true, "RuntimeSDK": true, "InPlaceUpdates": true}, Flags: []string{"--sync-period=1m"},
	})}
	var err error
	if m.objects, err = dynamic.NewForConfig(m.Config); err != nil {
		t.Fatal(err)
	}
	if err := m.Install(t.Context(), nil, "testdata/standin.yaml"); err != nil {
		t.Fatal(err)
	}
	m.namespace = m.Namespace(t)
	m.provision(t)
	t.Run("admission is asked", func(t *testing.T) {
		err := m.create(t, "v1beta2", "machines", `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: bad}, spec: {clusterName: c, version: old,
			bootstrap: {dataSecretName: none}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: StandInMachine, name: none}}}`)
		if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
			t.Errorf("a machine of version old: %v", err)
		}
	})
	t.Run("versions are converted", func(t *testing.T) {
		if got := m.field(t, "v1beta1", "machines", "one", "spec", "infrastructureRef", "namespace"); got != m.namespace {
			t.Errorf("its infrastructure is in namespace %s, of which v1beta2 does not know", got)
		}
	})
	t.Run("kinds of Metal3 are converted", m.convertMetal3)
	t.Run("clusterctl reads it", m.describe)
	t.Run("clusters are deleted", func(t *testing.T) {
		if err := m.of("v1beta2", "clusters").Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the cluster is gone", func() bool {
			_, err := m.of("v1beta2", "clusters").Get(t.Context(), "c", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
		if _, err := m.of("v1", "standinmachines").Get(t.Context(), "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("its machine's infrastructure: %v", err)
		}
	})
}

func (m *managed) provision(t *testing.T) {
	t.Helper()
	for resource, text := range map[string]string{
		"standinclusters": `{apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: StandInCluster, metadata: {name: c}, spec: {}}`,
		"standinmachines": `{apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: StandInMachine, metadata: {name: one}, spec: {}}`,
	} {
		if err := m.create(t, "v1", resource, text); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range []struct{ resource, text string }{
		{"clusters", `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c}, spec: {controlPlaneEndpoint: {host: 192.0.2.1, port: 6443},
			infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: StandInCluster, name: c}}}`},
		{"machines", `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: one, labels: {cluster.x-k8s.io/control-plane: ""}}, spec: {clusterName: c, version: v1.36.0,
			bootstrap: {dataSecretName: data}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: StandInMachine, name: one}}}`},
	} {
		if err := m.create(t, "v1beta2", object.resource, object.text); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the core owns its provider's objects", func() bool {
		return m.field(t, "v1", "standinclusters", "c", "metadata", "ownerReferences") != "<nil>"
	})
	m.patch(t, "standinclusters", "c", `{"status": {"initialization": {"provisioned": true}}}`, "status")
	eventually(t, "the cluster is Provisioned", func() bool { return m.field(t, "v1beta2", "clusters", "c", "status", "phase") == "Provisioned" })
	m.patch(t, "standinmachines", "one", `{"spec": {"providerID": "standin://one"}}`)
	m.patch(t, "standinmachines", "one", `{"status": {"initialization": {"provisioned": true}}}`, "status")
	eventually(t, "the machine is Provisioned", func() bool { return m.field(t, "v1beta2", "machines", "one", "status", "phase") == "Provisioned" })
	kubeconfig, err := os.ReadFile(m.Kubeconfig(t)) // of the management cluster: its nodes are the cluster's
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Client.CoreV1().Secrets(m.namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "c-kubeconfig", Labels: map[string]string{"cluster.x-k8s.io/cluster-name": "c"}},
		Type:       "cluster.x-k8s.io/secret", Data: map[string][]byte{"value": kubeconfig},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: corev1.NodeSpec{ProviderID: "standin://one"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the machine has its node", func() bool {
		return m.field(t, "v1beta2", "machines", "one", "status", "nodeRef", "name") == "one"
	})
	eventually(t, "the control plane is initialized", func() bool {
		return strings.Contains(m.field(t, "v1beta2", "clusters", "c", "status", "conditions"), "status:True type:ControlPlaneInitialized")
	})
}

// describe has clusterctl look, and find what it would move.
func (m *managed) describe(t *testing.T) {
	kubeconfig, folder := m.Kubeconfig(t), t.TempDir()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"describe", "cluster", "c", "-n", m.namespace, "--show-conditions", "all"}, "StandInCluster " + m.namespace + "/c"},
		{[]string{"get", "kubeconfig", "c", "-n", m.namespace}, "server: " + m.Config.Host},
		{[]string{"move", "-n", m.namespace, "--to-directory", folder, "--dry-run", "-v", "5"}, `Saving Machine="one"`},
	} {
		command := exec.CommandContext(t.Context(), m.Clusterctl(), append(test.args, "--kubeconfig", kubeconfig)...)
		command.Env = append(os.Environ(), "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME="+t.TempDir(), "GOPROXY=off")
		out, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(out), test.want) {
			t.Errorf("clusterctl %s: %v\n%s", strings.Join(test.args, " "), err, out)
		}
	}
}

// convertMetal3 writes objects in one version, and reads them in the other.
func (m *managed) convertMetal3(t *testing.T) {
	metal3 := func(version, resource string) dynamic.ResourceInterface {
		return m.objects.Resource(schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: version, Resource: resource}).Namespace(m.namespace)
	}
	get := func(version, resource, name string, path ...string) string {
		t.Helper()
		o, err := metal3(version, resource).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
		return fmt.Sprint(value)
	}
	for resource, text := range map[string]string{
		"metal3machinetemplates": `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3MachineTemplate, metadata: {name: old}, spec: {template: {spec: {image: {url: "http://i", checksum: "", format: live-iso}}}}}`,
		"metal3clusters": `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Cluster, metadata: {name: old}, spec: {controlPlaneEndpoint: {host: h, port: 6443},
			cloudProviderEnabled: false, failureDomains: {b: {controlPlane: true}, a: {}}}}`,
	} {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", " ")), &o.Object); err != nil {
			t.Fatal(err)
		}
		if _, err := metal3("v1beta1", resource).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	cluster, err := metal3("v1beta2", "metal3clusters").Get(t.Context(), "old", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Object["status"] = map[string]any{"initialization": map[string]any{"provisioned": true}}
	if _, err := metal3("v1beta2", "metal3clusters").UpdateStatus(t.Context(), cluster, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		version, resource, want string
		path                    []string
	}{
		{"v1beta2", "metal3machinetemplates", "live-iso", []string{"spec", "template", "spec", "image", "diskFormat"}},
		{"v1beta1", "metal3machinetemplates", "live-iso", []string{"spec", "template", "spec", "image", "format"}},
		{"v1beta2", "metal3clusters", "[map[name:a] map[controlPlane:true name:b]]", []string{"spec", "failureDomains"}},
		{"v1beta1", "metal3clusters", "true", []string{"spec", "noCloudProvider"}},
		{"v1beta1", "metal3clusters", "true", []string{"status", "ready"}},
	} {
		if got := get(test.version, test.resource, "old", test.path...); got != test.want {
			t.Errorf("%s %s: %v is %s, want %s", test.version, test.resource, test.path, got, test.want)
		}
	}
}
