package spec

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// checker collects everything that is wrong with a cluster.
type checker struct {
	cluster  *Cluster
	problems *Problems
	failed   map[string]bool // fields that a problem was reported for already
	astray   []astray        // defaults that do not do for hosts
}

// report notes a problem with a field, unless the field could not even be read.
func (k *checker) report(field, message, remedy string) {
	if k.isFailed(field) {
		return
	}
	file, line, col := k.cluster.Position(field)
	k.problems.List = append(k.problems.List, Problem{File: file, Line: line, Column: col, Field: field, Message: message, Remedy: remedy})
}

// isFailed says whether the field, or one around or below it, has a value of
// the wrong type: what else would be said about it is a consequence.
func (k *checker) isFailed(field string) bool {
	if k.failed[field] {
		return true
	}
	for failed := range k.failed {
		if within(field, failed) || within(failed, field) {
			return true
		}
	}
	return false
}

// within says whether the field inner stands below the field outer.
func within(inner, outer string) bool {
	return len(inner) > len(outer) && strings.HasPrefix(inner, outer) && (inner[len(outer)] == '.' || inner[len(outer)] == '[')
}

func hostField(i int, name string) string { return fmt.Sprintf("spec.hosts[%d].%s", i, name) }

// all runs every check. Each reports what it finds and lets the others look
// too.
func (k *checker) all() {
	k.words(reflect.ValueOf(k.cluster).Elem(), "")
	k.identity()
	k.openshift()
	if k.cluster.Imported() {
		k.imported()
		k.networkDefaults()
	} else {
		k.platform()
		k.topology()
		k.networks()
		k.vips()
	}
	k.hosts()
	k.hostNetworks()
	k.defaultsAstray()
	k.contents()
	k.registry()
	k.manifests()
	k.extras()
	k.hub()
	k.discoveryImage()
}

// words reports every word below v that is none of the possible ones.
func (k *checker) words(v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			k.words(v.Elem(), field)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := yamlName(v.Type().Field(i)); name != "" {
				k.words(v.Field(i), join(field, name))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			k.words(v.Index(i), fmt.Sprintf("%s[%d]", field, i))
		}
	case reflect.String:
		if w, ok := v.Interface().(word); ok && v.String() != "" {
			k.word(w, v.String(), field)
		}
	}
}

func (k *checker) word(w word, text, field string) {
	if _, known := canonical(w, text); known {
		return
	}
	remedy := "it is one of " + strings.Join(w.Values(), ", ")
	spellings := slices.Sorted(maps.Keys(otherSpellings(w)))
	if best := nearest(text, append(spellings, w.Values()...)); best != "" {
		best, _ = canonical(w, best)
		remedy = fmt.Sprintf("did you mean %q?", best)
	}
	k.report(field, fmt.Sprintf("%q is not known here", text), remedy)
}
