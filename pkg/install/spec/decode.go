package spec

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/spelling"
	"github.com/oaictl/oaictl/internal/shared/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// decoder fills a cluster from a tree, and notes where every field stands.
type decoder struct {
	of        reflect.Type // what the document is decoded into
	file      string
	positions map[string]yamltree.Position
	failed    map[string]bool // fields whose value could not be taken
	problems  *Problems
}

// maxProblems is where the decoder gives up: such a file is no cluster.yaml.
const maxProblems = 500

func (d *decoder) full() bool { return len(d.problems.List) >= maxProblems }

func (d *decoder) report(at yamltree.Position, field, message, remedy string) {
	d.failed[field] = true
	d.problems.List = append(d.problems.List, Problem{File: d.file, Line: at.Line, Column: at.Column, Field: field, Message: message,
		Remedy: remedy})
}

// value decodes n, at a place, into v. An empty value counts as not there.
func (d *decoder) value(n *yamltree.Node, at yamltree.Position, field string, v reflect.Value) {
	if n.Kind == yamltree.Null {
		return
	}
	if field != "" {
		d.positions[field] = at
	}
	if n.Kind == yamltree.Broken {
		d.failed[field] = true
		return
	}
	if v.CanAddr() && d.special(n, at, field, v.Addr().Interface()) {
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
		if d.requireKind(n, yamltree.Text, at, field) {
			v.SetString(n.Text)
		}
	case reflect.Bool:
		if d.requireKind(n, yamltree.Bool, at, field) {
			v.SetBool(n.Value.(bool))
		}
	case reflect.Int:
		d.integer(n, at, field, v)
	default:
		panic("spec: no way to decode into " + v.Type().String())
	}
}

// requireKind reports n unless it is of the given kind.
func (d *decoder) requireKind(n *yamltree.Node, kind yamltree.Kind, at yamltree.Position, field string) bool {
	if n.Kind == kind {
		return true
	}
	message, remedy := mistake(n, kind, field)
	if message == "" {
		message = fmt.Sprintf("has to be %s, but is %s", kind, n.Kind)
	}
	switch {
	case remedy != "":
	case kind == yamltree.Text && (n.Kind == yamltree.Int || n.Kind == yamltree.Float || n.Kind == yamltree.Bool):
		remedy = "put it in quotes"
	case kind == yamltree.Bool && n.Kind == yamltree.Text:
		remedy = "write true or false, without quotes"
	case kind == yamltree.Int && n.Kind == yamltree.Text:
		remedy = "write the number without quotes"
	case kind == yamltree.List && n.Kind == yamltree.Map:
		remedy = "put a dash before each item"
	case kind == yamltree.List:
		remedy = "write it in brackets, as [ITEM], or put a dash before each item"
	}
	d.report(at, field, message, remedy)
	return false
}

