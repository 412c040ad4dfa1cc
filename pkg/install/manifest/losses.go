package manifest

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hiddenSecret stands for a secret in a Loss.
const hiddenSecret = "[redacted]"

// losses collects what of a cluster.yaml a format has no place for.
type losses struct {
	cluster *spec.Cluster
	list    []Loss
}

// lose notes one value.
func (l *losses) lose(path string, value any, why string) {
	l.list = append(l.list, Loss{Path: path, Value: value, Why: why})
}

// loseHost notes one value of a host.
func (l *losses) loseHost(h *spec.Host, name string, value any, why string) {
	l.lose(l.cluster.HostField(h, name), value, why)
}

// loseAll notes whatever the file says of the fields in a table, by their paths
// without indices, such as spec.hosts.labels.
func (l *losses) loseAll(why map[string]string) {
	l.walk(reflect.ValueOf(l.cluster).Elem(), "", "", why)
}

// walk looks at a field and everything below it. path has indices, name has not.
func (l *losses) walk(v reflect.Value, path, name string, why map[string]string) {
	if v.IsZero() || (path != "" && !l.said(path)) {
		return
	}
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if reason, lost := why[name]; lost {
		if value, something := plain(v); something {
			l.lose(path, value, reason)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if key := fieldName(v.Type().Field(i)); key != "" {
				l.walk(v.Field(i), dotted(path, key), dotted(name, key), why)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			at := fmt.Sprintf("%s[%d]", path, i)
			if host, is := v.Index(i).Addr().Interface().(*spec.Host); is {
				at = l.cluster.HostField(host, "")
			}
			l.walk(v.Index(i), at, name, why)
		}
	}
}

// said tells what the file says from what was filled in. In a cluster that was
// made in Go and not resolved all that is not zero is said.
func (l *losses) said(path string) bool {
	return l.cluster.Present(path) || !l.cluster.Present("metadata.name")
}

func dotted(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func fieldName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return strings.TrimPrefix(name, "-")
}

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
		object := fields{}
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
	object := fields{}
	for i := range v.NumField() {
		if name := fieldName(v.Type().Field(i)); name != "" {
			if value, ok := plain(v.Field(i)); ok {
				object[name] = value
			}
		}
	}
	if len(object) == 0 {
		return hiddenSecret
	}
	return object
}

func plainDocument(d spec.Document) any {
	if d.Inline != nil {
		return d.Inline
	}
	return fields{"file": d.File}
}

// plainOf is a value of cluster.yaml without its secrets.
func plainOf(value any) any {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	out, _ := plain(v)
	return out
}
