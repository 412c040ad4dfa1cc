// Package source is what an input says: its files as trees of values that know
// their places, and an account of which of them were carried over to cluster.yaml.
package source

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/loss"
)

// First is the first of some keys that is there.
func First(n *Node, keys ...string) *Node {
	for _, key := range keys {
		if c := n.Get(key); c != nil {
			return c
		}
	}
	return nil
}

type nodeKind int

// What a value is.
const (
	NullNode nodeKind = iota
	BoolNode
	NumberNode
	TextNode
	MapNode
	ListNode
)

// String is the kind in a user's words.
func (k nodeKind) String() string {
	return [...]string{"empty", "true or false", "a number", "text", "a map", "a list"}[k]
}

// Node is a value of an input file. It knows its place and whether somebody has
// taken it: whatever was not taken in the end is told as a Loss, so that nothing
// can be forgotten. Aliases are copied, for each use is a key of its own.
type Node struct {
	Kind      nodeKind
	In        *Document
	Line, Col int
	keyLine   int // of the key, for maps and lists
	keyCol    int
	Parent    *Node
	Key       string // in a map
	index     int    // in a list
	Text      string // a scalar, as it is written
	Children  []*Node
	Taken     bool
	Decoded   bool // from base64
}

// Document is one YAML document of an input.
type Document struct {
	File string // as messages call it
	// label tells apart what stands in several files, or several times in one; it
	// is put before paths, with its colon.
	Label string
	Root  *Node
}

// Get is what stands below keys; nil for nothing, or for an empty value.
func (n *Node) Get(keys ...string) *Node {
	for _, key := range keys {
		n = n.Child(key)
	}
	if n != nil && n.Kind == NullNode {
		n.Taken = true
		return nil
	}
	return n
}

// Child is what stands below a key, an empty value included; nil for nothing.
func (n *Node) Child(key string) *Node {
	if n == nil || n.Kind != MapNode {
		return nil
	}
	for _, c := range n.Children {
		if c.Key == key {
			return c
		}
	}
	return nil
}

// Each is the text below a key of each entry of a list of maps.
func (n *Node) Each(key string) []string {
	texts := make([]string, 0, len(n.Items()))
	for _, item := range n.Items() {
		texts = append(texts, item.Child(key).Peek())
	}
	return texts
}

// Items are the entries of a list.
func (n *Node) Items() []*Node {
	if n == nil || n.Kind != ListNode {
		return nil
	}
	return n.Children
}

// Peek is a scalar's text without taking it.
func (n *Node) Peek() string {
	if n == nil {
		return ""
	}
	return n.Text
}

// Path is where the node stands, such as spec.hosts[2].name.
func (n *Node) Path() string {
	path := ""
	for at := n; at != nil && at.Parent != nil; at = at.Parent {
		if at.Parent.Kind == ListNode {
			path = "[" + strconv.Itoa(at.index) + "]" + path
		} else {
			path = "." + at.Key + path
		}
	}
	if path == "" {
		return strings.TrimSuffix(n.In.Label, ":")
	}
	return n.In.Label + strings.TrimPrefix(path, ".")
}

// Place is where a problem with the node is shown: at its value, or a map at its key.
func (n *Node) Place() (line, col int) {
	if (n.Kind == MapNode || n.Kind == ListNode || n.Kind == NullNode) && n.keyLine > 0 {
		return n.keyLine, n.keyCol
	}
	return n.Line, n.Col
}

func (n *Node) walk(visit func(*Node)) {
	if n == nil {
		return
	}
	visit(n)
	for _, c := range n.Children {
		c.walk(visit)
	}
}

// Take marks the node and all below it as carried over.
func (n *Node) Take() { n.walk(func(n *Node) { n.Taken = true }) }

// Plain is the value as encoding/json would decode it, with integers kept whole.
func (n *Node) Plain() any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case MapNode:
		m := make(map[string]any, len(n.Children))
		for _, c := range n.Children {
			m[c.Key] = c.Plain()
		}
		return m
	case ListNode:
		l := make([]any, len(n.Children))
		for i, c := range n.Children {
			l[i] = c.Plain()
		}
		return l
	case BoolNode:
		return Truth(n.Text)
	case NumberNode:
		return numberOf(n.Text)
	case TextNode:
		return n.Text
	}
	return nil
}

