// Package convert converts the kinds of the three Cluster API providers between
// their versions. One version of each group is stored, and is the hub: every
// other version is converted into it and out of it.
//
// Only the stored versions have Go types. An older version is what its schema in the
// CustomResourceDefinition says, and a table says which of its fields are called
// otherwise, or have another form, in the stored version.
//
// No conversion loses anything. What a version cannot say of a stored object
// stands in its annotation cluster.x-k8s.io/conversion-data. When the object comes
// back, what its version can say is taken from it where it was changed, and
// everything else from that annotation.
package convert

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	webhookconversion "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/pkg/capi/manifests"
)

// dataAnnotation is Cluster API's. Its constant stands beside helpers of tests, which bring gomega along.
const dataAnnotation = "cluster.x-k8s.io/conversion-data"

// Constructor makes the converter of a kind, for controller-runtime's webhooks.
type Constructor = func(*runtime.Scheme) (webhookconversion.Converter, error)

// Kind converts the objects of a kind, of which hub is the stored version.
func Kind(hub client.Object) Constructor {
	return func(scheme *runtime.Scheme) (webhookconversion.Converter, error) { return newConverter(scheme, hub) }
}

// converter converts the objects of one kind.
type converter struct {
	scheme *runtime.Scheme
	hub    schema.GroupVersionKind
	older  map[string]*olderVersion
}

// olderVersion is a version that is not stored.
type olderVersion struct {
	table
	schema *apiextensionsv1.JSONSchemaProps
}

func newConverter(scheme *runtime.Scheme, hub client.Object) (*converter, error) {
	kind, err := apiutil.GVKForObject(hub, scheme)
	if err != nil {
		return nil, err
	}
	definition, err := definitionOf(kind)
	if err != nil {
		return nil, err
	}
	c := &converter{scheme: scheme, hub: kind, older: map[string]*olderVersion{}}
	for _, version := range definition.Spec.Versions {
		table, has := tables[kind.Kind][version.Name]
		switch {
		case version.Name == kind.Version:
			continue
		case !has || !scheme.Recognizes(kind.GroupKind().WithVersion(version.Name)):
			return nil, fmt.Errorf("%s %s is served, and cannot be converted", kind.Kind, version.Name)
		}
		c.older[version.Name] = &olderVersion{table, version.Schema.OpenAPIV3Schema}
	}
	return c, nil
}

// definitionOf is the CustomResourceDefinition of a kind.
func definitionOf(kind schema.GroupVersionKind) (*apiextensionsv1.CustomResourceDefinition, error) {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	text, err := fs.ReadFile(manifests.Files(), "crd/"+plural.GroupResource().String()+".yaml")
	if err != nil {
		return nil, err
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, definition); err != nil {
		return nil, fmt.Errorf("reading the CustomResourceDefinition of %s: %w", kind.Kind, err)
	}
	return definition, nil
}

// ConvertObject makes an object of one version of that of another one.
func (c *converter) ConvertObject(_ context.Context, from, to runtime.Object) error {
	fromKind, toKind := from.GetObjectKind().GroupVersionKind(), to.GetObjectKind().GroupVersionKind()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(from)
	if err != nil {
		return fmt.Errorf("reading a %s: %w", fromKind, err)
	}
	object := (&unstructured.Unstructured{Object: content}).DeepCopy()
	if fromKind.Version != c.hub.Version {
		if object, err = c.toHub(fromKind.Version, object); err != nil {
			return err
		}
	}
	if toKind.Version == c.hub.Version {
		object.SetGroupVersionKind(toKind)
		return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, to)
	}
	if object, err = c.toOlder(toKind.Version, object); err != nil {
		return err
	}
	object.SetGroupVersionKind(toKind)
	written, is := to.(*unstructured.Unstructured)
	if !is {
		return fmt.Errorf("a %s is a %T", toKind, to)
	}
	written.Object = object.Object
	return nil
}

// toOlder converts the stored version into an older one.
func (c *converter) toOlder(version string, hub *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	older, err := c.down(version, hub)
	if err != nil {
		return nil, err
	}
	again, err := c.up(version, older)
	if err != nil {
		return nil, err
	}
	whole := content(hub)
	if equality.Semantic.DeepEqual(whole, content(again)) {
		return older, nil
	}
	whole["apiVersion"] = c.hub.GroupVersion().String()
	data, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("keeping what this version cannot say: %w", err)
	}
	setAnnotation(older, dataAnnotation, string(data))
	return older, nil
}

// toHub converts an older version into the stored one.
func (c *converter) toHub(version string, older *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	hub, err := c.up(version, older)
	if err != nil {
		return nil, err
	}
	kept, err := c.kept(hub)
	if err != nil || kept == nil {
		return hub, err
	}
	return c.restore(version, hub, kept)
}

// removeIt is the advice about an annotation that cannot be read.
const removeIt = "remove it, then fields that only newer versions have get their defaults"

