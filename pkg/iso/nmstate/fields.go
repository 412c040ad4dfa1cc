package nmstate

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
)

type reader struct {
	name     string
	objects  []*object // all that were read
	problems Problems
	ignored  Problems // what nothing is made of, and is not wrong
}

func (r *reader) ignore(at yamltree.Position, field, format string, args ...any) {
	r.ignored = append(r.ignored, Problem{Name: r.name, Line: at.Line, Column: at.Column, Field: field, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) report(at yamltree.Position, field, format string, args ...any) {
	r.problems = append(r.problems, Problem{Name: r.name, Line: at.Line, Column: at.Column, Field: field,
		Message: fmt.Sprintf(format, args...)})
}

// limit reports what nmstate may take, and no profile is made of here.
func (r *reader) limit(at yamltree.Position, field, format string, args ...any) {
	r.report(at, field, format, args...)
	r.problems[len(r.problems)-1].Limit = true
}

// object is a map that is being read. Every key that is asked for counts as
// understood; refuseUnread refuses the others.
type object struct {
	r     *reader
	at    yamltree.Position
	path  string
	left  map[string]yamltree.Entry
	order []string
	// hints are what to write instead of keys that are refused.
	hints map[string]string
	// open says that nmstate leaves out the keys that it does not know.
	open bool
}

// object reads a node as a map. A missing or empty node is an empty map.
func (r *reader) object(n *yamltree.Node, path string) *object {
	o := &object{r: r, path: path, left: map[string]yamltree.Entry{}}
	r.objects = append(r.objects, o)
	if n == nil {
		return o
	}
	o.at = n.At
	if n.Kind != yamltree.Map && n.Kind != yamltree.Null {
		r.report(n.At, path, "has to be a map, but is %s", what(n))
		return o
	}
	for _, e := range n.Entries {
		o.left[e.Key] = e
		o.order = append(o.order, e.Key)
	}
	return o
}

func (o *object) field(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// get is the value of a key, nil where there is no key or nothing behind it.
func (o *object) get(key string) *yamltree.Node {
	e, ok := o.left[key]
	delete(o.left, key)
	if !ok || e.Value.Kind == yamltree.Null {
		return nil
	}
	return e.Value
}

// need reports keys that are missing or empty. It comes before they are read.
func (o *object) need(keys ...string) {
	for _, key := range keys {
		if e, ok := o.left[key]; !ok || e.Value.Kind == yamltree.Null || e.Value.Scalar() && e.Value.Text == "" {
			o.r.report(o.at, o.field(key), "is missing")
		}
	}
}

func (r *reader) refuseUnread() {
	for _, o := range r.objects {
		for _, key := range o.order {
			e, unread := o.left[key]
			if !unread {
				continue
			}
			message := "is not supported"
			if hint := o.hints[key]; hint != "" {
				message += ": " + hint
			}
			if o.open && !slices.Contains(tables().InterfaceKeys, key) {
				r.ignore(e.At, o.field(key), "%s", unknownKey(key))
				continue
			}
			r.limit(e.At, o.field(key), "%s", message)
		}
	}
}

// unknownKey says that nmstate knows no key of an interface, and which it may have been meant for.
func unknownKey(key string) string {
	plain := func(text string) string { return strings.ToLower(strings.ReplaceAll(text, "-", "")) }
	for _, known := range tables().InterfaceKeys {
		if plain(known) == plain(key) {
			return "nmstate knows no such key of an interface; write " + known
		}
	}
	return "nmstate knows no such key of an interface"
}

func (o *object) object(key string) *object {
	return o.r.object(o.get(key), o.field(key))
}

func (o *object) objects(key string) []*object {
	var list []*object
	for i, item := range o.list(key) {
		list = append(list, o.r.object(item, fmt.Sprintf("%s[%d]", o.field(key), i)))
	}
	return list
}

func (o *object) list(key string) []*yamltree.Node {
	n := o.get(key)
	if n == nil {
		return nil
	}
	if n.Kind != yamltree.List {
		o.r.report(n.At, o.field(key), "has to be a list, but is %s", what(n))
		return nil
	}
	return n.Items
}

// what is a node in a user's words.
func what(n *yamltree.Node) string {
	if n.Scalar() {
		return fmt.Sprintf("%q", n.Text)
	}
	return n.Kind.String()
}

type word struct {
	text string
	at   yamltree.Position
}

func (o *object) text(key string) word {
	n := o.get(key)
	if n == nil {
		return word{at: o.at}
	}
	return o.r.word(n, o.field(key))
}

func (r *reader) word(n *yamltree.Node, field string) word {
	switch {
	case !n.Scalar():
		r.report(n.At, field, "has to be text, but is %s", what(n))
	case strings.ContainsFunc(n.Text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.report(n.At, field, "contains a control character")
	default:
		return word{n.Text, n.At}
	}
	return word{at: n.At}
}

func (o *object) texts(key string) []word {
	var list []word
	for i, item := range o.list(key) {
		field := fmt.Sprintf("%s[%d]", o.field(key), i)
		if item.Kind == yamltree.Null {
			o.r.report(item.At, field, "is empty")
			continue
		}
		if w := o.r.word(item, field); w.text != "" {
			list = append(list, w)
		}
	}
	return list
}

// oneOf is a text that has to be one of those named; the first where there is none.
func (o *object) oneOf(key string, allowed ...string) string {
	return o.among(o.r.report, key, allowed)
}

// oneMade is oneOf for a text for which nmstate accepts others, too.
func (o *object) oneMade(key string, allowed ...string) string {
	return o.among(o.r.limit, key, allowed)
}

func (o *object) among(report func(yamltree.Position, string, string, ...any), key string, allowed []string) string {
	w := o.text(key)
	if w.text == "" {
		return allowed[0]
	}
	if !slices.Contains(allowed, w.text) {
		report(w.at, o.field(key), "%q is not supported; it may be %s", w.text,
			strings.Join(slices.DeleteFunc(slices.Clone(allowed), func(a string) bool { return a == "" }), ", "))
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
func (o *object) ip(key string) (ip netip.Addr, at yamltree.Position, ok bool) {
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

// canonicalMAC is an Ethernet address in lower case with colons. Zeros, as templates
// have them, and addresses of groups are no device's.
func canonicalMAC(text string) (string, bool) {
	mac, err := net.ParseMAC(strings.TrimSpace(text))
	const group = 1 // the first bit on the wire, IEEE 802-2014 §8.2.2
	if err != nil || len(mac) != 6 || mac[0]&group != 0 || bytes.Equal(mac, make([]byte, 6)) {
		return "", false
	}
	return mac.String(), true
}

// Problem is one thing that is wrong with a document.
type Problem struct {
	// Name of the document, as it was given to the reader.
	Name string
	// Line and Column of the problem, counted from 1; 0 where it has no place.
	Line, Column int
	// Field is the path of the field, such as interfaces[1].ipv4.address[0].ip.
	Field string
	// Message says what is wrong, and what to do about it where that is not clear.
	Message string
	// Limit says that nmstate may take it: only no profile is made of it here.
	Limit bool
}

// String is the problem in one line.
func (p Problem) String() string {
	var text strings.Builder
	if p.Name != "" {
		text.WriteString(p.Name + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&text, "%d:%d:", p.Line, p.Column)
	}
	if text.Len() > 0 {
		text.WriteByte(' ')
	}
	if p.Field != "" {
		text.WriteString(p.Field + ": ")
	}
	text.WriteString(p.Message)
	return text.String()
}

// Problems is everything that is wrong with a document, in its order.
type Problems []Problem

// Error has a line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// err is the problems in the order of their places, each once, or nil.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	slices.SortStableFunc(p, byPosition)
	return slices.Compact(p)
}

func byPosition(a, b Problem) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
