package scenario

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/spelling"
	"github.com/oaictl/oaictl/internal/shared/yamltree"
)

// Parse reads a scenario. The error joins all that is wrong, as name:line:column: text.
func Parse(name string, data []byte) (*Scenario, error) {
	r := &reader{name: name}
	docs, problems := yamltree.Parse(data)
	for _, p := range problems {
		r.complain(p.At, "%s", strings.Join(slices.DeleteFunc([]string{p.Message, p.Remedy}, func(s string) bool { return s == "" }), "; "))
	}
	var s *Scenario
	if len(problems) == 0 {
		s = r.document(docs)
	}
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	return s, nil
}

// reader walks the tree and collects what is wrong on the way.
type reader struct {
	name     string
	problems []error
}

func (r *reader) complain(at yamltree.Position, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("%s:%d:%d: %s", r.name, at.Line, at.Column, fmt.Sprintf(format, args...)))
}

func (r *reader) document(docs []*yamltree.Node) *Scenario {
	docs = slices.DeleteFunc(docs, func(doc *yamltree.Node) bool { return doc.Kind == yamltree.Null })
	if len(docs) == 0 {
		r.problems = append(r.problems, fmt.Errorf("%s: is empty; a scenario has apiVersion, kind, metadata and spec", r.name))
		return nil
	}
	if len(docs) > 1 {
		r.complain(docs[1].At, "a second document; a file holds one scenario")
		return nil
	}
	body := docs[0]
	top := r.object(body, "the scenario", "apiVersion", "kind", "metadata", "spec")
	if top == nil {
		return nil
	}
	s := &Scenario{}
	r.constant(body, top, "apiVersion", APIVersion)
	r.constant(body, top, "kind", Kind)
	if node, ok := top["metadata"]; ok {
		if name, ok := r.object(node, "metadata", "name")["name"]; ok {
			s.Name, _ = r.value(name, "metadata.name", "text").(string)
		}
	}
	node, ok := top["spec"]
	if !ok {
		r.complain(body.At, "spec is missing")
		return nil
	}
	spec := r.object(node, "spec", "service", "hosts", "cluster")
	s.Service = r.rules(spec["service"], "service", known().Service)
	s.Hosts = r.rules(spec["hosts"], "hosts", known().Hosts)
	s.Cluster = r.rules(spec["cluster"], "cluster", known().Cluster)
	return s
}

func (r *reader) constant(parent *yamltree.Node, object map[string]*yamltree.Node, key, want string) {
	node, ok := object[key]
	if !ok {
		r.complain(parent.At, "%s is missing; it must be %s", key, want)
		return
	}
	if got, ok := r.value(node, key, "text").(string); ok && got != want {
		r.complain(node.At, "%s is %q; it must be %s", key, got, want)
	}
}

// object is the fields of a map by name; what is no map, or not among known, is complained about.
func (r *reader) object(node *yamltree.Node, what string, known ...string) map[string]*yamltree.Node {
	switch node.Kind {
	case yamltree.Map:
	case yamltree.Null:
		return nil
	default:
		r.complain(node.At, "%s must be an object", what)
		return nil
	}
	fields := make(map[string]*yamltree.Node, len(node.Entries))
	for _, e := range node.Entries {
		if !slices.Contains(known, e.Key) {
			r.complain(e.At, "unknown field %q in %s%s", e.Key, what, suggestion(e.Key, known))
			continue
		}
		fields[e.Key] = e.Value
	}
	return fields
}

