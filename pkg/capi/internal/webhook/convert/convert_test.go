package convert

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/pkg/capi/api"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

func FuzzConfig(f *testing.F)               { fuzzKind(f, &bootstrapv1.OpenshiftAssistedConfig{}) }
func FuzzConfigTemplate(f *testing.F)       { fuzzKind(f, &bootstrapv1.OpenshiftAssistedConfigTemplate{}) }
func FuzzControlPlane(f *testing.F)         { fuzzKind(f, &controlplanev1.OpenshiftAssistedControlPlane{}) }
func FuzzAgentCluster(f *testing.F)         { fuzzKind(f, &agentv1.AgentCluster{}) }
func FuzzAgentMachine(f *testing.F)         { fuzzKind(f, &agentv1.AgentMachine{}) }
func FuzzAgentMachineTemplate(f *testing.F) { fuzzKind(f, &agentv1.AgentMachineTemplate{}) }

// fuzzKind converts random objects of a kind to and fro between the hub and each other
// version.
func fuzzKind(f *testing.F, hub client.Object) {
	for seed := range int64(60) {
		f.Add(seed)
	}
	c := converterOf(f, hub)
	definition, err := definitionOf(c.hub)
	if err != nil {
		f.Fatal(err)
	}
	stored := definition.Spec.Versions[slices.IndexFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })]
	f.Fuzz(func(t *testing.T, seed int64) {
		fill := filler{rand.New(rand.NewSource(seed)), true}
		for version, older := range c.older {
			hub := fill.object(stored.Schema.OpenAPIV3Schema)
			if err := c.normalize(hub); err != nil {
				t.Fatal(err)
			}
			hubComesBack(t, c, version, hub)
			said := filler{fill.Rand, false}
			spokeComesBack(t, c, version, sound(t, said.object(older.schema), older))
			editCounts(t, c, version, hub, sound(t, said.object(older.schema), older))
		}
	})
}

func converterOf(t testing.TB, hub client.Object) *converter {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := newConverter(scheme, hub)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func hubComesBack(t *testing.T, c *converter, version string, hub *unstructured.Unstructured) {
	t.Helper()
	before := hub.DeepCopy()
	spoke, err := c.toOlder(version, hub)
	if err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(before, hub) {
		t.Fatalf("converting to %s changed the stored object:\n%s", version, cmp.Diff(before, hub))
	}
	after, err := c.toHub(version, spoke)
	if err != nil {
		t.Fatal(err)
	}
	// The reference in v1alpha2's form is about the present reference, or is nothing.
	takeAnnotation(after, controlplanev1.InfrastructureRefAnnotation)
	if !equality.Semantic.DeepEqual(before, after) {
		t.Fatalf("through %s:\n%s", version, cmp.Diff(before, after))
	}
}

func spokeComesBack(t *testing.T, c *converter, version string, spoke *unstructured.Unstructured) {
	t.Helper()
	after := through(t, c, version, spoke)
	if !equality.Semantic.DeepEqual(content(spoke), content(after)) {
		t.Fatalf("%s through the hub:\n%s", version, cmp.Diff(content(spoke), content(after)))
	}
}

// editCounts changes everything that an older version says of an object, and expects to read
// it back.
func editCounts(t *testing.T, c *converter, version string, hub, edit *unstructured.Unstructured) {
	t.Helper()
	spoke, err := c.toOlder(version, hub)
	if err != nil {
		t.Fatal(err)
	}
	if kept, there := spoke.GetAnnotations()[conversion.DataAnnotation]; there {
		setAnnotation(edit, conversion.DataAnnotation, kept)
	}
	again := through(t, c, version, edit)
	// What older conditions show follows from today's where there are some.
	if !equality.Semantic.DeepEqual(edit.Object["spec"], again.Object["spec"]) {
		t.Fatalf("edited %s:\n%s", version, cmp.Diff(edit.Object["spec"], again.Object["spec"]))
	}
}

// through is an older object that is stored, and read again.
func through(t *testing.T, c *converter, version string, spoke *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	hub, err := c.toHub(version, spoke)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.toOlder(version, hub)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// filler makes random values of a schema.
type filler struct {
	*rand.Rand

	zeros bool // also values that say nothing, as a false flag
}

func (f filler) object(of *apiextensionsv1.JSONSchemaProps) *unstructured.Unstructured {
	content := map[string]any{"metadata": map[string]any{"name": "a", "annotations": map[string]any{"of": "the user"}}}
	for _, part := range []string{"spec", "status"} {
		if schema, has := of.Properties[part]; has && len(schema.Properties) > 0 {
			content[part] = f.value(part, &schema)
		}
	}
	return &unstructured.Unstructured{Object: content}
}

func (f filler) value(name string, of *apiextensionsv1.JSONSchemaProps) any {
	switch {
	case of.XIntOrString && strings.Contains(of.Pattern, "KMGTPE"):
		return fmt.Sprintf("%dGi", 1+f.Intn(100))
	case of.XIntOrString:
		return int64(1 + f.Intn(50))
	case of.Format == "date-time":
		return time.Unix(f.Int63n(1<<31), 0).UTC().Format(time.RFC3339)
	case strings.HasSuffix(name, "Timeout"), strings.HasSuffix(name, "Delay"), strings.HasSuffix(name, "Wait"):
		return (time.Duration(1+f.Intn(1<<20)) * time.Second).String()
	}
	switch of.Type {
	case "boolean":
		return !f.zeros || f.Intn(2) > 0
	case "integer":
		if f.zeros && f.Intn(4) == 0 {
			return int64(0)
		}
		return int64(1 + f.Intn(1<<30))
	case "array":
		var list []any
		for range 1 + f.Intn(2) {
			list = append(list, f.value(name, of.Items.Schema))
		}
		return list
	case "object":
		return f.fields(of)
	}
	if f.zeros && f.Intn(8) == 0 {
		return ""
	}
	return fmt.Sprintf("%s-%d", name, f.Intn(1000))
}

// fields are some of those of an object, and none that is empty.
func (f filler) fields(of *apiextensionsv1.JSONSchemaProps) map[string]any {
	fields := map[string]any{}
	if of.AdditionalProperties != nil {
		key := fmt.Sprintf("key-%d", f.Intn(1000))
		return map[string]any{key: f.value(key, of.AdditionalProperties.Schema)}
	}
	for name, field := range of.Properties {
		required := slices.Contains(of.Required, name)
		if !required && f.Intn(3) == 0 {
			continue
		}
		value := f.value(name, &field)
		if empty, is := value.(map[string]any); required || !is || len(empty) > 0 {
			fields[name] = value
		}
	}
	return fields
}

// sound is an object of an older version as the programs that write it make it.
func sound(t *testing.T, o *unstructured.Unstructured, version *olderVersion) *unstructured.Unstructured {
	t.Helper()
	for path, says := range map[string][2]string{
		"status.infraEnvRef":          {"agent-install.openshift.io/v1beta1", "InfraEnv"},
		"status.clusterDeploymentRef": {"hive.openshift.io/v1", "ClusterDeployment"},
	} {
		if ref, has := take(o, path).(map[string]any); has {
			kept := map[string]any{"apiVersion": says[0], "kind": says[1], "name": "a", "namespace": ref["namespace"]}
			if kept["namespace"] == nil {
				delete(kept, "namespace")
			}
			if err := put(o, path, kept); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := version.fill(o); err != nil {
		t.Fatal(err)
	}
	return o
}
