//go:build e2e

package webhook_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/pkg/capi/manifests"
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

// TestOlderManifestsHaveEveryField compares the manifests with the schemas.
func TestOlderManifestsHaveEveryField(t *testing.T) {
	for name, apart := range map[string][]string{ // what the manifest leaves to the test that uses it
		"config.yaml": nil, "controlplane.yaml": {"machineTemplate", "openshiftAssistedConfigSpec"}, "agentcluster.yaml": nil, "agentmachine.yaml": nil,
	} {
		o := older(t, name)
		schema := specOf(t, o)
		for _, missing := range missingFields(&schema, o.Object["spec"], "") {
			if !within(apart, missing) {
				t.Errorf("%s does not have the field %s", name, missing)
			}
		}
	}
}

// specOf is the schema of what an object specifies, in its version.
func specOf(t *testing.T, o *unstructured.Unstructured) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	kind := o.GroupVersionKind()
	text, err := fs.ReadFile(manifests.Files(), "crd/"+contract.CalculateCRDName(kind.Group, kind.Kind)+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, definition); err != nil {
		t.Fatal(err)
	}
	for _, version := range definition.Spec.Versions {
		if version.Name == kind.Version {
			return version.Schema.OpenAPIV3Schema.Properties["spec"]
		}
	}
	t.Fatalf("there is no %s", kind)
	return apiextensionsv1.JSONSchemaProps{}
}

func within(parents []string, field string) bool {
	for _, parent := range parents {
		if field == parent || strings.HasPrefix(field, parent+".") {
			return true
		}
	}
	return false
}

// missingFields are the fields of a schema that a value does not have.
func missingFields(of *apiextensionsv1.JSONSchemaProps, value any, path string) []string {
	var missing []string
	switch content := value.(type) {
	case nil:
		return []string{path}
	case []any:
		if len(content) > 0 {
			return missingFields(of.Items.Schema, content[0], path)
		}
	case map[string]any:
		for name, field := range of.Properties {
			missing = append(missing, missingFields(&field, content[name], strings.TrimPrefix(path+"."+name, "."))...)
		}
	}
	return missing
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