func (d *decoder) integer(n *yamltree.Node, at yamltree.Position, field string, v reflect.Value) {
	if !d.requireKind(n, yamltree.Int, at, field) {
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

func (d *decoder) structure(n *yamltree.Node, at yamltree.Position, field string, v reflect.Value) {
	if !d.requireKind(n, yamltree.Map, at, field) {
		return
	}
	for _, e := range n.Entries {
		if d.full() {
			return
		}
		target, key, ok := fieldByKey(v, e.Key)
		child := values.Join(field, key)
		if _, twice := n.Get(key); ok && twice && key != e.Key {
			d.report(e.At, child, fmt.Sprintf("is also set as %s, which is its old key", e.Key), "keep "+key)
			continue
		}
		if !ok {
			d.unknown(e, field, v.Type())
			meant := spelling.Nearest(e.Key, keysOf(v.Type()))
			if _, there := n.Get(meant); meant != "" && !there {
				d.failed[values.Join(field, meant)] = true // that it is missing, too, is the same mistake
			}
			continue
		}
		d.value(e.Value, valuePosition(e), child, target)
	}
}

// valuePosition is where a problem with a field is shown: a scalar's value, else the key.
func valuePosition(e yamltree.Entry) yamltree.Position {
	if e.Value.Kind == yamltree.Map || e.Value.Kind == yamltree.List || e.Value.Kind == yamltree.Null {
		return e.At
	}
	return e.Value.At
}

func (d *decoder) list(n *yamltree.Node, at yamltree.Position, field string, v reflect.Value) {
	if !d.requireKind(n, yamltree.List, at, field) {
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		if d.full() {
			return
		}
		child := fmt.Sprintf("%s[%d]", field, i)
		itemAt := cmp.Or(item.At, at)
		if item.Kind == yamltree.Null {
			d.report(itemAt, child, "is an empty list entry", "remove it or fill it in")
			continue
		}
		d.value(item, itemAt, child, list.Index(i))
	}
	v.Set(list)
}

func (d *decoder) mapping(n *yamltree.Node, at yamltree.Position, field string, v reflect.Value) {
	if !d.requireKind(n, yamltree.Map, at, field) {
		return
	}
	if v.Type().Elem().Kind() == reflect.Interface {
		v.Set(reflect.ValueOf(d.plainMap(n, field)))
		return
	}
	result := reflect.MakeMapWithSize(v.Type(), len(n.Entries))
	for _, e := range n.Entries {
		child := values.Join(field, e.Key)
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(e.Value, valuePosition(e), child, value)
		result.SetMapIndex(reflect.ValueOf(e.Key), value)
	}
	v.Set(result)
}

// recordPosition keeps the positions of all that stands below a field.
func (d *decoder) recordPosition(n *yamltree.Node, field string) {
	for _, e := range n.Entries {
		child := values.Join(field, e.Key)
		d.positions[child] = valuePosition(e)
		d.recordPosition(e.Value, child)
	}
	for i, item := range n.Items {
		child := fmt.Sprintf("%s[%d]", field, i)
		d.positions[child] = item.At
		d.recordPosition(item, child)
	}
}

func (d *decoder) plainMap(n *yamltree.Node, field string) map[string]any {
	d.recordPosition(n, field)
	plain, _ := n.Plain().(map[string]any)
	return plain
}

// fieldByKey is the field with a key, which may be its former one, and the key that it has now.
func fieldByKey(v reflect.Value, key string) (value reflect.Value, now string, ok bool) {
	for field, value := range v.Fields() {
		if name := fieldKey(field); name != "" && (name == key || field.Tag.Get("former") == key) {
			return value, name, true
		}
	}
	return reflect.Value{}, "", false
}

// fieldKey is the key of a field; empty for one that is not written in YAML.
func fieldKey(field reflect.StructField) string {
	if !field.IsExported() {
		return ""
	}
	name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return name
}

// parseTree reads one YAML document.
func parseTree(data []byte) (*yamltree.Node, []yamltree.Problem) {
	docs, problems := yamltree.Parse(data)
	switch {
	case len(problems) > 0 && len(docs) == 0:
		return nil, problems
	case len(docs) == 0 || docs[0].Kind == yamltree.Null && len(problems) == 0:
		return nil, []yamltree.Problem{{At: yamltree.Position{Line: 1, Column: 1}, Message: "is empty"}}
	case len(docs) > 1:
		return nil, []yamltree.Problem{{At: docs[1].At, Message: "a second document starts here", Remedy: "keep one cluster in a file"}}
	}
	return docs[0], problems
}

// walk visits v, which is at path, and everything below it for which visit says true.
func walk(v reflect.Value, path string, visit func(v reflect.Value, path string) bool) {
	if !visit(v, path) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, visit)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if name := fieldKey(field); name != "" {
				walk(value, values.Join(path, name), visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	}
}

func recordPresent(places map[string]yamltree.Position, v reflect.Value) {
	walk(v, "", func(v reflect.Value, path string) bool {
		if path != "" && !v.IsZero() {
			places[path] = yamltree.Position{}
		}
		return !v.IsZero()
	})
}

// by11 are the former keys that tools for YAML 1.1 take for true or false, and write so.
var by11 = map[string]string{"false": "no", "true": "on"}

// rewritten is the remedy for a key that such a tool has made of a former one; "" for any other.
func rewritten(key string, in reflect.Type) string {
	for field := range in.Fields() {
		if former := field.Tag.Get("former"); former != "" && former == by11[key] {
			return fmt.Sprintf("a YAML 1.1 tool wrote it for %s; write %s", former, fieldKey(field))
		}
	}
	return ""
}

// didYouMean is the remedy for an unknown key: where else it belongs, the most similar
// key here, or all keys.
func didYouMean(key string, in reflect.Type, elsewhere string) string {
	keys := keysOf(in)
	if remedy := rewritten(key, in); remedy != "" {
		return remedy
	}
	best := spelling.Nearest(key, keys)
	if spelling.PlainKey(best) != spelling.PlainKey(key) && elsewhere != "" {
		return "it belongs to " + elsewhere
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known here: " + strings.Join(keys, ", ")
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for field := range t.Fields() {
		if name := fieldKey(field); name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}
