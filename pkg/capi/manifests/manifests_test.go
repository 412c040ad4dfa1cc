package manifests_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/pkg/capi/api"
	"github.com/oaictl/oaictl/pkg/capi/manifests"
)

// read reads the objects of a folder, by the names of their files.
func read(t *testing.T, folder string) map[string][]*unstructured.Unstructured {
	t.Helper()
	names, err := fs.Glob(manifests.Files(), folder+"/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has %d files: %v", folder, len(names), err)
	}
	objects := map[string][]*unstructured.Unstructured{}
	for _, name := range names {
		content, err := fs.ReadFile(manifests.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(document, &o.Object); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			objects[path.Base(name)] = append(objects[path.Base(name)], o)
		}
	}
	return objects
}

// kinds are the kinds of the providers: their versions, with the stored one first, and the labels by which Cluster API
// finds contracts.
var kinds = map[schema.GroupKind]struct {
	provider string
	versions []string
	labels   map[string]string
	short    []string
}{
	{Group: "bootstrap.cluster.x-k8s.io", Kind: "OpenshiftAssistedConfig"}: {
		"bootstrap-openshift-assisted", []string{"v1beta1", "v1alpha2", "v1alpha1"}, map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta1"}, []string{"oac", "oacs"},
	},
	{Group: "bootstrap.cluster.x-k8s.io", Kind: "OpenshiftAssistedConfigTemplate"}: {
		"bootstrap-openshift-assisted", []string{"v1beta1", "v1alpha2", "v1alpha1"}, map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta1"}, []string{"oact", "oacts"},
	},
	{Group: "controlplane.cluster.x-k8s.io", Kind: "OpenshiftAssistedControlPlane"}: {
		"control-plane-openshift-assisted", []string{"v1beta1", "v1alpha3", "v1alpha2"}, map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta1"}, []string{"oacp", "oacps"},
	},
	{Group: "controlplane.cluster.x-k8s.io", Kind: "OpenshiftAssistedControlPlaneTemplate"}: {
		"control-plane-openshift-assisted", []string{"v1beta1"}, map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta1"}, []string{"oacpt", "oacpts"},
	},
	{Group: "capi-provider.agent-install.openshift.io", Kind: "AgentCluster"}: {
		"infrastructure-agent", []string{"v1beta2", "v1beta1", "v1alpha1"}, map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta2", "cluster.x-k8s.io/v1beta1": "v1beta1"}, nil,
	},
	{Group: "capi-provider.agent-install.openshift.io", Kind: "AgentClusterTemplate"}: {
		"infrastructure-agent", []string{"v1beta2"}, map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta2"}, nil,
	},
	{Group: "capi-provider.agent-install.openshift.io", Kind: "AgentMachine"}: {
		"infrastructure-agent", []string{"v1beta2", "v1beta1", "v1alpha1"}, map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta2", "cluster.x-k8s.io/v1beta1": "v1beta1"}, nil,
	},
	{Group: "capi-provider.agent-install.openshift.io", Kind: "AgentMachineTemplate"}: {
		"infrastructure-agent", []string{"v1beta2", "v1beta1", "v1alpha1"}, map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta2", "cluster.x-k8s.io/v1beta1": "v1beta1"}, []string{"agentmt"},
	},
}

func TestDefinitions(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	definitions := read(t, "crd")
	for kind, want := range kinds {
		t.Run(kind.Kind, func(t *testing.T) {
			name := contract.CalculateCRDName(kind.Group, kind.Kind)
			objects := definitions[name+".yaml"]
			if len(objects) != 1 {
				t.Fatalf("%s.yaml holds %d objects", name, len(objects))
			}
			o := objects[0]
			if o.GetName() != name || o.GetKind() != "CustomResourceDefinition" {
				t.Errorf("it is the %s %s", o.GetKind(), o.GetName())
			}
			labels := map[string]string{"cluster.x-k8s.io/provider": want.provider}
			for key, value := range want.labels {
				labels[key] = value
			}
			if !reflect.DeepEqual(o.GetLabels(), labels) {
				t.Errorf("labels are %v, want %v", o.GetLabels(), labels)
			}
			categories, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "names", "categories")
			short, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "names", "shortNames")
			if !slices.Equal(categories, []string{"cluster-api"}) || !slices.Equal(short, want.short) {
				t.Errorf("categories are %q, short names %q", categories, short)
			}
			checkVersions(t, scheme, o, kind, want.versions)
		})
	}
	if len(definitions) != len(kinds) {
		t.Errorf("there are %d definitions of %d kinds", len(definitions), len(kinds))
	}
}

