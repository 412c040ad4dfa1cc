package source

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
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

// From notes that a field of cluster.yaml came from n, so that what is wrong with
// the field is told at n.
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

// SetText carries a text over, as Carry does.
func SetText[T ~string](r *Account, field string, to *T, n *Node) {
	if n != nil && r.want(n, TextNode) {
		Carry(r, field, to, n, T(n.Text))
	}
}

// Second tells a value that says something else than the one that was carried
// over.
func (r *Account) Second(field string, n *Node) {
	why := fmt.Sprintf("%s has another value already", field)
	if first := r.Origins[field]; first != nil {
		why = fmt.Sprintf("is another value than that of %s, which became %s: cluster.yaml has one for both", first.Path(), field)
	}
	r.Lose(n, why)
}

// SetTexts carries a list of texts over, as SetText does.
func SetTexts[T ~[]string](r *Account, field string, to *T, n *Node) {
	if n == nil {
		return
	}
	values := make([]string, 0, len(n.Items()))
	for _, item := range n.Items() {
		values = append(values, item.Peek())
	}
	if *to != nil && !slices.Equal([]string(*to), values) {
		r.Second(field, n)
		return
	}
	if values := r.Texts(n); values != nil {
		*to = T(values)
		r.From(field, n)
		for i, item := range n.Items() {
			r.From(fmt.Sprintf("%s[%d]", field, i), item)
		}
	}
}

// SetBool carries true or false over, as SetText does.
func (r *Account) SetBool(field string, to **bool, n *Node) {
	if n == nil {
		return
	}
	if *to != nil && **to != Truth(n.Text) {
		r.Second(field, n)
		return
	}
	if value := r.Boolean(n); value != nil {
		*to = value
		r.From(field, n)
	}
}

// SetNumber carries an integer over, as SetText does.
func (r *Account) SetNumber(field string, to *int, n *Node) {
	if n == nil {
		return
	}
	if value, ok := numberOf(n.Text).(int64); ok && *to != 0 && int64(*to) != value {
		r.Second(field, n)
		return
	}
	if value := r.Number(n); value != nil {
		*to = *value
		r.From(field, n)
	}
}
