package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const introduction = `# Cluster API kinds

The kinds of the three providers, in the version that is stored; the other versions that are
served are converted by it. This page is written from the CustomResourceDefinitions. On a
management cluster, ` + "`kubectl explain`" + ` says the same.

A field in bold has to be written. Defaults are those of the controllers, unless the column
has one: then the API server writes it. Of Kubernetes itself are LabelSelector, Condition, and
LocalObjectReference, which has the field ` + "`name`" + `.
`

// known is where a schema is documented already.
type known struct{ kind, path string }

// writer writes the reference.
type writer struct {
	bytes.Buffer
	seen map[string]known
}

// reference is the page about all kinds.
func reference(definitions []object) ([]byte, error) {
	w := &writer{seen: map[string]known{}}
	w.WriteString(introduction)
	for _, section := range []struct{ title, group string }{
		{"Bootstrap provider", "bootstrap.cluster.x-k8s.io"},
		{"Control plane provider", "controlplane.cluster.x-k8s.io"},
		{"Infrastructure provider", "capi-provider.agent-install.openshift.io"},
	} {
		fmt.Fprintf(w, "\n## %s\n", section.title)
		for _, definition := range definitions {
			if text(definition, "spec", "group") != section.group {
				continue
			}
			if err := w.kind(definition); err != nil {
				return nil, err
			}
		}
	}
	return w.Bytes(), nil
}

func (w *writer) kind(definition object) error {
	kind, group := text(definition, "spec", "names", "kind"), text(definition, "spec", "group")
	var stored object
	var others []string
	for _, each := range list(definition, "spec", "versions") {
		version, _ := each.(object)
		if stores, _ := version["storage"].(bool); stores {
			stored = version
		} else {
			others = append(others, "`"+text(version, "name")+"`")
		}
	}
	if stored == nil {
		return fmt.Errorf("%s has no version that is stored", kind)
	}
	schema, _ := at(stored, "schema", "openAPIV3Schema").(object)
	fmt.Fprintf(w, "\n### %s\n\n%s\n\n", kind, oneLine(text(schema, "description")))
	fmt.Fprintf(w, "- apiVersion: `%s/%s`", group, text(stored, "name"))
	if len(others) > 0 {
		fmt.Fprintf(w, "; served too: %s", strings.Join(others, ", "))
	}
	w.WriteString("\n")
	if short := list(definition, "spec", "names", "shortNames"); len(short) > 0 {
		fmt.Fprintf(w, "- short names: %s\n", strings.Join(quoted(short), ", "))
	}
	for _, part := range []string{"spec", "status"} {
		below, _ := at(schema, "properties", part).(object)
		if len(fieldsOf(below)) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n| Field | Type | Default | Meaning |\n| --- | --- | --- | --- |\n")
		w.fields(kind, part, below)
	}
	for _, rule := range rules(schema, "") {
		fmt.Fprintf(w, "\n%s\n", rule)
	}
	return nil
}

// wide is from how many fields on an object that is documented already is referred to.
const wide = 6

// fields writes the rows of the fields below a schema.
func (w *writer) fields(kind, path string, schema object) {
	if len(fieldsOf(schema)) >= wide {
		key := canonical(schema)
		if _, before := w.seen[key]; !before {
			w.seen[key] = known{kind, path}
		}
	}
	required := list(schema, "required")
	properties := fieldsOf(schema)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		field, _ := properties[name].(object)
		w.row(kind, path+"."+name, field, slices.Contains(required, any(name)))
	}
}

func (w *writer) row(kind, path string, field object, required bool) {
	shown := "`" + path + "`"
	if required {
		shown = "**" + shown + "**"
	}
	preset := ""
	if value, set := field["default"]; set {
		encoded, _ := json.Marshal(value)
		preset = "`" + string(encoded) + "`"
	}
	meaning := oneLine(text(field, "description"))
	if words := list(field, "enum"); len(words) > 0 {
		meaning += " One of " + strings.Join(quoted(words), ", ") + "."
	}
	inner := field
	if items, is := field["items"].(object); is {
		inner, path = items, path+"[]"
	}
	before, documented := w.seen[canonical(inner)]
	documented = documented && len(fieldsOf(inner)) >= wide
	if documented {
		meaning += fmt.Sprintf(" Its fields are those of `%s` of [%s](#%s).", before.path, before.kind, strings.ToLower(before.kind))
	}
	fmt.Fprintf(w, "| %s | %s | %s | %s |\n", shown, typeOf(field), preset, meaning)
	if !documented && wellKnown(inner) == "" {
		w.fields(kind, path, inner)
	}
}

func fieldsOf(schema object) object {
	properties, _ := schema["properties"].(object)
	return properties
}

// wellKnown is the name of a schema of Kubernetes, which is documented there; "" for any other.
func wellKnown(schema object) string {
	has := func(names ...string) bool {
		properties := fieldsOf(schema)
		return len(properties) == len(names) && !slices.ContainsFunc(names, func(name string) bool { return properties[name] == nil })
	}
	switch {
	case has("matchExpressions", "matchLabels"):
		return "LabelSelector"
	case has("name") && strings.HasPrefix(text(fieldsOf(schema), "name", "description"), "Name of the referent."):
		return "LocalObjectReference"
	case has("lastTransitionTime", "message", "observedGeneration", "reason", "status", "type"):
		return "Condition"
	}
	return ""
}

func typeOf(field object) string {
	if name := wellKnown(field); name != "" {
		return name
	}
	if items, is := field["items"].(object); is {
		return "list of " + typeOf(items)
	}
	if values, is := field["additionalProperties"].(object); is {
		return "map of " + typeOf(values)
	}
	if either, _ := field["x-kubernetes-int-or-string"].(bool); either {
		return "integer or string"
	}
	if text(field, "format") == "date-time" {
		return "time"
	}
	return text(field, "type")
}

// rules are what the API server holds objects to beyond their fields' own.
func rules(schema object, path string) []string {
	var found []string
	for _, rule := range list(schema, "x-kubernetes-validations") {
		where := ""
		if path != "" {
			where = "`" + path + "`: "
		}
		found = append(found, "- "+where+oneLine(text(rule, "message"))+".")
	}
	properties := fieldsOf(schema)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		below, _ := properties[name].(object)
		found = append(found, rules(below, strings.TrimPrefix(path+"."+name, "."))...)
	}
	if path != "" {
		return found
	}
	if len(found) > 0 {
		return []string{"The API server refuses what breaks these rules:\n\n" + strings.Join(found, "\n")}
	}
	return nil
}

// canonical is a schema as text, without what it is called and where it stands.
func canonical(schema object) string {
	encoded, _ := json.Marshal(fieldsOf(schema))
	return string(encoded)
}

func oneLine(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

func quoted(words []any) []string {
	var texts []string
	for _, word := range words {
		texts = append(texts, fmt.Sprintf("`%v`", word))
	}
	return texts
}
