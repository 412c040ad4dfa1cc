// Package spec is cluster.yaml: its types, and the strict reader that turns a
// file into a Cluster or into the complete list of what is wrong with it. A file of
// kind [Nodes], with hosts for a cluster that is there, becomes a Cluster, too.
//
// The reader knows where every field stands (file, line, column), reads every
// file, variable and command that the document refers to exactly once, and
// hands out what it read through methods. Secrets come out as [Secret], which
// prints as "[redacted]" everywhere.
//
// The package imports the standard library and a YAML reader, nothing else. It
// decides nothing about a service: what of a Cluster is sent, and in which
// words, is the business of the service planes.
package spec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// Load reads the cluster in the file at path, or standard input for "-", and what it
// refers to. The error is a *Problems with everything that is wrong, or says that ctx
// was done.
func Load(ctx context.Context, path string, env Env) (*Cluster, error) {
	read := env.ReadFile
	if path == "-" {
		if env.Stdin == nil {
			return nil, fileProblem(path, "there is no standard input")
		}
		read = func(string) ([]byte, error) { return io.ReadAll(io.LimitReader(env.Stdin, yamltree.MaxSize+1)) }
	}
	if read == nil {
		return nil, fileProblem(path, "there is no access to files")
	}
	data, err := read(path)
	if err != nil {
		return nil, fileProblem(path, "cannot be read: "+reason(err))
	}
	return Parse(ctx, path, data, env)
}

// Parse reads the cluster in data. Messages call it name, to which paths are relative; "-" means standard input, and
// paths relative to the current folder.
func Parse(ctx context.Context, name string, data []byte, env Env) (*Cluster, error) {
	kinds := []string{Kind}
	if env.Nodes {
		kinds = append(kinds, KindNodes)
	}
	problems := &Problems{}
	root, syntax := parseTree(data)
	for _, p := range syntax {
		problems.List = append(problems.List, Problem{File: name, Line: p.At.Line, Column: p.At.Column, Message: p.Message, Remedy: p.Remedy})
	}
	if root == nil || root.TooLarge() {
		return nil, problems.sorted()
	}
	d := &decoder{file: name, positions: map[string]yamltree.Position{}, failed: map[string]bool{}, problems: problems}
	c := d.cluster(root, kinds)
	c.source = &source{file: name, dir: filepath.Dir(name), stdin: name == "-", positions: d.positions}
	if root.Kind != yamltree.Map || !c.isOf(kinds, problems) || d.full() {
		return nil, problems.sorted()
	}
	if err := c.resolve(ctx, env, problems, d.failed); err != nil {
		return nil, err
	}
	if err := problems.sorted(); err != nil {
		return nil, err
	}
	return c, nil
}

// Resolve fills in, reads, relative to dir, and checks a cluster that was made in Go. A
// cluster from Load is finished already.
func (c *Cluster) Resolve(ctx context.Context, dir string, env Env) error {
	if c.source == nil {
		c.source = &source{dir: dir, positions: map[string]yamltree.Position{}}
		recordPresent(c.source.positions, reflect.ValueOf(c).Elem())
	}
	problems := &Problems{}
	if err := c.resolve(ctx, env, problems, map[string]bool{}); err != nil {
		return err
	}
	return problems.sorted()
}

func (c *Cluster) resolve(ctx context.Context, env Env, problems *Problems, failed map[string]bool) error {
	c.Default()
	check := newChecker(c, problems, failed)
	readSources(ctx, env, check)
	c.defaultBMCs()
	if ctx.Err() != nil {
		return fmt.Errorf("reading what %s refers to: %w", c.source.file, context.Cause(ctx))
	}
	check.all()
	return nil
}

func fileProblem(name, message string) error {
	return &Problems{List: []Problem{{File: name, Message: message}}}
}

// reason is why a file could not be read, without its name.
func reason(err error) string {
	if path, is := errors.AsType[*fs.PathError](err); is {
		return path.Err.Error()
	}
	return err.Error()
}

