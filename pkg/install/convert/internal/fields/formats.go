package fields

import (
	_ "embed" // fields.yaml
	"fmt"
	"maps"
	"slices"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed fields.yaml
var fieldsYAML []byte

// byReason are fields of cluster.yaml, or kinds of objects, by why they are left behind.
type byReason map[string][]string

type contents struct {
	Same  map[Document]map[string]string
	Lost  map[string]byReason
	Kinds byReason
}

var formats = sync.OnceValue(func() (all contents) {
	if err := yaml.UnmarshalStrict(fieldsYAML, &all); err != nil {
		panic(fmt.Sprintf("convert: fields.yaml: %v", err))
	}
	return all
})

// sameRows are the rows for keys that have the value of a field as it is.
func sameRows() (rows []row) {
	for _, document := range slices.Sorted(maps.Keys(formats().Same)) {
		keys := formats().Same[document]
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			rows = append(rows, row{field: keys[key], at: places{document: key}})
		}
	}
	return rows
}

// Lost is why formats have no place for fields of cluster.yaml, by the fields. The formats are sections of fields.yaml.
func Lost(formatNames ...string) map[string]string {
	why := map[string]string{}
	for _, name := range formatNames {
		maps.Copy(why, formats().Lost[name].byName())
	}
	return why
}

// KindsLost is why objects are left behind, by their kinds.
func KindsLost() map[string]string { return formats().Kinds.byName() }

func (r byReason) byName() map[string]string {
	why := map[string]string{}
	for reason, names := range r {
		for _, name := range names {
			why[name] = reason
		}
	}
	return why
}
