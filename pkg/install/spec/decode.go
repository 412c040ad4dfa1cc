package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// textual is a type that may be written as plain text.
type textual interface {
	fromText(text string) error
}

// decoder fills Go values from a tree, notes where every field stands, and
// collects what does not fit.
type decoder struct {
	file     string
	places   map[string]yamltree.Place
	problems *Problems
	failed   map[string]bool // fields whose value could not be taken
}

// maxProblems is where the decoder gives up: such a file is no cluster.yaml.
const maxProblems = 500

// full says whether enough problems were found.
func (d *decoder) full() bool { return len(d.problems.List) >= maxProblems }

func (d *decoder) report(at yamltree.Place, field, message, remedy string) {
	d.failed[field] = true
	d.problems.List = append(d.problems.List, Problem{File: d.file, Line: at.Line, Column: at.Column, Field: field, Message: message, Remedy: remedy})
}

// value decodes n, which stands at the given place, into v. An empty value
// counts as not there.
func (d *decoder) value(n *yamltree.Node, at yamltree.Place, field string, v reflect.Value) {
	if n.Kind == yamltree.Null {
		return
	}
	if field != "" {
		d.places[field] = at
	}
	if n.Kind == yamltree.Broken {
		d.failed[field] = true
		return
	}
	if d.special(n, at, field, v) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, at, field, v.Elem())
	case reflect.Struct:
		d.structure(n, at, field, v)
	case reflect.Slice:
		d.list(n, at, field, v)
	case reflect.Map:
		d.mapping(n, at, field, v)
	case reflect.String:
		if d.want(n, yamltree.Text, at, field) {
			v.SetString(n.Text)
		}
	case reflect.Bool:
		if d.want(n, yamltree.Bool, at, field) {
			v.SetBool(n.Value.(bool))
		}
	case reflect.Int:
		d.integer(n, at, field, v)
	default:
		panic("spec: no way to decode into " + v.Type().String())
	}
}

// special handles the types that have a notation of their own.
func (d *decoder) special(n *yamltree.Node, at yamltree.Place, field string, v reflect.Value) bool {
	if !v.CanAddr() {
		return false
	}
	switch to := v.Addr().Interface().(type) {
	case *Document:
		d.document(n, at, field, to)
		return true
	case *Source, *Credentials:
		if n.Kind == yamltree.Map && !isPullSecret(n) {
			return false
		}
		d.report(at, field, "a secret never stands in the file itself", "write where it is read from: {file: PATH}, {env: NAME}, {exec: [PROGRAM, ARGUMENT]} or {stdin: true}")
		return true
	case textual:
		if n.Kind == yamltree.Map && v.Kind() == reflect.Struct || n.Kind == yamltree.List && v.Kind() == reflect.Slice {
			return false
		}
		if !d.want(n, yamltree.Text, at, field) {
			return true
		}
		if err := to.fromText(n.Text); err != nil {
			d.report(at, field, err.Error(), "")
		}
		return true
	}
	return false
}

// want reports n unless it is of the given kind.
func (d *decoder) want(n *yamltree.Node, kind yamltree.Kind, at yamltree.Place, field string) bool {
	if n.Kind == kind {
		return true
	}
	message := fmt.Sprintf("has to be %s, but is %s", kind, n.Kind)
	remedy := ""
	scalar := n.Kind == yamltree.Int || n.Kind == yamltree.Float || n.Kind == yamltree.Bool
	switch {
	case kind == yamltree.Text && field == "spec.openshift.version" && scalar:
		message = fmt.Sprintf("%s without quotes is a number, and as a number 4.20 is 4.2", n.Text)
		remedy = fmt.Sprintf("put the version in quotes: version: %q", n.Text)
	case kind == yamltree.Text && scalar:
		remedy = "put it in quotes"
	case kind == yamltree.Bool && n.Kind == yamltree.Text:
		remedy = "write true or false, without quotes"
	case kind == yamltree.Int && n.Kind == yamltree.Text:
		remedy = "write the number without quotes"
	case kind == yamltree.List && field == "spec.hosts" && n.Kind == yamltree.Int:
		remedy = `list the machines, each as "- {name: cp-0, role: control-plane, match: {mac: MAC}}", or count them in topology and write acceptUnknownHosts: true`
	case kind == yamltree.List && n.Kind == yamltree.Map:
		remedy = "put a dash before each item"
	case kind == yamltree.List:
		remedy = "write it in brackets, as [ITEM], or put a dash before each item"
	}
	d.report(at, field, message, remedy)
	return false
}

func (d *decoder) integer(n *yamltree.Node, at yamltree.Place, field string, v reflect.Value) {
	if !d.want(n, yamltree.Int, at, field) {
		return
	}
	switch number := n.Value.(type) {
	case int64:
		v.SetInt(number)
	case uint64:
		if number > 1<<31-1 {
			d.report(at, field, "is too large a number", "")
			return
		}
		v.SetInt(int64(number))
	default:
		d.report(at, field, "is not a number that can be read", "")
	}
}