// special decodes what may be written as text, documents, and sources of secrets.
func (d *decoder) special(n *yamltree.Node, at yamltree.Position, field string, target any) bool {
	var text *string
	var err error
	switch to := target.(type) {
	case *Document:
		d.document(n, at, field, to)
		return true
	case *Source, *Credentials:
		if _, pullSecret := n.Get("auths"); n.Kind == yamltree.Map && !pullSecret {
			return false
		}
		d.report(at, field, "a secret must not be in the file itself",
			"write its source: {file: PATH}, {env: NAME}, {exec: [PROGRAM, ARGUMENT]} or {stdin: true}")
		return true
	case *RoleSet:
		return n.Kind != yamltree.List && d.textList(n, at, field, (*[]string)(to))
	case *StringList:
		return n.Kind != yamltree.List && d.textList(n, at, field, (*[]string)(to))
	case *Duration:
		if d.requireKind(n, yamltree.Text, at, field) {
			if *to, err = parseDuration(n.Text); err != nil {
				d.report(at, field, err.Error(), "")
			}
		}
		return true
	case *Platform:
		text = (*string)(&to.Type)
	case *Bundle:
		text = &to.ID
	case *ManifestSource:
		text = &to.Path
	case *PublicSource:
		text = &to.Inline
	}
	if text == nil || n.Kind == yamltree.Map {
		return false
	}
	if d.requireKind(n, yamltree.Text, at, field) {
		*text = n.Text
	}
	return true
}

func (d *decoder) textList(n *yamltree.Node, at yamltree.Position, field string, to *[]string) bool {
	if d.requireKind(n, yamltree.Text, at, field) {
		*to = splitList(n.Text)
	}
	return true
}

// mistake is a known one: a version without quotes, or a number in place of the hosts.
func mistake(n *yamltree.Node, want yamltree.Kind, field string) (message, remedy string) {
	switch {
	case want == yamltree.Text && field == "spec.openshift.version" &&
		(n.Kind == yamltree.Int || n.Kind == yamltree.Float || n.Kind == yamltree.Bool):
		return fmt.Sprintf("%s without quotes is a number, and the number 4.20 is the same as 4.2", n.Text),
			fmt.Sprintf("put the version in quotes: version: %q", n.Text)
	case want == yamltree.List && field == "spec.hosts" && n.Kind == yamltree.Int:
		return "", `list the machines, each as "- {name: cp-0, role: control-plane, match: {mac: MAC}}", ` +
			`or count them in topology and write acceptUnknownHosts: true`
	}
	return "", ""
}

// document takes {file: PATH}, or the document itself, which may not be written as
// text.
func (d *decoder) document(n *yamltree.Node, at yamltree.Position, field string, to *Document) {
	if n.Kind != yamltree.Map {
		d.report(at, field, fmt.Sprintf("has to be a map, but is %s", n.Kind), "write the document itself, or {file: PATH}")
		return
	}
	if file, ok := n.Get("file"); ok && len(n.Entries) == 1 {
		d.value(file, valuePosition(n.Entries[0]), values.Join(field, "file"), reflect.ValueOf(&to.File).Elem())
		return
	}
	to.Inline = d.plainMap(n, field)
	to.order = []byte(n.YAML())
}

//go:generate go run ./internal/schemagen -docs ../../../docs -out schema

// Problem is one thing that is wrong with a document.
type Problem struct {
	// File that the problem stands in; "-" is standard input.
	File string
	// Line and Column, counted from 1; 0 for a cluster that was made in Go.
	Line, Column int
	// Field is the path of the field, such as spec.hosts[2].disk.hints.
	Field string
	// Message says what is wrong.
	Message string
	// Remedy says what to do about it; empty where the message says it.
	Remedy string
	// Word is what a person has said the field by, such as --mac; empty where that is the
	// field itself. See [Nodes.Resolve].
	Word string
}

