// Package decode fills Go values from a YAML tree by the keys of their fields, and
// knows where each of them stands.
package decode

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/suggest"
)

// Decoder fills Go values from a tree, notes where every field stands, and
// tells what does not fit.
type Decoder struct {
	Places map[string]yamltree.Place
	Failed map[string]bool // fields whose value could not be taken
	Format Format
}

// Format is what a decoder needs to know of what it decodes, beside Go's types.
type Format interface {
	// Special decodes a value whose type has a notation of its own; false for any
	// other.
	Special(d *Decoder, n *yamltree.Node, at yamltree.Place, field string, target any) bool
	// Mistake is what is said of a value of the wrong kind, where it is a mistake that
	// people are known to make; empty for another.
	Mistake(n *yamltree.Node, want yamltree.Kind, field string) (message, remedy string)
	// Elsewhere is the field that has an unknown key in another part of the document,
	// "" for none.
	Elsewhere(key, field string) string
	// Tell notes a problem.
	Tell(at yamltree.Place, field, message, remedy string)
	// Full says whether there are too many problems to go on.
	Full() bool
}

// Report notes a problem with a field, whose value is not taken.
func (d *Decoder) Report(at yamltree.Place, field, message, remedy string) {
	d.Failed[field] = true
	d.Format.Tell(at, field, message, remedy)
}

// Value decodes n, which stands at the given place, into v. An empty value
// counts as not there.
func (d *Decoder) Value(n *yamltree.Node, at yamltree.Place, field string, v reflect.Value) {
	if n.Kind == yamltree.Null {
		return
	}
	if field != "" {
		d.Places[field] = at
	}
	if n.Kind == yamltree.Broken {
		d.Failed[field] = true
		return
	}
	if v.CanAddr() && d.Format.Special(d, n, at, field, v.Addr().Interface()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.Value(n, at, field, v.Elem())
	case reflect.Struct:
		d.structure(n, at, field, v)
	case reflect.Slice:
		d.list(n, at, field, v)
	case reflect.Map:
		d.mapping(n, at, field, v)
	case reflect.String:
		if d.Want(n, yamltree.Text, at, field) {
			v.SetString(n.Text)
		}
	case reflect.Bool:
		if d.Want(n, yamltree.Bool, at, field) {
			v.SetBool(n.Value.(bool))
		}
	case reflect.Int:
		d.integer(n, at, field, v)
	default:
		panic("spec: no way to decode into " + v.Type().String())
	}
}

// Want reports n unless it is of the given kind.
func (d *Decoder) Want(n *yamltree.Node, kind yamltree.Kind, at yamltree.Place, field string) bool {
	if n.Kind == kind {
		return true
	}
	message, remedy := d.Format.Mistake(n, kind, field)
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
	d.Report(at, field, message, remedy)
	return false
}

func (d *Decoder) integer(n *yamltree.Node, at yamltree.Place, field string, v reflect.Value) {
	if !d.Want(n, yamltree.Int, at, field) {
		return
	}
	switch number := n.Value.(type) {
	case int64:
		v.SetInt(number)
	case uint64:
		if number > 1<<31-1 {
			d.Report(at, field, "is too large a number", "")
			return
		}
		v.SetInt(int64(number))
	default:
		d.Report(at, field, "is not a number that can be read", "")
	}
}

func (d *Decoder) structure(n *yamltree.Node, at yamltree.Place, field string, v reflect.Value) {
	if !d.Want(n, yamltree.Map, at, field) {
		return
	}
	for _, e := range n.Entries {
		if d.Format.Full() {
			return
		}
		child := Join(field, e.Key)
		target, ok := fieldByKey(v, e.Key)
		if !ok {
			message := fmt.Sprintf("the field %q is not known here", e.Key)
			d.Report(e.At, child, message, didYouMean(e.Key, v.Type(), d.Format.Elsewhere(e.Key, field)))
			if meant := suggest.Nearest(e.Key, keysOf(v.Type())); meant != "" && !has(n, meant) {
				d.Failed[Join(field, meant)] = true // that it is missing, too, is the same mistake
			}
			continue
		}
		d.Value(e.Value, ValuePlace(e), child, target)
	}
}

func has(n *yamltree.Node, key string) bool {
	return slices.ContainsFunc(n.Entries, func(e yamltree.Entry) bool { return e.Key == key })
}

// ValuePlace is where a problem with a field is shown: at the value if it is a
// scalar, else at the key, where lines of YAML begin to be about it.
func ValuePlace(e yamltree.Entry) yamltree.Place {
	if e.Value.Kind == yamltree.Map || e.Value.Kind == yamltree.List || e.Value.Kind == yamltree.Null {
		return e.At
	}
	return e.Value.At
}

