package nmstate

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// reader collects the problems of a document while it is read.
type reader struct {
	name     string
	problems Problems
}

func (r *reader) report(at place, field, format string, args ...any) {
	r.problems = append(r.problems, Problem{Name: r.name, Line: at.line, Column: at.column, Field: field, Message: fmt.Sprintf(format, args...)})
}

// object is a map that is being read. Every key that is asked for counts as
// understood; end refuses those that nobody asked for.
type object struct {
	r     *reader
	at    place
	path  string
	left  map[string]entry
	order []string
	// hints are what to write instead of keys that are refused.
	hints map[string]string
}

// object reads a node as a map. A missing or empty node is an empty map.
func (r *reader) object(n *node, path string) *object {
	o := &object{r: r, path: path, left: map[string]entry{}}
	if n == nil {
		return o
	}
	o.at = n.at
	if n.kind != mapNode && n.kind != nullNode {
		r.report(n.at, path, "has to be a map, but is %s", n.what())
		return o
	}
	for _, e := range n.entries {
		o.left[e.key] = e
		o.order = append(o.order, e.key)
	}
	return o
}

// field is the path of a key of the map.
func (o *object) field(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// get is the value of a key, or nil; a key with nothing behind it counts as
// missing.
func (o *object) get(key string) *node {
	e, ok := o.left[key]
	delete(o.left, key)
	if !ok || e.value.kind == nullNode {
		return nil
	}
	return e.value
}

// need reports keys that are missing or empty. It comes before they are read.
func (o *object) need(keys ...string) {
	for _, key := range keys {
		if e, ok := o.left[key]; !ok || e.value.kind == nullNode || e.value.kind == scalarNode && e.value.text == "" {
			o.r.report(o.at, o.field(key), "is missing")
		}
	}
}

// end refuses the keys that nothing asked for.
func (o *object) end() {
	for _, key := range o.order {
		e, ok := o.left[key]
		if !ok {
			continue
		}
		message := "is not supported"
		if hint := o.hints[key]; hint != "" {
			message += ": " + hint
		}
		o.r.report(e.at, o.field(key), "%s", message)
	}
}

func (o *object) object(key string) *object {
	return o.r.object(o.get(key), o.field(key))
}

// objects are the maps of a list.
func (o *object) objects(key string) []*object {
	var list []*object
	for i, item := range o.list(key) {
		list = append(list, o.r.object(item, fmt.Sprintf("%s[%d]", o.field(key), i)))
	}
	return list
}

func (o *object) list(key string) []*node {
	n := o.get(key)
	if n == nil {
		return nil
	}
	if n.kind != listNode {
		o.r.report(n.at, o.field(key), "has to be a list, but is %s", n.what())
		return nil
	}
	return n.items
}

// word is a piece of text and where it stands.
type word struct {
	text string
	at   place
}

// text is the text of a key, empty if there is none.
func (o *object) text(key string) word {
	n := o.get(key)
	if n == nil {
		return word{at: o.at}
	}
	return o.r.word(n, o.field(key))
}

func (r *reader) word(n *node, field string) word {
	switch {
	case n.kind != scalarNode:
		r.report(n.at, field, "has to be text, but is %s", n.what())
	case strings.ContainsFunc(n.text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.report(n.at, field, "has a control character in it")
	default:
		return word{n.text, n.at}
	}
	return word{at: n.at}
}

// texts are the texts of a list.
func (o *object) texts(key string) []word {
	var list []word
	for i, item := range o.list(key) {
		field := fmt.Sprintf("%s[%d]", o.field(key), i)
		if item.kind == nullNode {
			o.r.report(item.at, field, "is empty")
			continue
		}
		if w := o.r.word(item, field); w.text != "" {
			list = append(list, w)
		}
	}
	return list
}

// oneOf is a text that has to be one of those named; the first where there is
// none.
func (o *object) oneOf(key string, allowed ...string) string {
	w := o.text(key)
	if w.text == "" {
		return allowed[0]
	}
	if !slices.Contains(allowed, w.text) {
		o.r.report(w.at, o.field(key), "%q is not supported; it may be %s", w.text, strings.Join(slices.DeleteFunc(slices.Clone(allowed), func(a string) bool { return a == "" }), ", "))
		return allowed[0]
	}
	return w.text
}

// flag is a truth value, nil where there is none. nmstate takes these words as
// well as YAML's own.
func (o *object) flag(key string) *bool {
	w := o.text(key)
	value, ok := truth(w.text)
	switch {
	case w.text == "":
		return nil
	case !ok:
		o.r.report(w.at, o.field(key), "has to be true or false, but is %q", w.text)
		return nil
	}
	return &value
}

func truth(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "y", "1":
		return true, true
	case "false", "no", "off", "n", "0":
		return false, true
	}
	return false, false
}

// number is a whole number in a range, nil where there is none.
func (o *object) number(key string, lo, hi int64) *int64 {
	w := o.text(key)
	if w.text == "" {
		return nil
	}
	value, err := strconv.ParseInt(w.text, 10, 64)
	if err != nil || value < lo || value > hi {
		o.r.report(w.at, o.field(key), "has to be a whole number from %d to %d, but is %q", lo, hi, w.text)
		return nil
	}
	return &value
}

// ip is an address; ok is false where there is none, or a wrong one.
func (o *object) ip(key string) (ip netip.Addr, at place, ok bool) {
	w := o.text(key)
	if w.text == "" {
		return netip.Addr{}, w.at, false
	}
	ip, err := netip.ParseAddr(w.text)
	if err != nil {
		o.r.report(w.at, o.field(key), "%q is not an IP address", w.text)
		return netip.Addr{}, w.at, false
	}
	return ip, w.at, true
}

// mac is a MAC address in lower case with colons, empty if there is none.
func (o *object) mac(key string) word {
	w := o.text(key)
	if w.text == "" {
		return w
	}
	mac, ok := canonicalMAC(w.text)
	if !ok {
		o.r.report(w.at, o.field(key), "%q is not the MAC address of a device", w.text)
	}
	return word{mac, w.at}
}
