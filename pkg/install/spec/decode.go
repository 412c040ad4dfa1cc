package spec

import (
	"fmt"
	"reflect"
	"strings"
)

// textual is a type that may be written as plain text.
type textual interface {
	fromText(text string) error
}

// decoder fills Go values from a tree, notes where every field stands, and
// collects what does not fit.
type decoder struct {
	file     string
	places   map[string]place
	problems *Problems
	failed   map[string]bool // fields whose value could not be taken
}

// maxProblems is where the decoder gives up: such a file is no cluster.yaml.
const maxProblems = 500

// full says whether enough problems were found.
func (d *decoder) full() bool { return len(d.problems.List) >= maxProblems }

func (d *decoder) report(at place, field, message, remedy string) {
	d.failed[field] = true
	d.problems.List = append(d.problems.List, Problem{File: d.file, Line: at.line, Column: at.col, Field: field, Message: message, Remedy: remedy})
}

// value decodes n, which stands at the given place, into v. An empty value
// counts as not there.
func (d *decoder) value(n *node, at place, field string, v reflect.Value) {
	if n.kind == nullNode {
		return
	}
	if field != "" {
		d.places[field] = at
	}
	if n.kind == brokenNode {
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
		if d.want(n, textNode, at, field) {
			v.SetString(n.text)
		}
	case reflect.Bool:
		if d.want(n, boolNode, at, field) {
			v.SetBool(n.value.(bool))
		}
	case reflect.Int:
		d.integer(n, at, field, v)
	default:
		panic("spec: no way to decode into " + v.Type().String())
	}
}

// special handles the types that have a notation of their own.
func (d *decoder) special(n *node, at place, field string, v reflect.Value) bool {
	if !v.CanAddr() {
		return false
	}
	switch to := v.Addr().Interface().(type) {
	case *Document:
		d.document(n, at, field, to)
		return true
	case *Source, *Credentials:
		if n.kind == mapNode {
			return false
		}
		d.report(at, field, "a secret never stands in the file itself", "write where it is read from: {file: PATH}, {env: NAME}, {exec: [PROGRAM, ARGUMENT]} or {stdin: true}")
		return true
	case textual:
		if n.kind == mapNode && v.Kind() == reflect.Struct || n.kind == listNode && v.Kind() == reflect.Slice {
			return false
		}
		if !d.want(n, textNode, at, field) {
			return true
		}
		if err := to.fromText(n.text); err != nil {
			d.report(at, field, err.Error(), "")
		}
		return true
	}
	return false
}

// want reports n unless it is of the given kind.
func (d *decoder) want(n *node, kind nodeKind, at place, field string) bool {
	if n.kind == kind {
		return true
	}
	message := fmt.Sprintf("has to be %s, but is %s", kind, n.kind)
	remedy := ""
	scalar := n.kind == intNode || n.kind == floatNode || n.kind == boolNode
	switch {
	case kind == textNode && field == "spec.openshift.version" && scalar:
		message = fmt.Sprintf("%s without quotes is a number, and as a number 4.20 is 4.2", n.text)
		remedy = fmt.Sprintf("put the version in quotes: version: %q", n.text)
	case kind == textNode && scalar:
		remedy = "put it in quotes"
	case kind == boolNode && n.kind == textNode:
		remedy = "write true or false, without quotes"
	case kind == intNode && n.kind == textNode:
		remedy = "write the number without quotes"
	case kind == listNode && field == "spec.hosts" && n.kind == intNode:
		remedy = `list the machines, each as "- {name: cp-0, role: control-plane, match: {mac: MAC}}", or count them in topology and write acceptUnknownHosts: true`
	case kind == listNode && n.kind == mapNode:
		remedy = "put a dash before each item"
	case kind == listNode:
		remedy = "write it in brackets, as [ITEM], or put a dash before each item"
	}
	d.report(at, field, message, remedy)
	return false
}

func (d *decoder) integer(n *node, at place, field string, v reflect.Value) {
	if !d.want(n, intNode, at, field) {
		return
	}
	switch number := n.value.(type) {
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

func (d *decoder) structure(n *node, at place, field string, v reflect.Value) {
	if !d.want(n, mapNode, at, field) {
		return
	}
	for _, e := range n.entries {
		if d.full() {
			return
		}
		child := join(field, e.key)
		target, ok := fieldByKey(v, e.key)
		if !ok {
			message := fmt.Sprintf("the field %q is not known here", e.key)
			d.report(e.at, child, message, didYouMean(e.key, v.Type(), field))
			continue
		}
		d.value(e.value, valuePlace(e), child, target)
	}
}

// valuePlace is where a problem with a field is shown: at the value if it is a
// scalar, else at the key, where lines of YAML begin to be about it.
func valuePlace(e entry) place {
	if e.value.kind == mapNode || e.value.kind == listNode || e.value.kind == nullNode {
		return e.at
	}
	return e.value.at
}

func (d *decoder) list(n *node, at place, field string, v reflect.Value) {
	if !d.want(n, listNode, at, field) {
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		if d.full() {
			return
		}
		child := fmt.Sprintf("%s[%d]", field, i)
		itemAt := item.at
		if itemAt.line == 0 {
			itemAt = at
		}
		if item.kind == nullNode {
			d.report(itemAt, child, "is an empty list entry", "remove it or fill it in")
			continue
		}
		d.value(item, itemAt, child, list.Index(i))
	}
	v.Set(list)
}

func (d *decoder) mapping(n *node, at place, field string, v reflect.Value) {
	if !d.want(n, mapNode, at, field) {
		return
	}
	if v.Type().Elem().Kind() == reflect.Interface {
		v.Set(reflect.ValueOf(d.plainMap(n, field)))
		return
	}
	result := reflect.MakeMapWithSize(v.Type(), len(n.entries))
	for _, e := range n.entries {
		child := join(field, e.key)
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(e.value, valuePlace(e), child, value)
		result.SetMapIndex(reflect.ValueOf(e.key), value)
	}
	v.Set(result)
}

// plainMap is n in the types that encoding/json would give, with integers kept
// whole, and its places noted.
func (d *decoder) plainMap(n *node, field string) map[string]any {
	result := make(map[string]any, len(n.entries))
	for _, e := range n.entries {
		child := join(field, e.key)
		d.places[child] = valuePlace(e)
		result[e.key] = d.plain(e.value, child)
	}
	return result
}

func (d *decoder) plain(n *node, field string) any {
	switch n.kind {
	case mapNode:
		return d.plainMap(n, field)
	case listNode:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			child := fmt.Sprintf("%s[%d]", field, i)
			d.places[child] = item.at
			list[i] = d.plain(item, child)
		}
		return list
	case nullNode, brokenNode:
		return nil
	default:
		return plainScalar(n)
	}
}

func plainScalar(n *node) any {
	if number, ok := n.value.(uint64); ok && number <= 1<<63-1 {
		return int64(number)
	}
	return n.value
}

// document takes {file: PATH}, or the document itself. Text is taken for the
// document too, for Ignition is often at hand as JSON.
func (d *decoder) document(n *node, at place, field string, to *Document) {
	if n.kind != mapNode {
		d.report(at, field, fmt.Sprintf("has to be a map, but is %s", n.kind), "write the document itself, or {file: PATH}")
		return
	}
	if file, ok := n.get("file"); ok && len(n.entries) == 1 {
		d.value(file, valuePlace(n.entries[0]), join(field, "file"), reflect.ValueOf(&to.File).Elem())
		return
	}
	to.Inline = d.plainMap(n, field)
	to.order = []byte(yamlOfNode(n))
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