func checkVersions(t *testing.T, scheme *runtime.Scheme, o *unstructured.Unstructured, kind schema.GroupKind, want []string) {
	t.Helper()
	versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	var names []string
	for _, each := range versions {
		version, _ := each.(map[string]any)
		name, _ := version["name"].(string)
		names = append(names, name)
		if version["served"] != true || version["storage"] != (name == want[0]) {
			t.Errorf("%s is served: %v, stored: %v", name, version["served"], version["storage"])
		}
		if !scheme.Recognizes(kind.WithVersion(name)) {
			t.Errorf("no scheme knows %s", name)
		}
		if older := name != want[0] && name != "v1beta1"; older != (version["deprecated"] == true) {
			t.Errorf("%s is deprecated: %v", name, version["deprecated"])
		}
	}
	slices.Sort(names)
	sorted := slices.Sorted(slices.Values(want))
	if !slices.Equal(names, sorted) {
		t.Errorf("versions are %q, want %q", names, sorted)
	}
	conversion, _, _ := unstructured.NestedMap(o.Object, "spec", "conversion")
	text, _ := json.Marshal(conversion)
	if converts := strings.Contains(string(text), `"path":"/convert"`); converts != (len(want) > 1) {
		t.Errorf("conversion is %s", text)
	}
}

// TestWebhooksOfEveryKind finds for every kind a webhook that validates it, in the file of its
// provider and by the path that controller-runtime serves it on.
func TestWebhooksOfEveryKind(t *testing.T) {
	files := read(t, "webhook")
	for kind, want := range kinds {
		plural, _, _ := strings.Cut(contract.CalculateCRDName(kind.Group, kind.Kind), ".")
		path := "/validate-" + strings.ReplaceAll(kind.Group, ".", "-") + "-" + want.versions[0] + "-" + strings.ToLower(kind.Kind)
		found := false
		for _, o := range files[want.provider+".yaml"] {
			if o.GetLabels()["cluster.x-k8s.io/provider"] != want.provider || !strings.HasPrefix(o.GetName(), want.provider+"-") {
				t.Errorf("%s %s has the labels %v", o.GetKind(), o.GetName(), o.GetLabels())
			}
			text, err := json.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			found = found || o.GetKind() == "ValidatingWebhookConfiguration" && strings.Contains(string(text), `"path":"`+path+`"`) &&
				strings.Contains(string(text), `"resources":["`+plural+`"]`)
		}
		if !found {
			t.Errorf("nothing in %s.yaml validates %s by %s", want.provider, plural, path)
		}
	}
}

// TestOlderVersionsFillInNothing: an API server fills in the defaults of the version that an object is written by. A
// default of an older version would change an object that was stored without it, as soon as any client writes a label
// to it.
func TestOlderVersionsFillInNothing(t *testing.T) {
	for name, objects := range read(t, "crd") {
		versions, _, _ := unstructured.NestedSlice(objects[0].Object, "spec", "versions")
		for _, each := range versions {
			version, _ := each.(map[string]any)
			if version["storage"] == true {
				continue
			}
			root, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
			for _, field := range defaults(root, "") {
				t.Errorf("%s: version %s has a default of %s", name, version["name"], field)
			}
		}
	}
}

// defaults are the fields of a schema that get a value where none is given. Empty text is no value.
func defaults(of map[string]any, at string) []string {
	var found []string
	if value, said := of["default"]; said && value != "" {
		found = append(found, at)
	}
	properties, _ := of["properties"].(map[string]any)
	for name, property := range properties {
		if below, is := property.(map[string]any); is {
			found = append(found, defaults(below, at+"."+name)...)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, is := of[key].(map[string]any); is {
			found = append(found, defaults(below, at+"[]")...)
		}
	}
	return found
}
