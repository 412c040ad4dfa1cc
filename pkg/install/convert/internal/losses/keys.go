package losses

import (
	_ "embed" // keys.yaml
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed keys.yaml
var keys []byte

// Keys are the keys of a foreign document that become no field of cluster.yaml.
type Keys struct{ Idle, Lost []Key }

// Key is one of them.
type Key struct {
	Steps  []string
	Values []string // that it is about; nil for all
	Why    string
}

// Empty is the value of a Key that is about an empty map or list.
const Empty = "{}"

var keysByDocument = sync.OnceValue(func() map[string]Keys {
	var written map[string]struct{ Idle, Lost map[string][]string }
	if err := yaml.UnmarshalStrict(keys, &written); err != nil {
		panic(fmt.Sprintf("convert: keys.yaml: %v", err))
	}
	all := map[string]Keys{}
	for document, of := range written {
		all[document] = Keys{Idle: keysOf(of.Idle), Lost: keysOf(of.Lost)}
	}
	return all
})

// keysOf has those that are limited to values first.
func keysOf(written map[string][]string) []Key {
	var limited, others []Key
	for why, list := range written {
		for _, one := range list {
			path, values, isLimited := strings.Cut(one, "=")
			key := Key{Steps: Steps(path), Why: why}
			if !isLimited {
				others = append(others, key)
				continue
			}
			key.Values = strings.Split(values, "|")
			limited = append(limited, key)
		}
	}
	return slices.Concat(limited, others)
}

// Steps are the keys of a path, such as a.b, or a[b.c] for a key that has dots itself.
func Steps(path string) []string {
	before, dotted, _ := strings.Cut(strings.TrimSuffix(path, "]"), "[")
	steps := strings.Split(before, ".")
	if dotted != "" {
		steps = append(steps, dotted)
	}
	return steps
}

// KeysOf are those of a document in keys.yaml.
func KeysOf(document string) Keys {
	of, known := keysByDocument()[document]
	if !known {
		panic("convert: keys.yaml knows no " + document)
	}
	return of
}