// String is the problem in one line: cluster.yaml:12:7: spec.network.machine[0]: text; remedy.
// A word takes the place of the field: --mac: text; remedy.
func (p Problem) String() string {
	var text strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&text, "%s:%d:%d: ", p.File, p.Line, p.Column)
	} else if p.File != "" {
		fmt.Fprintf(&text, "%s: ", p.File)
	}
	if name := cmp.Or(p.Word, p.Field); name != "" {
		text.WriteString(name + ": ")
	}
	text.WriteString(p.Message)
	if p.Remedy != "" {
		text.WriteString("; " + p.Remedy)
	}
	return text.String()
}

// Problems is everything that is wrong with a document, in its order: the error of
// Load.
type Problems struct {
	List []Problem
}

// Error is the problems, one a line.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, problem := range p.List {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// sorted is the problems by their places, each of them once, or nil for none.
func (p *Problems) sorted() error {
	if len(p.List) == 0 {
		return nil
	}
	slices.SortStableFunc(p.List, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	seen := map[Problem]bool{}
	p.List = slices.DeleteFunc(p.List, func(problem Problem) bool {
		again := seen[problem]
		seen[problem] = true
		return again
	})
	return p
}

// source is where a cluster came from.
type source struct {
	file      string                       // name for messages; "-" is standard input
	dir       string                       // what relative paths are relative to
	stdin     bool                         // whether the document itself came from standard input
	positions map[string]yamltree.Position // of every field that is there
	words     map[string]string            // by which a person has said fields of a document that was made in Go

	manifests []Manifest        // read
	origins   map[string]Origin // by the field
}

// Origin is where the document that this one was made from says a field.
type Origin struct {
	File         string
	Line, Column int
	Key          string // as that document has it
}

// SetOrigins has messages about fields name the document that this one was made from,
// which is the one that a person has written.
func (c *Cluster) SetOrigins(origins map[string]Origin) {
	if c.source != nil {
		c.source.origins = origins
	}
}

// Position is where a field, such as spec.hosts[2].disk.hints, or else the nearest one
// around it, stands in the file: a scalar at its value, anything else at its key. A
// cluster that was made in Go has no positions: file is empty and line 0.
func (c *Cluster) Position(field string) (file string, line, col int) {
	if c.source == nil || c.source.file == "" {
		return "", 0, 0
	}
	if at, ok := nearest(c.source.origins, field); ok {
		return at.File, at.Line, at.Column
	}
	if c.source.origins != nil {
		return c.source.file, 0, 0
	}
	if at, ok := nearest(c.source.positions, field); ok {
		return c.source.file, at.Line, at.Column
	}
	return c.source.file, 1, 1
}

// Problem is a problem with a field, with its position or the word for it. For what is
// missing, to give the word is the remedy.
func (c *Cluster) Problem(field, message, remedy string) Problem {
	p := Problem{Field: field, Message: message, Remedy: remedy}
	p.File, p.Line, p.Column = c.Position(field)
	if c.source == nil {
		return p
	}
	p.Word, _ = nearest(c.source.words, field)
	p.Word = cmp.Or(p.Word, c.source.origins[field].Key)
	if exact := c.source.words[field]; exact != "" && strings.HasPrefix(message, "is missing") {
		p.Remedy = "give " + exact
	}
	return p
}

// nearest is what is known of a field, or else of the nearest one around it.
func nearest[T any](known map[string]T, field string) (value T, ok bool) {
	for {
		if value, ok = known[field]; ok {
			return value, true
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			return value, false
		}
		field = field[:cut]
	}
}

// Present reports whether a field is written in the file, even if with an empty value: not what [Cluster.Default]
// filled in. Of a cluster that was made in Go it is the fields that were not zero when it was resolved.
func (c *Cluster) Present(field string) bool {
	if c.source == nil {
		return false
	}
	_, ok := c.source.positions[field]
	return ok
}