func suggestion(word string, known []string) string {
	best, distance := "", 1+len(word)/2
	for _, k := range known {
		if d := spelling.Distance(strings.ToLower(word), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf(" (did you mean %q?)", best)
	}
	sorted := slices.Sorted(slices.Values(known))
	return " (known: " + strings.Join(sorted, ", ") + ")"
}

func (r *reader) rules(node *yamltree.Node, half string, f fields) []Rule {
	if node == nil || node.Kind == yamltree.Null {
		return nil
	}
	if node.Kind != yamltree.List {
		r.complain(node.At, "spec.%s must be a list of rules", half)
		return nil
	}
	rules := make([]Rule, 0, len(node.Items))
	for i, item := range node.Items {
		rules = append(rules, r.rule(item, half, "spec."+half+"["+strconv.Itoa(i)+"]", f))
	}
	return rules
}

func (r *reader) rule(node *yamltree.Node, half, what string, f fields) Rule {
	fields := r.object(node, what, "match", "at", "do", "args")
	rule := Rule{Line: node.At.Line, Column: node.At.Column}
	match := r.typed(fields["match"], what+".match", f.Match)
	at := r.typed(fields["at"], what+".at", f.At)
	rule.Match = r.match(fields["match"], match)
	rule.At = StartCondition{
		State: Args(at).String("state", ""), Stage: Args(at).String("stage", ""),
		Answered: Args(at).String("answered", ""),
		After:    Args(at).Duration("after", 0), Call: Args(at).Int("call", 0),
	}
	do, ok := fields["do"]
	if !ok {
		r.complain(node.At, "%s has no do", what)
		return rule
	}
	rule.Do, _ = r.value(do, what+".do", "text").(string)
	allowed, ok := f.Verbs[rule.Do]
	if !ok {
		r.complain(do.At, "unknown do %q for %s%s", rule.Do, half, suggestion(rule.Do, slices.Collect(maps.Keys(f.Verbs))))
		return rule
	}
	rule.Args = r.typed(fields["args"], what+".args", allowed)
	return rule
}

func (r *reader) match(node *yamltree.Node, fields map[string]any) Match {
	a := Args(fields)
	m := Match{
		Method: a.String("method", ""), Path: a.String("path", ""), Client: a.String("client", ""),
		Name: a.String("name", ""), Role: a.String("role", ""), MAC: a.String("mac", ""),
	}
	if _, ok := a["index"]; ok {
		index := a.Int("index", 0)
		m.Index = &index
	}
	switch m.Client {
	case "", ClientUser, ClientAgent:
	default:
		r.complain(node.At, "client is %q; it must be %s or %s", m.Client, ClientUser, ClientAgent)
	}
	switch NormalRole(m.Role) {
	case "", "control-plane", "worker", "arbiter":
	default:
		r.complain(node.At, "role is %q; it must be control-plane, worker or arbiter", m.Role)
	}
	for _, glob := range []string{m.Path, m.Name} {
		if _, err := path.Match(glob, ""); err != nil {
			r.complain(node.At, "%q is no pattern: %v", glob, err)
		}
	}
	return m
}

func (r *reader) typed(node *yamltree.Node, what string, types map[string]string) map[string]any {
	if node == nil || node.Kind == yamltree.Null {
		return nil
	}
	known := slices.Sorted(maps.Keys(types))
	if len(known) == 0 {
		known = []string{"nothing"}
	}
	values := make(map[string]any)
	fields := r.object(node, what, known...)
	for _, e := range node.Entries {
		if _, ok := fields[e.Key]; !ok {
			continue
		}
		if v := r.value(e.Value, what+"."+e.Key, types[e.Key]); v != nil {
			values[e.Key] = v
		}
	}
	return values
}

// value is a node as the Go value of the type, or nil after a complaint.
func (r *reader) value(node *yamltree.Node, what string, want string) any {
	v, ok := convert(node.Plain(), want)
	kind := known().Types[want]
	if ok && kind.Words != nil && !slices.Contains(kind.Words, v.(string)) {
		r.complain(node.At, "%s is %q, which is not %s%s", what, v, kind.Is, suggestion(v.(string), kind.Words))
		return nil
	}
	if !ok {
		is := node.Kind.String()
		if node.Scalar() {
			is = strconv.Quote(strings.TrimSpace(node.YAML()))
		}
		r.complain(node.At, "%s must be %s, not %s", what, kind.Is, is)
		return nil
	}
	return v
}

func convert(raw any, want string) (any, bool) {
	text, isText := raw.(string)
	switch want {
	case "text", "stage", "instruction", "power", "bmc":
		return text, isText
	case "boolean":
		v, ok := raw.(bool)
		return v, ok
	case "integer":
		v, ok := raw.(int64)
		return int(v), ok && v >= 0 && v <= 1<<31
	case "object":
		v, ok := raw.(map[string]any)
		return v, ok
	case "duration":
		d, err := time.ParseDuration(text)
		return d, isText && err == nil && d >= 0
	case "texts":
		return texts(raw)
	case "mac":
		mac, err := net.ParseMAC(text)
		return mac.String(), err == nil && len(mac) == 6
	case "network":
		p, err := netip.ParsePrefix(text)
		return p.Masked().String(), err == nil
	case "size":
		n, ok := parseSize(text)
		return n, ok
	}
	return nil, false
}

func texts(raw any) (any, bool) {
	list, ok := raw.([]any)
	out := make([]string, 0, len(list))
	for _, item := range list {
		s, isText := item.(string)
		if !isText {
			return nil, false
		}
		out = append(out, s)
	}
	return out, ok
}

func parseSize(text string) (int, bool) {
	units := []struct {
		suffix string
		bytes  int
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}}
	for _, u := range units {
		if digits, ok := strings.CutSuffix(text, u.suffix); ok {
			n, err := strconv.Atoi(strings.TrimSpace(digits))
			return n * u.bytes, err == nil && n > 0 && n < 1<<20
		}
	}
	return 0, false
}
