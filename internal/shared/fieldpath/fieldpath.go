// Package fieldpath finds fields of structs by the keys that they have in a format.
package fieldpath

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Key is the key of a field in a format, such as "yaml" or "json"; "" for a field that is not written in it.
func Key(field reflect.StructField, format string) string {
	key, _, _ := strings.Cut(field.Tag.Get(format), ",")
	return strings.TrimPrefix(key, "-")
}

// Reach is the field at a path, such as spec.hosts[2].match.mac; the empty path is that of v itself. A nil pointer on the way
// is filled in, so v must be addressable. Reach panics if there is no such field.
func Reach(v reflect.Value, path, format string) reflect.Value {
	return at(v, path, format, true)
}

// Find is Reach for a value that must not change: behind a nil pointer there is no field, and the result is not valid.
func Find(v reflect.Value, path, format string) reflect.Value {
	return at(v, path, format, false)
}

func at(v reflect.Value, path, format string, fill bool) reflect.Value {
	for part := range strings.SplitSeq(path, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() && !fill {
				return reflect.Value{}
			}
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		key, index, inList := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		if key != "" {
			v = Field(v, key, format)
		}
		if i, err := strconv.Atoi(index); inList && err == nil {
			v = v.Index(i)
		}
	}
	return v
}

// Field is the field of a struct with a key, or of a struct that is embedded in it. It panics if there is none.
func Field(v reflect.Value, key, format string) reflect.Value {
	for _, field := range reflect.VisibleFields(v.Type()) {
		if Key(field, format) == key {
			return v.FieldByIndex(field.Index)
		}
	}
	panic(fmt.Sprintf("fieldpath: %s has no field %s", v.Type(), key))
}
