package spec

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/oaictl/oaictl/internal/spelling"
)

// didYouMean is the remedy for an unknown key: where a key of that very name
// does belong, else the most similar key of the same struct, else the keys
// there are.
func didYouMean(key string, in reflect.Type, field string) string {
	keys := keysOf(in)
	best := nearest(key, keys)
	if plainKey(best) != plainKey(key) {
		if path := elsewhere(key, field); path != "" {
			return "it belongs to " + path
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known here: " + strings.Join(keys, ", ")
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if name := yamlName(t.Field(i)); name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}

// nearest is the candidate that key was most likely meant to be, or empty.
func nearest(key string, candidates []string) string {
	best, least := "", max(2, len(key)/3)+1
	for _, candidate := range candidates {
		if plainKey(candidate) == plainKey(key) {
			return candidate
		}
		if distance := spelling.Distance(plainKey(key), plainKey(candidate)); distance < least && distance < len(candidate)-1 {
			best, least = candidate, distance
		}
	}
	return best
}

// plainKey is a key without what people vary: case, dashes, underscores and
// the s of the plural.
func plainKey(key string) string {
	key = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(key))
	return strings.TrimSuffix(key, "s")
}

// elsewhere is the path of a field that has this name in another part of the
// document; a part of the same host if the key stood in a host.
func elsewhere(key, field string) string {
	var found string
	var walk func(t reflect.Type, path string, depth int)
	walk = func(t reflect.Type, path string, depth int) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || depth > 6 {
			return
		}
		for i := range t.NumField() {
			name := yamlName(t.Field(i))
			if name == "" {
				continue
			}
			child := join(path, name)
			if strings.EqualFold(name, key) && (found == "" || strings.Count(child, ".") < strings.Count(found, ".")) {
				found = child
			}
			walk(t.Field(i).Type, child, depth+1)
		}
	}
	if host, _, ok := strings.Cut(field, "]"); ok && strings.HasPrefix(host, "spec.hosts[") {
		walk(reflect.TypeFor[Host](), host+"]", 0)
	}
	if found == "" {
		walk(reflect.TypeFor[Cluster](), "", 0)
	}
	return found
}
