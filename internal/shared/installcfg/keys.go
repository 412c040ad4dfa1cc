package installcfg

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Problem is what the service does not take in overrides of the install-config.
type Problem struct {
	// Path of the key, such as networking.ovnKubernetesConfig or imageDigestSources[0].sourcePolicy.
	Path string
	// Message says what is wrong with it.
	Message string
}

// UnknownKey is what is wrong with a key that the service does not have.
const UnknownKey = "is a key that the service does not take in overrides of the install-config"

// Check finds what the service refuses in overrides: it decodes them strictly into its own
// install-config, which has fewer keys than the one of openshift-install.
func Check(overrides map[string]any) []Problem {
	if found := unknown(reflect.TypeFor[InstallerConfigBaremetal](), overrides, ""); len(found) > 0 {
		return found
	}
	text, err := json.Marshal(overrides)
	if err != nil {
		return nil // it is reported where the document is checked
	}
	var config InstallerConfigBaremetal
	err = json.Unmarshal(text, &config)
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return []Problem{{Path: wrong.Field, Message: fmt.Sprintf("cannot be %s: the service expects %s", article(wrong.Value),
			expected(wrong.Type))}}
	}
	return nil
}

// Has reports whether the service has a key in its install-config, such as "networking", "networkType". The entries of
// lists and maps are looked through.
func Has(keys ...string) bool {
	at := reflect.TypeFor[InstallerConfigBaremetal]()
	for _, key := range keys {
		field, ok := fieldOf(at, key)
		if !ok {
			return false
		}
		at = field
	}
	return true
}

func unknown(at reflect.Type, value any, path string) (found []Problem) {
	switch value := value.(type) {
	case map[string]any:
		if bare(at).Kind() != reflect.Struct {
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			below := strings.TrimPrefix(path+"."+key, ".")
			if field, ok := fieldOf(at, key); ok {
				found = append(found, unknown(field, value[key], below)...)
			} else {
				found = append(found, Problem{Path: below, Message: UnknownKey})
			}
		}
	case []any:
		for i, item := range value {
			found = append(found, unknown(at, item, fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return found
}

// fieldOf is the type of a field by its key. JSON does not mind the letter case of keys.
func fieldOf(at reflect.Type, key string) (reflect.Type, bool) {
	if at = bare(at); at.Kind() != reflect.Struct {
		return nil, false
	}
	for field := range at.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		if strings.EqualFold(name, key) {
			return field.Type, true
		}
	}
	return nil, false
}

// bare is a type without pointers and lists around it.
func bare(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "a map"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	}
	return "a number"
}

func article(value string) string {
	switch {
	case value == "string":
		return "text"
	case value == "object":
		return "a map"
	case value == "array":
		return "a list"
	case value == "bool":
		return "true or false"
	case strings.HasPrefix(value, "number"):
		return "a number"
	}
	return value
}