// kept is the stored object as the annotation has it, nil where there is none. It takes the
// annotation away. One that another program wrote, for another hub, means nothing here.
func (c *converter) kept(hub *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	data := takeAnnotation(hub, dataAnnotation)
	if data == "" {
		return nil, nil
	}
	kept := &unstructured.Unstructured{}
	if err := kjson.Unmarshal([]byte(data), &kept.Object); err != nil {
		return nil, fmt.Errorf("annotation %s is no JSON: %s: %w", dataAnnotation, removeIt, err)
	}
	if kept.GetAPIVersion() != c.hub.GroupVersion().String() {
		return nil, nil
	}
	if err := c.normalize(kept); err != nil {
		return nil, fmt.Errorf("annotation %s is not what was written there: %s: %w", dataAnnotation, removeIt, err)
	}
	return kept, nil
}

// restore is what was kept, except what was changed since.
func (c *converter) restore(version string, hub, kept *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	before, err := c.down(version, kept)
	if err != nil {
		return nil, err
	}
	unchanged, err := c.up(version, before)
	if err != nil {
		return nil, err
	}
	merged, _ := merge(content(kept), content(unchanged), content(hub)).(map[string]any)
	restored := &unstructured.Unstructured{Object: map[string]any{"metadata": hub.Object["metadata"]}}
	maps.Copy(restored.Object, merged)
	if err := c.normalize(restored); err != nil {
		return nil, fmt.Errorf("restoring what this version cannot say: %w", err)
	}
	return restored, nil
}

// merge is kept with what differs between before and after. Nil means nothing.
func merge(kept, before, after any) any {
	if equality.Semantic.DeepEqual(before, after) {
		return kept
	}
	keptMap, isMap := kept.(map[string]any)
	beforeMap, wasMap := before.(map[string]any)
	afterMap, becomesMap := after.(map[string]any)
	if !isMap || !wasMap && before != nil || !becomesMap && after != nil {
		return after
	}
	merged := map[string]any{}
	for key, value := range keptMap {
		if _, was := beforeMap[key]; !was {
			merged[key] = value
		}
	}
	for key, value := range afterMap {
		merged[key] = merge(keptMap[key], beforeMap[key], value)
	}
	for key, value := range beforeMap {
		if _, stays := afterMap[key]; stays {
			continue
		}
		if rest := merge(keptMap[key], value, nil); rest != nil {
			merged[key] = rest
		}
	}
	if len(merged) == 0 && after == nil {
		return nil
	}
	return merged
}

// up makes the stored version of what an older one says.
func (c *converter) up(version string, older *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	hub := older.DeepCopy()
	if err := c.older[version].up(hub); err != nil {
		return nil, err
	}
	return hub, c.normalize(hub)
}

// down makes an older version of what the stored one says.
func (c *converter) down(version string, hub *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	older, v := hub.DeepCopy(), c.older[version]
	if err := v.down(older); err != nil {
		return nil, err
	}
	for _, part := range []string{"spec", "status"} {
		properties := v.schema.Properties[part]
		switch {
		case len(properties.Properties) == 0:
			delete(older.Object, part)
		case older.Object[part] == nil:
			older.Object[part] = map[string]any{} // which older versions always show
		default:
			prune(older.Object[part], &properties)
		}
	}
	return older, v.fill(older)
}

// normalize makes of an object of the stored version what its Go type makes of it.
func (c *converter) normalize(hub *unstructured.Unstructured) error {
	typed, err := c.scheme.New(c.hub)
	if err != nil {
		return err
	}
	hub.SetGroupVersionKind(c.hub)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(hub.Object, typed); err != nil {
		return fmt.Errorf("making a %s: %w", c.hub.Kind, err)
	}
	hub.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	return err
}

// prune removes what a schema does not have, and what is empty then.
func prune(value any, by *apiextensionsv1.JSONSchemaProps) {
	switch value := value.(type) {
	case map[string]any:
		if by.AdditionalProperties != nil {
			return
		}
		for name, field := range value {
			of, has := by.Properties[name]
			before, is := field.(map[string]any)
			wasEmpty := len(before) == 0
			if has {
				prune(field, &of)
			}
			if !has || is && !wasEmpty && len(before) == 0 {
				delete(value, name)
			}
		}
	case []any:
		for _, each := range value {
			prune(each, by.Items.Schema)
		}
	}
}

// content is spec and status of an object.
func content(object *unstructured.Unstructured) map[string]any {
	parts := map[string]any{}
	for _, part := range []string{"spec", "status"} {
		if value, has := object.Object[part]; has {
			parts[part] = value
		}
	}
	return parts
}

// takeAnnotation is the value of an annotation, which it removes.
func takeAnnotation(from metav1.Object, name string) string {
	annotations := from.GetAnnotations()
	value := annotations[name]
	delete(annotations, name)
	if len(annotations) == 0 {
		annotations = nil
	}
	from.SetAnnotations(annotations)
	return value
}

func setAnnotation(on metav1.Object, name, value string) {
	annotations := on.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	on.SetAnnotations(annotations)
}
