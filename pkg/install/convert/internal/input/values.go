package input

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/fieldpath"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

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
		r.set(field, fieldpath.Reach(reflect.ValueOf(r.Cluster), field, "yaml"), n)
	}
}

// Fits reports whether a truth or a number is what a field of cluster.yaml takes.
func (r *Account) Fits(field string, n *Node) bool {
	switch fieldpath.Reach(reflect.ValueOf(r.Cluster), field, "yaml").Interface().(type) {
	case *bool:
		return n.Kind == BoolNode
	case int:
		return n.Kind == NumberNode
	}
	return false
}

// SetIn is Set for a field that is not in the cluster yet.
func (r *Account) SetIn(field string, to any, n *Node) {
	if n != nil {
		r.set(field, reflect.ValueOf(to).Elem(), n)
	}
}

func (r *Account) set(field string, to reflect.Value, n *Node) {
	switch own := to.Interface().(type) {
	case spec.RoleSet:
		Carry(r, field, &own, n, clustersettings.RolesOf(n.Peek()))
		to.Set(reflect.ValueOf(own))
		return
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
		name := fieldpath.Key(to.Type().Field(i), "yaml")
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
