package fieldmap

import (
	"reflect"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/fieldpath"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// sameField is a field of an object that has the same value as a field of cluster.yaml, whose path is in its tag same.
type sameField struct {
	file   string // path in cluster.yaml
	by     Teller
	at     string // path below the spec of the object
	isList bool
}

func (f sameField) place() Place {
	if f.isList {
		return Place{f.file + "[]", f.by, f.at + "[]"}
	}
	return Place{f.file, f.by, f.at}
}

var sameFields = sync.OnceValue(func() []sameField {
	return append(
		sameFieldsOf(reflect.TypeFor[controlplanev1.OpenshiftAssistedControlPlaneConfigSpec](), ByControlPlane, "config."),
		sameFieldsOf(reflect.TypeFor[bootstrapv1.OpenshiftAssistedConfigSpec](), ByConfig, "")...,
	)
})

// sameFieldsOf are those of a type, and of the types of its fields; at is what their paths begin with.
func sameFieldsOf(of reflect.Type, by Teller, at string) (list []sameField) {
	for _, field := range reflect.VisibleFields(of) {
		key := fieldpath.Key(field, "json")
		if key == "" {
			continue
		}
		below, inner := at+key, field.Type
		isList := inner.Kind() == reflect.Slice
		if file := field.Tag.Get("same"); file != "" {
			list = append(list, sameField{file, by, below, isList})
			continue
		}
		if isList {
			below += "[]"
		}
		if isList || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			list = append(list, sameFieldsOf(inner, by, below+".")...)
		}
	}
	return list
}

// copyAt copies what is at a path of an object to a path of cluster.yaml. Both paths lead through the same lists.
func copyAt(to reflect.Value, file string, from reflect.Value, at string) {
	file, fileInEntry, _ := strings.Cut(file, "[]")
	at, atInEntry, inList := strings.Cut(at, "[]")
	from = fieldpath.Find(from, strings.TrimPrefix(at, "."), "json")
	if !from.IsValid() {
		return
	}
	to = fieldpath.Reach(to, strings.TrimPrefix(file, "."), "yaml")
	if !inList {
		assign(to, from)
		return
	}
	switch {
	case from.Len() == 0:
		to.SetZero()
	case from.Len() != to.Len():
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
	}
	for i := range from.Len() {
		copyAt(to.Index(i), fileInEntry, from.Index(i), atInEntry)
	}
}

// assign gives a field of cluster.yaml the value of an object's field. Structs have the same keys.
func assign(to, from reflect.Value) {
	switch {
	case from.Type().AssignableTo(to.Type()):
		to.Set(from)
	case from.IsZero(), from.Kind() == reflect.Slice && from.Len() == 0:
		to.SetZero()
	case to.Type() == reflect.TypeFor[spec.RoleSet]():
		to.Set(reflect.ValueOf(clustersettings.RolesOf(from.String())))
	case from.Kind() == reflect.Pointer:
		assign(to, from.Elem())
	case from.Kind() == reflect.Slice:
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			assign(to.Index(i), from.Index(i))
		}
	case from.Kind() == reflect.Struct:
		for field, value := range from.Fields() {
			assign(fieldpath.Field(to, fieldpath.Key(field, "json"), "yaml"), value)
		}
	case from.Kind() == reflect.String:
		to.SetString(wordOf(to, from.String()))
	default: // an integer of another size
		to.Set(from.Convert(to.Type()))
	}
}

// wordOf is a word as cluster.yaml writes it, where an object may write it in camel case: cluster-managed, ClusterManaged.
func wordOf(to reflect.Value, text string) string {
	words, _ := spec.Words(to.Interface())
	for _, word := range words {
		if strings.EqualFold(strings.ReplaceAll(word, "-", ""), text) {
			return word
		}
	}
	return text
}
