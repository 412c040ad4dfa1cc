// Package losses explains what a conversion loses: keys of a format that become no field of cluster.yaml (keys.yaml), and
// the values of fields that a format does not have.
package losses

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/fieldpath"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Loss is convert.Loss.
type Loss struct {
	Path  string `json:"path"`
	Value any    `json:"value"`
	Why   string `json:"why"`
}

// Collector collects what of a cluster.yaml a format has no place for.
type Collector struct {
	Cluster *spec.Cluster
	List    []Loss
}

// Lose notes one value.
func (l *Collector) Lose(path string, value any, why string) {
	l.List = append(l.List, Loss{Path: path, Value: value, Why: why})
}

// LoseHost notes one value of a host.
func (l *Collector) LoseHost(h *spec.Host, name string, value any, why string) {
	l.Lose(l.Cluster.HostField(h, name), value, why)
}

// LoseAll records a Loss for each value that the file has for the fields in a table, by their paths without indices,
// such as spec.hosts.labels.
func (l *Collector) LoseAll(why map[string]string) {
	l.walk(reflect.ValueOf(l.Cluster).Elem(), "", "", why)
}

// walk looks at a field and everything below it. path has indices, name has not.
func (l *Collector) walk(v reflect.Value, path, name string, why map[string]string) {
	if v.IsZero() || (path != "" && !l.Said(path)) {
		return
	}
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if reason, lost := why[name]; lost {
		if value, something := plain(v); something {
			l.Lose(path, value, reason)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if key := fieldpath.Key(v.Type().Field(i), "yaml"); key != "" {
				l.walk(v.Field(i), strings.TrimPrefix(path+"."+key, "."), strings.TrimPrefix(name+"."+key, "."), why)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			at := fmt.Sprintf("%s[%d]", path, i)
			if host, is := v.Index(i).Addr().Interface().(*spec.Host); is {
				at = l.Cluster.HostField(host, "")
			}
			l.walk(v.Index(i), at, name, why)
		}
	}
}

// Said tells what the file says from what was filled in. In a cluster that was
// made in Go and not resolved all that is not zero is said.
func (l *Collector) Said(path string) bool {
	return l.Cluster.Present(path) || !l.Cluster.Present("metadata.name")
}

// Redacted is the value of a secret in a Loss.
const Redacted = "[redacted]"

// plain is a value as encoding/json would decode it, without its secrets; ok is
// false for one that says nothing.
func plain(v reflect.Value) (value any, ok bool) {
	if v.IsZero() {
		return nil, false
	}
	switch own := v.Interface().(type) {
	case spec.Document:
		return plainDocument(own), true
	case encoding.TextMarshaler: // without a password, as in cluster.yaml
		text, err := own.MarshalText()
		return string(text), err == nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.Elem().Kind() == reflect.Bool || v.Elem().Kind() == reflect.Int {
			return plainScalar(v.Elem()), true
		}
		return plain(v.Elem())
	case reflect.Struct:
		return plainStruct(v), true
	case reflect.Slice:
		list := []any{}
		for i := range v.Len() {
			entry, _ := plain(v.Index(i))
			list = append(list, entry)
		}
		return list, len(list) > 0
	case reflect.Map:
		object := map[string]any{}
		for _, key := range v.MapKeys() {
			object[key.String()] = v.MapIndex(key).Interface()
		}
		return object, v.Len() > 0
	}
	return plainScalar(v), true
}

func plainScalar(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.Int:
		return v.Int()
	case reflect.String:
		return v.String()
	}
	return v.Interface()
}

// plainStruct is a struct by the names of its fields. One that says nothing that
// can be seen holds a secret.
func plainStruct(v reflect.Value) any {
	object := map[string]any{}
	for i := range v.NumField() {
		if name := fieldpath.Key(v.Type().Field(i), "yaml"); name != "" {
			if value, ok := plain(v.Field(i)); ok {
				object[name] = value
			}
		}
	}
	if len(object) == 0 {
		return Redacted
	}
	return object
}

func plainDocument(d spec.Document) any {
	if d.Inline != nil {
		return d.Inline
	}
	return map[string]any{"file": d.File}
}

// Plain is a value of cluster.yaml without its secrets.
func Plain(value any) any {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	out, _ := plain(v)
	return out
}
