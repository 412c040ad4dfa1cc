package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Parse reads a scenario from data; name is how error messages call it. The
// error joins everything that is wrong, each line as name:line:column: text.
func Parse(name string, data []byte) (scenario *Scenario, err error) {
	// The YAML parser panics on some malformed bytes; whoever wrote the file is
	// owed a message all the same.
	defer func() {
		if p := recover(); p != nil {
			scenario, err = nil, fmt.Errorf("%s: not readable as YAML: %v", name, p)
		}
	}()
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	r := &reader{name: name}
	s := r.document(file)
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	return s, nil
}

func syntaxError(name string, err error) error {
	var located yaml.Error
	if !errors.As(err, &located) || located.GetToken() == nil || located.GetToken().Position == nil {
		return fmt.Errorf("%s: not readable as YAML: %w", name, err)
	}
	p := located.GetToken().Position
	return fmt.Errorf("%s:%d:%d: %s", name, p.Line, p.Column, located.GetMessage())
}

// reader walks the syntax tree and collects what is wrong on the way.
type reader struct {
	name     string
	problems []error
}

func (r *reader) complain(at ast.Node, format string, args ...any) {
	where := r.name
	if line, column := position(at); line > 0 {
		where = fmt.Sprintf("%s:%d:%d", r.name, line, column)
	}
	r.problems = append(r.problems, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...)))
}

// position is where a node begins. The token of a mapping is its first colon, so
// the first key stands in for it.
func position(node ast.Node) (line, column int) {
	switch n := node.(type) {
	case nil:
		return 0, 0
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return position(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return position(n.Key)
	}
	token := node.GetToken()
	if token == nil || token.Position == nil {
		return 0, 0
	}
	return token.Position.Line, token.Position.Column
}

func (r *reader) document(file *ast.File) *Scenario {
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType {
			continue
		}
		if body != nil {
			r.complain(doc.Body, "a second document; a file holds one scenario")
			return nil
		}
		body = doc.Body
	}
	if body == nil {
		r.complain(nil, "is empty; a scenario has apiVersion, kind, metadata and spec")
		return nil
	}
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
		r.complain(body, "spec is missing")
		return nil
	}
	spec := r.object(node, "spec", "service", "hosts")
	s.Service = r.rules(spec["service"], serviceHalf())
	s.Hosts = r.rules(spec["hosts"], hostsHalf())
	return s
}

func (r *reader) constant(parent ast.Node, object map[string]ast.Node, key, want string) {
	node, ok := object[key]
	if !ok {
		r.complain(parent, "%s is missing; it must be %s", key, want)
		return
	}
	if got, ok := r.value(node, key, argText).(string); ok && got != want {
		r.complain(node, "%s is %q; it must be %s", key, got, want)
	}
}

// object is the fields of a mapping by name. It complains about a node that is
// no mapping, and about every field that is not among known.
func (r *reader) object(node ast.Node, what string, known ...string) map[string]ast.Node {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil
	default:
		r.complain(node, "%s must be an object", what)
		return nil
	}
	fields := make(map[string]ast.Node, len(values))
	for _, v := range values {
		key := v.Key.String()
		if token := v.Key.GetToken(); token != nil {
			key = token.Value
		}
		switch _, twice := fields[key]; {
		case twice:
			r.complain(v.Key, "%s has %q twice", what, key)
		case known != nil && !slices.Contains(known, key):
			r.complain(v.Key, "unknown field %q in %s%s", key, what, suggestion(key, known))
		default:
			fields[key] = v.Value
		}
	}
	return fields
}

// suggestion is the end of a sentence about a word that is not among known.
func suggestion(word string, known []string) string {
	best, distance := "", 1+len(word)/2
	for _, k := range known {
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf(" (did you mean %q?)", best)
	}
	sorted := slices.Sorted(slices.Values(known))
	return " (known: " + strings.Join(sorted, ", ") + ")"
}

// editDistance is the number of letters to insert, drop or replace (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
