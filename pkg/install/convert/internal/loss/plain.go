package loss

import (
	"encoding"
	"reflect"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Redacted stands for a secret in a Loss.
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
		if name := fieldName(v.Type().Field(i)); name != "" {
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
