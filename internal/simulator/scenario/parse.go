package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/spelling"
	"github.com/oaictl/oaictl/internal/yamltree"
)

// Parse reads a scenario from data; name is how error messages call it. The
// error joins everything that is wrong, each line as name:line:column: text.
func Parse(name string, data []byte) (*Scenario, error) {
	r := &reader{name: name}
	docs, problems := yamltree.Parse(data)
	for _, p := range problems {
		r.complain(p.At, "%s", strings.Join(slices.DeleteFunc([]string{p.Message, p.Remedy}, isEmpty), "; "))
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

func isEmpty(text string) bool { return text == "" }

// reader walks the tree and collects what is wrong on the way.
type reader struct {
	name     string
	problems []error
}

func (r *reader) complain(at yamltree.Place, format string, args ...any) {
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
			s.Name, _ = r.value(name, "metadata.name", argText).(string)
		}
	}
	node, ok := top["spec"]
	if !ok {
		r.complain(body.At, "spec is missing")
		return nil
	}
	spec := r.object(node, "spec", "service", "hosts")
	s.Service = r.rules(spec["service"], serviceHalf())
	s.Hosts = r.rules(spec["hosts"], hostsHalf())
	return s
}

func (r *reader) constant(parent *yamltree.Node, object map[string]*yamltree.Node, key, want string) {
	node, ok := object[key]
	if !ok {
		r.complain(parent.At, "%s is missing; it must be %s", key, want)
		return
	}
	if got, ok := r.value(node, key, argText).(string); ok && got != want {
		r.complain(node.At, "%s is %q; it must be %s", key, got, want)
	}
}

// object is the fields of a map by name. It complains about a node that is no map,
// and about every field that is not among known.
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

// suggestion is the end of a sentence about a word that is not among known.
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
