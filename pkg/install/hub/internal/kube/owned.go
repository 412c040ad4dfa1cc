package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
)

// AppliedFields are the fields of an object that oaictl has applied, with their present values. Server-side apply
// removes a field that its manager applied before and leaves out now: to change one field, a manager has to apply all
// of its fields again.
func AppliedFields(live *unstructured.Unstructured) (map[string]any, error) {
	i := AppliedEntry(live)
	if i < 0 {
		return map[string]any{}, nil
	}
	var set fieldpath.Set
	if err := set.FromJSON(live.GetManagedFields()[i].FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("read the managed fields of %s %s: %w", live.GetKind(), live.GetName(), err)
	}
	fields := map[string]any{}
	var failed error
	set.Leaves().Iterate(func(p fieldpath.Path) {
		way := fieldsOf(p)
		value, found, err := unstructured.NestedFieldCopy(live.Object, way...)
		if err == nil && found {
			err = unstructured.SetNestedField(fields, value, way...)
		}
		failed = errors.Join(failed, err)
	})
	if failed != nil {
		return nil, fmt.Errorf("read what oaictl owns of %s %s: %w", live.GetKind(), live.GetName(), failed)
	}
	return fields, nil
}

// fieldsOf is the part of a path that goes through fields of objects. What leads
// into a list is about the list as a whole: those that oaictl writes are applied
// as a whole.
func fieldsOf(p fieldpath.Path) []string {
	var way []string
	for _, step := range p {
		if step.FieldName == nil {
			break
		}
		way = append(way, *step.FieldName)
	}
	return way
}

// AppliedEntry is the index of oaictl's entry among an object's managed fields, or -1.
func AppliedEntry(live *unstructured.Unstructured) int {
	for i, entry := range live.GetManagedFields() {
		if entry.Manager == hubapi.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" &&
			entry.FieldsV1 != nil {
			return i
		}
	}
	return -1
}

// Configuration is what is applied to an object: fields, under its kind and name.
func Configuration(named *unstructured.Unstructured, fields map[string]any) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: fields}
	delete(fields, "status")
	out.SetGroupVersionKind(named.GroupVersionKind())
	out.SetName(named.GetName())
	out.SetNamespace(named.GetNamespace())
	return out
}

// Merge lays fields over others: objects are merged, all else is replaced.
func Merge(under, over map[string]any) map[string]any {
	for key, value := range over {
		inner, isObject := value.(map[string]any)
		there, wasObject := under[key].(map[string]any)
		if isObject && wasObject {
			under[key] = Merge(there, inner)
			continue
		}
		under[key] = runtime.DeepCopyJSONValue(value)
	}
	return under
}

// copyFields sets fields as in another object, and takes out those that it has not.
func copyFields(into, from map[string]any, paths []hubobjects.Path) error {
	for _, p := range paths {
		value, found, err := unstructured.NestedFieldCopy(from, p...)
		if err != nil {
			return fmt.Errorf("read field %v: %w", p, err)
		}
		if !found {
			unstructured.RemoveNestedField(into, p...)
			continue
		}
		if err := unstructured.SetNestedField(into, value, p...); err != nil {
			return fmt.Errorf("set field %v: %w", p, err)
		}
	}
	return nil
}

// changes says whether applying a configuration would change an object: set a
// field to another value, or take away one that was applied before.
func changes(live, config *unstructured.Unstructured) (bool, error) {
	if !Within(config.Object, live.Object) {
		return true, nil
	}
	before, err := AppliedFields(live)
	if err != nil {
		return false, err
	}
	return !hasFields(before, config.Object), nil
}

// Within says whether a value is so in another one. Nothing and empty are the same.
func Within(want, have any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok && have != nil {
			return false
		}
		for key, value := range w {
			if !Within(value, h[key]) {
				return false
			}
		}
		return true
	case nil:
		return isEmpty(have)
	}
	if isEmpty(want) && isEmpty(have) {
		return true
	}
	return reflect.DeepEqual(normalized(want), normalized(have))
}

func hasFields(of, in map[string]any) bool {
	for key, value := range of {
		other, there := in[key]
		if !there && !isEmpty(value) {
			return false
		}
		inner, isObject := value.(map[string]any)
		if otherInner, ok := other.(map[string]any); isObject && ok && !hasFields(inner, otherInner) {
			return false
		}
	}
	return true
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case int64:
		return v == 0
	case float64:
		return v == 0
	}
	return false
}

// normalized is a value as JSON has it: numbers of different Go types are the same.
func normalized(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		return value
	}
	var out any
	if json.Unmarshal(data, &out) != nil {
		return value
	}
	return out
}

// OtherOwner is a field manager beside our own that owns a field, "" if none.
func OtherOwner(u *unstructured.Unstructured, path ...string) string {
	other, _ := owners(u, path...)
	return other
}

// OnlyOurs reports whether our own field manager has set a field, and no other.
func OnlyOurs(u *unstructured.Unstructured, path ...string) bool {
	other, ours := owners(u, path...)
	return ours && other == ""
}

// owners are a field manager beside our own that owns a field, "" if none, and whether ours does.
func owners(u *unstructured.Unstructured, path ...string) (other string, ours bool) {
	steps := make(fieldpath.Path, 0, len(path))
	for _, step := range path {
		steps = append(steps, named(step))
	}
	for _, entry := range u.GetManagedFields() {
		if entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var set fieldpath.Set
		switch {
		case set.FromJSON(entry.FieldsV1.GetRawReader()) != nil || !set.Has(steps):
		case entry.Manager == hubapi.FieldManager:
			ours = true
		case other == "":
			other = entry.Manager
		}
	}
	return other, ours
}

// named is the step of a path that is a field.
func named(field string) fieldpath.PathElement { return fieldpath.PathElement{FieldName: &field} }

// SpecChanged is when a client last set a field of an object's spec: the service itself changes only the status and the
// finalizers. Without managed fields it is when the object was created.
func SpecChanged(u *unstructured.Unstructured) time.Time {
	return changed(u, func(set *fieldpath.Set) bool { return !set.WithPrefix(named("spec")).Empty() })
}

// InputChanged is SpecChanged, with the annotation by which an AgentClusterInstall is given
// overrides.
func InputChanged(u *unstructured.Unstructured) time.Time {
	return changed(u, func(set *fieldpath.Set) bool {
		overrides := fieldpath.Path{named("metadata"), named("annotations"), named(hubapi.AnnotationInstallConfigOverrides)}
		return !set.WithPrefix(named("spec")).Empty() || set.Has(overrides)
	})
}

// changed is when a user or a program last set fields of an object that are meant.
func changed(u *unstructured.Unstructured, meant func(*fieldpath.Set) bool) time.Time {
	at := u.GetCreationTimestamp().Time
	for _, entry := range u.GetManagedFields() {
		if entry.Subresource != "" || entry.Time == nil || entry.FieldsV1 == nil || !entry.Time.After(at) {
			continue
		}
		var set fieldpath.Set
		if set.FromJSON(entry.FieldsV1.GetRawReader()) == nil && meant(&set) {
			at = entry.Time.Time
		}
	}
	return at
}