// numberOf is a number of YAML 1.2; a leading zero makes it octal, save that 08 is eight.
func numberOf(text string) any {
	clean := strings.ReplaceAll(text, "_", "")
	for _, base := range []int{0, 10} {
		if i, err := strconv.ParseInt(clean, base, 64); err == nil {
			return i
		}
	}
	if f, err := strconv.ParseFloat(clean, 64); err == nil && f-f == 0 {
		return f
	}
	return text
}

// Truth is a boolean as YAML 1.1 writes it.
func Truth(text string) bool {
	return slices.Contains([]string{"true", "yes", "on"}, strings.ToLower(text))
}

// All are the entries of a map, none of nil.
func (n *Node) All() []*Node {
	if n == nil {
		return nil
	}
	return n.Children
}

// Text takes a text; empty for none.
func (r *Account) Text(n *Node) string {
	if n == nil || !r.want(n, TextNode) {
		return ""
	}
	n.Taken = true
	return n.Text
}

// Scalar takes any scalar as the text that it is written with.
func (r *Account) Scalar(n *Node) string {
	switch {
	case n == nil:
		return ""
	case n.Kind == MapNode || n.Kind == ListNode:
		r.want(n, TextNode)
		return ""
	}
	n.Taken = true
	return n.Text
}

func (r *Account) want(n *Node, kind nodeKind) bool {
	if n.Kind == kind {
		return true
	}
	remedy := ""
	if kind == TextNode && (n.Kind == NumberNode || n.Kind == BoolNode) {
		remedy = "put it in quotes"
	}
	if !(n.Taken && len(n.Children) == 0) {
		r.Wrong(n, fmt.Sprintf("has to be %s, but is %s", kind, n.Kind), remedy)
	}
	return false
}

// MapOf reports what is there and no map; nil then.
func (r *Account) MapOf(n *Node) *Node { return r.kindOf(n, MapNode) }

// ListOf are the entries of a list; anything else is reported.
func (r *Account) ListOf(n *Node) []*Node { return r.kindOf(n, ListNode).Items() }

func (r *Account) kindOf(n *Node, kind nodeKind) *Node {
	if n == nil || !r.want(n, kind) {
		return nil
	}
	if len(n.Children) == 0 {
		n.Taken = true
	}
	return n
}

// Texts takes a list of texts; nil for none. An empty entry is left out.
func (r *Account) Texts(n *Node) []string {
	if n == nil {
		return nil
	}
	list := []string{}
	for _, item := range r.ListOf(n) {
		if item.Kind == NullNode {
			r.Wrong(item, "is an empty list entry", "remove it or fill it in")
			continue
		}
		list = append(list, r.Text(item))
	}
	return list
}

// Number takes an integer; nil for none.
func (r *Account) Number(n *Node) *int {
	if n == nil || !r.want(n, NumberNode) {
		return nil
	}
	whole, ok := numberOf(n.Text).(int64)
	if !ok || whole > 1<<31-1 || whole < -1<<31 {
		r.Wrong(n, "is not a number that can be read", "")
		return nil
	}
	n.Taken = true
	value := int(whole)
	return &value
}

// Boolean takes true or false; nil for neither.
func (r *Account) Boolean(n *Node) *bool {
	if n == nil {
		return nil
	}
	word := strings.ToLower(n.Text)
	if n.Kind != BoolNode && (n.Kind != TextNode || !slices.Contains([]string{"yes", "no", "on", "off"}, word)) {
		r.want(n, BoolNode)
		return nil
	}
	n.Taken = true
	value := Truth(word)
	return &value
}

// IsTrue says that a flag is given and true.
func IsTrue(is *bool) bool { return is != nil && *is }

// From notes where a field of cluster.yaml came from, to tell there what is wrong with it.
func (r *Account) From(field string, n *Node) {
	if n != nil && r.Origins[field] == nil {
		r.Origins[field] = n
	}
}

