package manifest

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// fields are the fields of an object: maps, lists ([]any), texts, int64, bools.
type fields = map[string]any

// newObject is an object of ours, labelled with its cluster. namespace is "" for
// one that stands in none.
func newObject(kind schema.GroupVersionKind, c *spec.Cluster, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: fields{}}
	object.SetGroupVersionKind(kind)
	object.SetName(name)
	if namespace != "" {
		object.SetNamespace(namespace)
	}
	addLabels(object, map[string]string{hubapi.LabelCluster: c.Metadata.Name})
	return object
}

func addLabels(object *unstructured.Unstructured, labels map[string]string) {
	all := object.GetLabels()
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, labels)
	object.SetLabels(all)
}

// put sets a field that is said.
func put[T ~string](in fields, name string, value T) {
	if value != "" {
		in[name] = string(value)
	}
}

// putAll sets a list that is said; an empty one clears what was there.
func putAll(in fields, name string, list []string) {
	if list != nil {
		in[name] = anyList(list)
	}
}

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

func anyMap(texts map[string]string) fields {
	out := make(fields, len(texts))
	for key, text := range texts {
		out[key] = text
	}
	return out
}

// listOf are one-field objects, such as [{cidr: 10.0.0.0/16}].
func listOf(name string, values []string) []any {
	out := make([]any, len(values))
	for i, value := range values {
		out[i] = fields{name: value}
	}
	return out
}
