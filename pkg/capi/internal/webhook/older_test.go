//go:build e2e

package webhook_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1beta1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta1"
	bootstrapv1alpha2 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1alpha2"
	controlplanev1alpha3 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1alpha3"
)

// older reads a manifest of testdata.
func older(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "older", name))
	if err != nil {
		t.Fatal(err)
	}
	o := manifest(t, "", string(text))
	if _, there, _ := unstructured.NestedString(o.Object, "spec", "additionalTrustBundle"); there {
		certificate, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "examples", "shared", "mirror-ca.pem"))
		if err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedField(o.Object, string(certificate), "spec", "additionalTrustBundle"); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// TestOlderManifestsHaveEveryField compares the manifests with the types.
func TestOlderManifestsHaveEveryField(t *testing.T) {
	for name, c := range map[string]struct {
		of    reflect.Type
		apart []string // what the manifest leaves to the test that uses it
	}{
		"config.yaml":       {reflect.TypeFor[bootstrapv1alpha2.OpenshiftAssistedConfigSpec](), nil},
		"controlplane.yaml": {reflect.TypeFor[controlplanev1alpha3.OpenshiftAssistedControlPlaneSpec](), []string{"machineTemplate", "openshiftAssistedConfigSpec"}},
		"agentcluster.yaml": {reflect.TypeFor[agentv1beta1.AgentClusterSpec](), nil},
		"agentmachine.yaml": {reflect.TypeFor[agentv1beta1.AgentMachineSpec](), nil},
	} {
		spec, _, _ := unstructured.NestedMap(older(t, name).Object, "spec")
		for _, missing := range missingFields(c.of, spec, "") {
			if !within(c.apart, missing) {
				t.Errorf("%s does not have the field %s", name, missing)
			}
		}
	}
}

func within(parents []string, field string) bool {
	for _, parent := range parents {
		if field == parent || strings.HasPrefix(field, parent+".") {
			return true
		}
	}
	return false
}

// missingFields are the fields of a type that a value does not have.
func missingFields(of reflect.Type, value any, path string) []string {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch content := value.(type) {
	case nil:
		return []string{path}
	case []any:
		if of.Kind() != reflect.Slice || len(content) == 0 {
			return nil
		}
		return missingFields(of.Elem(), content[0], path)
	case map[string]any:
		if of.Kind() != reflect.Struct {
			return nil
		}
		var missing []string
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			missing = append(missing, missingFields(field.Type, content[name], strings.TrimPrefix(path+"."+name, "."))...)
		}
		return missing
	}
	return nil
}

// everyOlderField makes objects of every older version with all its fields, and reads them back
// as they were written.
func everyOlderField(t *testing.T, c client.Client, namespace string) {
	config, plane := older(t, "config.yaml"), older(t, "controlplane.yaml")
	spec, _, _ := unstructured.NestedMap(config.Object, "spec")
	oldest, _, _ := unstructured.NestedMap(older(t, "config.yaml").Object, "spec")
	for _, name := range []string{"preBootstrapCommands", "postBootstrapCommands", "bootstrapCommandSentinelDir", "postBootstrapKubeconfigPath"} {
		delete(oldest, name)
	}
	unstructured.RemoveNestedField(oldest, "nodeRegistration", "providerID")
	metadata := map[string]any{"labels": map[string]any{"a": "b"}, "annotations": map[string]any{"c": "d"}}
	resource := map[string]any{"template": map[string]any{"metadata": metadata, "spec": spec}}
	oldestResource := map[string]any{"template": map[string]any{"metadata": metadata, "spec": oldest}}

	v1alpha2 := plane.DeepCopy()
	v1alpha2.SetAPIVersion("controlplane.cluster.x-k8s.io/v1alpha2")
	v1alpha2.SetName("every-field-v1alpha2")
	err := errors.Join(
		unstructured.SetNestedMap(plane.Object, spec, "spec", "openshiftAssistedConfigSpec"),
		unstructured.SetNestedMap(plane.Object, map[string]any{
			"metadata":          metadata,
			"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3MachineTemplate", "name": "lab"},
			"deletion":          map[string]any{"nodeDrainTimeoutSeconds": int64(1), "nodeVolumeDetachTimeoutSeconds": int64(2), "nodeDeletionTimeoutSeconds": int64(3)},
		}, "spec", "machineTemplate"),
		unstructured.SetNestedMap(v1alpha2.Object, oldest, "spec", "openshiftAssistedConfigSpec"),
		unstructured.SetNestedMap(v1alpha2.Object, map[string]any{
			"metadata":          metadata,
			"infrastructureRef": map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3MachineTemplate", "name": "lab", "namespace": namespace},
			"nodeDrainTimeout":  "1s", "nodeVolumeDetachTimeout": "2s", "nodeDeletionTimeout": "3s",
		}, "spec", "machineTemplate"),
	)
	if err != nil {
		t.Fatal(err)
	}
	made := func(version, kind, name string, spec map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		o.SetAPIVersion(version)
		o.SetKind(kind)
		o.SetName(name)
		return o
	}
	machineSpec, _, _ := unstructured.NestedMap(older(t, "agentmachine.yaml").Object, "spec")
	delete(machineSpec, "providerID") // every machine has its own
	machineTemplate := map[string]any{"template": map[string]any{"spec": machineSpec}}
	const bootstrap, agents = "bootstrap.cluster.x-k8s.io/", "capi-provider.agent-install.openshift.io/"
	objects := []*unstructured.Unstructured{
		config, made(bootstrap+"v1alpha1", "OpenshiftAssistedConfig", "oldest", oldest),
		made(bootstrap+"v1alpha2", "OpenshiftAssistedConfigTemplate", "old", resource), made(bootstrap+"v1alpha1", "OpenshiftAssistedConfigTemplate", "oldest", oldestResource),
		plane, v1alpha2,
		made(agents+"v1beta1", "AgentMachineTemplate", "old", machineTemplate), made(agents+"v1alpha1", "AgentMachineTemplate", "oldest", machineTemplate),
	}
	for _, name := range []string{"agentcluster.yaml", "agentmachine.yaml"} {
		old, oldest := older(t, name), older(t, name)
		oldest.SetAPIVersion(agents + "v1alpha1")
		oldest.SetName("oldest")
		objects = append(objects, old, oldest)
	}
	for _, o := range objects {
		o.SetNamespace(namespace)
		t.Run(o.GetKind()+" "+o.GetAPIVersion(), func(t *testing.T) {
			want, _, _ := unstructured.NestedMap(o.DeepCopy().Object, "spec")
			if err := c.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			read := made(o.GetAPIVersion(), o.GetKind(), "", nil)
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), read); err != nil {
				t.Fatal(err)
			}
			got, _, _ := unstructured.NestedMap(read.Object, "spec")
			if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
				t.Errorf("it is read back with other fields: %s", diff)
			}
		})
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