// Carry carries over what a text means. Where the field has a value already, the
// second has to agree or is told.
func Carry[T any](r *Account, field string, to *T, n *Node, value T) {
	switch {
	case n == nil:
	case !reflect.ValueOf(to).Elem().IsZero() && !reflect.DeepEqual(*to, value):
		r.Second(field, n)
	default:
		r.Text(n)
		*to = value
		r.From(field, n)
	}
}

// Second tells a value that is another one than that which was carried over.
func (r *Account) Second(field string, n *Node) {
	why := fmt.Sprintf("%s has another value already", field)
	if first := r.Origins[field]; first != nil {
		why = fmt.Sprintf("is another value than that of %s, which became %s: cluster.yaml has one for both", first.Path(), field)
	}
	r.Lose(n, why)
}

// Set carries a value over to a field of cluster.yaml, given by its path, in the shape
// that the field's type has. A second value has to agree with the first, or is told.
func (r *Account) Set(field string, n *Node) {
	if n != nil {
		r.set(field, loss.FieldAt(reflect.ValueOf(r.Cluster), field), n)
	}
}

// SetIn is Set for a field that is not in the cluster yet.
func (r *Account) SetIn(field string, to any, n *Node) {
	if n != nil {
		r.set(field, reflect.ValueOf(to).Elem(), n)
	}
}

func (r *Account) set(field string, to reflect.Value, n *Node) {
	switch to.Interface().(type) {
	case *bool:
		if !to.IsNil() && to.Elem().Bool() != Truth(n.Text) {
			r.Second(field, n)
		} else if value := r.Boolean(n); value != nil {
			to.Set(reflect.ValueOf(value))
			r.From(field, n)
		}
		return
	case *int:
		to.Set(reflect.ValueOf(r.Number(n)))
		r.From(field, n)
		return
	}
	switch to.Kind() {
	case reflect.String:
		r.setText(field, to, n)
	case reflect.Int:
		if whole, ok := numberOf(n.Text).(int64); ok && to.Int() != 0 && to.Int() != whole {
			r.Second(field, n)
		} else if value := r.Number(n); value != nil {
			to.SetInt(int64(*value))
			r.From(field, n)
		}
	case reflect.Struct:
		r.setStruct(field, to, n)
	case reflect.Slice:
		if to.Type().Elem().Kind() == reflect.Struct {
			r.setStructs(field, to, n)
		} else {
			r.setTexts(field, to, n)
		}
	default:
		panic("convert: " + field + " has a type that is not carried over: " + to.Type().String())
	}
}

func (r *Account) setText(field string, to reflect.Value, n *Node) {
	switch {
	case !r.want(n, TextNode):
	case to.String() != "" && to.String() != n.Text:
		r.Second(field, n)
	default:
		n.Taken = true
		to.SetString(n.Text)
		r.From(field, n)
	}
}

func (r *Account) setTexts(field string, to reflect.Value, n *Node) {
	texts := make([]string, 0, len(n.Items()))
	for _, item := range n.Items() {
		texts = append(texts, item.Peek())
	}
	values := reflect.ValueOf(texts).Convert(to.Type())
	if !to.IsNil() && !reflect.DeepEqual(to.Interface(), values.Interface()) {
		r.Second(field, n)
		return
	}
	to.Set(reflect.ValueOf(r.Texts(n)).Convert(to.Type()))
	r.From(field, n)
	for i, item := range n.Items() {
		r.From(fmt.Sprintf("%s[%d]", field, i), item)
	}
}

// setStruct carries a map over that has the words of cluster.yaml.
func (r *Account) setStruct(field string, to reflect.Value, n *Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	r.From(field, n)
	for i := range to.NumField() {
		name := loss.FieldName(to.Type().Field(i))
		if below := n.Get(name); below != nil {
			r.set(field+"."+name, to.Field(i), below)
		}
	}
}

func (r *Account) setStructs(field string, to reflect.Value, n *Node) {
	to.Set(reflect.MakeSlice(to.Type(), 0, 0))
	r.From(field, n)
	for i, item := range r.ListOf(n) {
		if item = r.MapOf(item); item == nil {
			continue
		}
		entry := reflect.New(to.Type().Elem()).Elem()
		r.setStruct(fmt.Sprintf("%s[%d]", field, i), entry, item)
		to.Set(reflect.Append(to, entry))
	}
}
