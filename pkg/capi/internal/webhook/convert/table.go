package convert

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// table is how an older version of a kind, and the stored one, are made of each other. What it does not name has the same
// path in both, or is unknown to the older version.
type table struct {
	rows []row
	// deprecated are fields of the older status that the stored version keeps in status.deprecated.v1beta1, with their
	// names there. Where nothing is kept, they follow from the rest of the status.
	deprecated map[string]string
	// zero is what the older version shows where nothing is said, by its path.
	zero map[string]any
}

// row is a field that has another path, or another form, in the stored version. A value stays as it is where
// there is no function.
type row struct {
	older, hub string
	up, down   change
}

// change is the form of a value in the other version, nil where there is none. It may change the annotations of the object.
type change = func(o *unstructured.Unstructured, value any) (any, error)

// keptIn is where the stored version keeps what only versions of contract v1beta1 have.
const keptIn = "status.deprecated.v1beta1"

// up makes an older version the stored one.
func (t *table) up(o *unstructured.Unstructured) error {
	withoutFalse(o.Object["spec"])
	old := map[string]any{}
	for name, kept := range t.deprecated {
		if value := take(o, "status."+name); !isZero(value) {
			old[kept] = value
		}
	}
	values := make([]any, len(t.rows))
	for i, row := range t.rows {
		var err error
		if values[i], err = takeChanged(o, row.older, row.up); err != nil {
			return err
		}
	}
	for i, row := range t.rows {
		if err := put(o, row.hub, values[i]); err != nil {
			return err
		}
	}
	if equality.Semantic.DeepEqual(old, t.derived(o)) {
		return nil
	}
	return put(o, keptIn, old)
}

// down makes the stored version an older one. What only the stored one has is still there.
func (t *table) down(o *unstructured.Unstructured) error {
	withoutFalse(o.Object["spec"])
	old, isKept := take(o, keptIn).(map[string]any)
	if !isKept {
		old = t.derived(o)
	}
	values := make([]any, len(t.rows))
	for i, row := range t.rows {
		var err error
		if values[i], err = takeChanged(o, row.hub, row.down); err != nil {
			return err
		}
	}
	for name, kept := range t.deprecated {
		take(o, "status."+name)
		if err := put(o, "status."+name, old[kept]); err != nil {
			return err
		}
	}
	for i, row := range t.rows {
		if err := put(o, row.older, values[i]); err != nil {
			return err
		}
	}
	return nil
}

// withoutFalse leaves out what is false: a flag in the spec of an older version is set, or is not there.
func withoutFalse(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			if field == false {
				delete(value, name)
			} else {
				withoutFalse(field)
			}
		}
	case []any:
		for _, each := range value {
			withoutFalse(each)
		}
	}
}

// fill adds what an older version shows where nothing is said.
func (t *table) fill(o *unstructured.Unstructured) error {
	for path, value := range t.zero {
		if _, said, _ := unstructured.NestedFieldNoCopy(o.Object, strings.Split(path, ".")...); said {
			continue
		}
		if err := put(o, path, value); err != nil {
			return err
		}
	}
	return nil
}

// derived are the deprecated fields that follow from today's status, by their names in the stored version. What is zero is
// left out.
func (t *table) derived(o *unstructured.Unstructured) map[string]any {
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	conditions, _ := status["conditions"].([]any)
	replicas, _ := status["replicas"].(int64)
	available, _ := status["availableReplicas"].(int64)
	follows := map[string]any{
		"conditions":          oldConditions(conditions),
		"ready":               isAvailable(conditions),
		"unavailableReplicas": max(0, replicas-available),
	}
	derived := map[string]any{}
	for _, kept := range t.deprecated {
		if value := follows[kept]; !isZero(value) {
			derived[kept] = value
		}
	}
	return derived
}

// isZero reports whether a value says nothing. An empty text is said.
func isZero(value any) bool {
	switch value := value.(type) {
	case []any:
		return len(value) == 0
	case bool:
		return !value
	case int64:
		return value == 0
	}
	return value == nil
}

// take is the value at a path, which it removes; nil where there is none.
func take(o *unstructured.Unstructured, path string) any {
	names := strings.Split(path, ".")
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, names...)
	unstructured.RemoveNestedField(o.Object, names...)
	return value
}

// takeChanged is the changed value at a path, which it removes.
func takeChanged(o *unstructured.Unstructured, path string, by change) (any, error) {
	value := take(o, path)
	if by == nil {
		return value, nil
	}
	changed, err := by(o, value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return changed, nil
}

// put sets the value at a path; nil leaves it out.
func put(o *unstructured.Unstructured, path string, value any) error {
	if value == nil {
		return nil
	}
	return unstructured.SetNestedField(o.Object, value, strings.Split(path, ".")...)
}