// isPullSecret says whether a map is a pull secret itself, and not where to read one.
func isPullSecret(n *yamltree.Node) bool {
	_, has := n.Get("auths")
	return has
}

func (d *decoder) structure(n *yamltree.Node, at yamltree.Place, field string, v reflect.Value) {
	if !d.want(n, yamltree.Map, at, field) {
		return
	}
	for _, e := range n.Entries {
		if d.full() {
			return
		}
		child := join(field, e.Key)
		target, ok := fieldByKey(v, e.Key)
		if !ok {
			message := fmt.Sprintf("the field %q is not known here", e.Key)
			d.report(e.At, child, message, didYouMean(e.Key, v.Type(), field))
			if meant := nearest(e.Key, keysOf(v.Type())); meant != "" && !has(n, meant) {
				d.failed[join(field, meant)] = true // that it is missing, too, is the same mistake
			}
			continue
		}
		d.value(e.Value, valuePlace(e), child, target)
	}
}

func has(n *yamltree.Node, key string) bool {
	return slices.ContainsFunc(n.Entries, func(e yamltree.Entry) bool { return e.Key == key })
}

// valuePlace is where a problem with a field is shown: at the value if it is a
// scalar, else at the key, where lines of YAML begin to be about it.
func valuePlace(e yamltree.Entry) yamltree.Place {
	if e.Value.Kind == yamltree.Map || e.Value.Kind == yamltree.List || e.Value.Kind == yamltree.Null {
		return e.At
	}
	return e.Value.At
}

func (d *decoder) list(n *yamltree.Node, at yamltree.Place, field string, v reflect.Value) {
	if !d.want(n, yamltree.List, at, field) {
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		if d.full() {
			return
		}
		child := fmt.Sprintf("%s[%d]", field, i)
		itemAt := item.At
		if itemAt.Line == 0 {
			itemAt = at
		}
		if item.Kind == yamltree.Null {
			d.report(itemAt, child, "is an empty list entry", "remove it or fill it in")
			continue
		}
		d.value(item, itemAt, child, list.Index(i))
	}
	v.Set(list)
}

func (d *decoder) mapping(n *yamltree.Node, at yamltree.Place, field string, v reflect.Value) {
	if !d.want(n, yamltree.Map, at, field) {
		return
	}
	if v.Type().Elem().Kind() == reflect.Interface {
		v.Set(reflect.ValueOf(d.plainMap(n, field)))
		return
	}
	result := reflect.MakeMapWithSize(v.Type(), len(n.Entries))
	for _, e := range n.Entries {
		child := join(field, e.Key)
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(e.Value, valuePlace(e), child, value)
		result.SetMapIndex(reflect.ValueOf(e.Key), value)
	}
	v.Set(result)
}

// plainMap is n in the types that encoding/json would give, with integers kept
// whole, and its places noted.
func (d *decoder) plainMap(n *yamltree.Node, field string) map[string]any {
	result := make(map[string]any, len(n.Entries))
	for _, e := range n.Entries {
		child := join(field, e.Key)
		d.places[child] = valuePlace(e)
		result[e.Key] = d.plain(e.Value, child)
	}
	return result
}

func (d *decoder) plain(n *yamltree.Node, field string) any {
	switch n.Kind {
	case yamltree.Map:
		return d.plainMap(n, field)
	case yamltree.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			child := fmt.Sprintf("%s[%d]", field, i)
			d.places[child] = item.At
			list[i] = d.plain(item, child)
		}
		return list
	}
	return n.Plain()
}

// document takes {file: PATH}, or the document itself. Text is taken for the
// document too, for Ignition is often at hand as JSON.
func (d *decoder) document(n *yamltree.Node, at yamltree.Place, field string, to *Document) {
	if n.Kind != yamltree.Map {
		d.report(at, field, fmt.Sprintf("has to be a map, but is %s", n.Kind), "write the document itself, or {file: PATH}")
		return
	}
	if file, ok := n.Get("file"); ok && len(n.Entries) == 1 {
		d.value(file, valuePlace(n.Entries[0]), join(field, "file"), reflect.ValueOf(&to.File).Elem())
		return
	}
	to.Inline = d.plainMap(n, field)
	to.order = []byte(n.YAML())
}

func join(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

// fieldByKey is the field of a struct that a YAML key names.
func fieldByKey(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if name := yamlName(v.Type().Field(i)); name != "" && name == key {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// yamlName is the key of a field; empty for one that is not written in YAML.
func yamlName(field reflect.StructField) string {
	if !field.IsExported() {
		return ""
	}
	name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return name
}