func (d *Decoder) list(n *yamltree.Node, at yamltree.Place, field string, v reflect.Value) {
	if !d.Want(n, yamltree.List, at, field) {
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		if d.Format.Full() {
			return
		}
		child := fmt.Sprintf("%s[%d]", field, i)
		itemAt := item.At
		if itemAt.Line == 0 {
			itemAt = at
		}
		if item.Kind == yamltree.Null {
			d.Report(itemAt, child, "is an empty list entry", "remove it or fill it in")
			continue
		}
		d.Value(item, itemAt, child, list.Index(i))
	}
	v.Set(list)
}

func (d *Decoder) mapping(n *yamltree.Node, at yamltree.Place, field string, v reflect.Value) {
	if !d.Want(n, yamltree.Map, at, field) {
		return
	}
	if v.Type().Elem().Kind() == reflect.Interface {
		v.Set(reflect.ValueOf(d.PlainMap(n, field)))
		return
	}
	result := reflect.MakeMapWithSize(v.Type(), len(n.Entries))
	for _, e := range n.Entries {
		child := Join(field, e.Key)
		value := reflect.New(v.Type().Elem()).Elem()
		d.Value(e.Value, ValuePlace(e), child, value)
		result.SetMapIndex(reflect.ValueOf(e.Key), value)
	}
	v.Set(result)
}

// PlainMap is n in the types that encoding/json would give, with integers kept
// whole, and its places noted.
func (d *Decoder) PlainMap(n *yamltree.Node, field string) map[string]any {
	result := make(map[string]any, len(n.Entries))
	for _, e := range n.Entries {
		child := Join(field, e.Key)
		d.Places[child] = ValuePlace(e)
		result[e.Key] = d.plain(e.Value, child)
	}
	return result
}

func (d *Decoder) plain(n *yamltree.Node, field string) any {
	switch n.Kind {
	case yamltree.Map:
		return d.PlainMap(n, field)
	case yamltree.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			child := fmt.Sprintf("%s[%d]", field, i)
			d.Places[child] = item.At
			list[i] = d.plain(item, child)
		}
		return list
	}
	return n.Plain()
}

// Join is the path of a key below a field.
func Join(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

func fieldByKey(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if name := Name(v.Type().Field(i)); name != "" && name == key {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// Name is the key of a field; empty for one that is not written in YAML.
func Name(field reflect.StructField) string {
	if !field.IsExported() {
		return ""
	}
	name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return name
}

// ParseTree reads one YAML document.
func ParseTree(data []byte) (*yamltree.Node, []yamltree.Problem) {
	docs, problems := yamltree.Parse(data)
	switch {
	case len(problems) > 0 && len(docs) == 0:
		return nil, problems
	case len(docs) == 0 || docs[0].Kind == yamltree.Null && len(problems) == 0:
		return nil, []yamltree.Problem{{At: yamltree.Place{Line: 1, Column: 1}, Message: "is empty"}}
	case len(docs) > 1:
		return nil, []yamltree.Problem{{At: docs[1].At, Message: "a second document starts here", Remedy: "keep one cluster in a file"}}
	}
	return docs[0], problems
}

// Walk visits v, which is at path, and everything below it for which visit says true.
func Walk(v reflect.Value, path string, visit func(v reflect.Value, path string) bool) {
	if !visit(v, path) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			Walk(v.Elem(), path, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := Name(v.Type().Field(i)); name != "" {
				Walk(v.Field(i), Join(path, name), visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			Walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	}
}

// NotePresent notes the fields that are not zero.
func NotePresent(places map[string]yamltree.Place, v reflect.Value) {
	Walk(v, "", func(v reflect.Value, path string) bool {
		if path != "" && !v.IsZero() {
			places[path] = yamltree.Place{}
		}
		return !v.IsZero()
	})
}

// didYouMean is the remedy for an unknown key: where a key of that very name does
// belong (elsewhere, "" for nowhere), else the most similar key of the same struct, else the keys
// there are.
func didYouMean(key string, in reflect.Type, elsewhere string) string {
	keys := keysOf(in)
	best := suggest.Nearest(key, keys)
	if suggest.PlainKey(best) != suggest.PlainKey(key) && elsewhere != "" {
		return "it belongs to " + elsewhere
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known here: " + strings.Join(keys, ", ")
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if name := Name(t.Field(i)); name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}
