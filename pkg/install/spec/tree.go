package spec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a document. They are far above what a cluster of hundreds of hosts
// needs, and far below what would hurt.
const (
	maxDocumentSize = 1 << 20 // bytes
	maxDepth        = 100     // nested maps and lists
	maxNodes        = 500_000 // after aliases are followed
)

// place is where something stands in a file, counted from 1.
type place struct {
	line, col int
}

type nodeKind int

const (
	nullNode nodeKind = iota
	boolNode
	intNode
	floatNode
	textNode
	mapNode
	listNode
	brokenNode // reported already; whatever it was to be counts as there
)

// String is the kind in a user's words.
func (k nodeKind) String() string {
	return [...]string{"empty", "true or false", "a number", "a number with a fraction", "text", "a map", "a list", "broken"}[k]
}

// node is a YAML value with anchors, aliases, tags and merge keys worked in.
// Aliases share nodes; size counts them as often as they are used.
type node struct {
	kind    nodeKind
	at      place
	text    string // a scalar as it is written
	value   any    // bool, int64, uint64, float64 or string
	entries []entry
	items   []*node
	size    int
}

// entry is a key of a map, and its value.
type entry struct {
	key   string
	at    place
	value *node
}

func (n *node) get(key string) (*node, bool) {
	for _, e := range n.entries {
		if e.key == key {
			return e.value, true
		}
	}
	return nil, false
}

// treeError is a problem with the YAML itself.
type treeError struct {
	at              place
	message, remedy string
}

// parseTree reads one YAML document.
func parseTree(data []byte) (*node, []treeError) {
	docs, problems := parseTrees(data)
	switch {
	case len(problems) > 0 && len(docs) == 0:
		return nil, problems
	case len(docs) == 0 || docs[0].kind == nullNode && len(problems) == 0:
		return nil, []treeError{{at: place{1, 1}, message: "is empty"}}
	case len(docs) > 1:
		return nil, []treeError{{at: docs[1].at, message: "a second document starts here", remedy: "keep one cluster in a file"}}
	}
	return docs[0], problems
}

// parseTrees reads YAML documents; empty ones are left out. What is wrong with
// them comes back as errors, never as a panic: the YAML library is kept behind
// a recover, for its input may be anything.
func parseTrees(data []byte) (docs []*node, problems []treeError) {
	defer func() {
		if recover() != nil {
			docs, problems = nil, []treeError{{at: place{1, 1}, message: "cannot be read as YAML"}}
		}
	}()
	if len(data) > maxDocumentSize {
		return nil, []treeError{{at: place{1, 1}, message: "is larger than 1 MiB"}}
	}
	tokens := lexer.Tokenize(string(data))
	if bad := tooDeep(tokens); bad != nil {
		return nil, []treeError{{at: placeOf(bad), message: fmt.Sprintf("is nested more than %d levels deep", maxDepth)}}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, []treeError{syntaxError(err)}
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		b := &treeBuilder{anchors: map[string]*node{}}
		root := b.build(doc.Body, 0)
		switch doc.Body.(type) {
		case *ast.AliasNode, *ast.TagNode:
			// A password may look like one: what is no document is not repeated.
			if root.kind == brokenNode {
				b.problems = []treeError{{at: root.at, message: "is not a document: it has neither fields nor entries"}}
			}
		}
		if root.size > maxNodes {
			b.report(root.at, "grows too large when its aliases are followed", "")
		}
		docs, problems = append(docs, root), append(problems, b.problems...)
	}
	return docs, problems
}

// tooDeep is the first token below the deepest allowed level, counted without
// recursion: the parser itself recurses and must not be let near such input.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, line, onLine := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position != nil && tk.Position.Line != line {
			line, onLine = tk.Position.Line, 0
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType, token.TagType, token.AnchorType:
			if flow == 0 {
				onLine++
			}
		}
		if flow > maxDepth || onLine > maxDepth {
			return tk
		}
	}
	return nil
}

func placeOf(tk *token.Token) place {
	if tk == nil || tk.Position == nil {
		return place{1, 1}
	}
	return place{max(tk.Position.Line, 1), max(tk.Position.Column, 1)}
}

func syntaxError(err error) treeError {
	var at interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if !errors.As(err, &at) {
		return treeError{at: place{1, 1}, message: "cannot be read as YAML"}
	}
	return treeError{at: placeOf(at.GetToken()), message: "is not valid YAML: " + at.GetMessage()}
}

type treeBuilder struct {
	anchors  map[string]*node
	problems []treeError
}

func (b *treeBuilder) report(at place, message, remedy string) {
	b.problems = append(b.problems, treeError{at, message, remedy})
}

// build turns a syntax node into a node. It always returns one.
func (b *treeBuilder) build(from ast.Node, depth int) *node {
	if from == nil {
		return &node{kind: nullNode, size: 1}
	}
	n := &node{at: placeOf(from.GetToken()), size: 1}
	if depth > maxDepth {
		b.report(n.at, fmt.Sprintf("is nested more than %d levels deep", maxDepth), "")
		n.kind = brokenNode
		return n
	}
	switch from := from.(type) {
	case *ast.AnchorNode:
		target := b.build(from.Value, depth+1)
		b.anchors[nodeName(from.Name)] = target
		return target
	case *ast.AliasNode:
		return b.alias(from, n)
	case *ast.TagNode:
		return b.tagged(from, depth)
	case *ast.MappingNode:
		b.fillMap(n, from.Values, depth)
	case *ast.MappingValueNode:
		b.fillMap(n, []*ast.MappingValueNode{from}, depth)
	case *ast.SequenceNode:
		n.kind = listNode
		for _, value := range from.Values {
			item := b.build(value, depth+1)
			n.items = append(n.items, item)
			n.grow(item)
		}
	default:
		b.fillScalar(n, from)
	}
	return n
}

// grow counts a child, up to a number that is refused anyway: aliases of
// aliases grow without bound.
func (n *node) grow(child *node) {
	n.size = min(n.size+child.size, maxNodes+1)
}

func nodeName(from ast.Node) string {
	if from == nil || from.GetToken() == nil {
		return ""
	}
	return from.GetToken().Value
}

func (b *treeBuilder) alias(from *ast.AliasNode, n *node) *node {
	name := nodeName(from.Value)
	target, ok := b.anchors[name]
	if !ok {
		b.report(n.at, fmt.Sprintf("the alias *%s has no anchor before it", name), "")
		n.kind = brokenNode
		return n
	}
	return target
}

// tagged honours the tag that makes text of anything; the others say what YAML
// finds out by itself.
func (b *treeBuilder) tagged(from *ast.TagNode, depth int) *node {
	n := b.build(from.Value, depth+1)
	tag := ""
	if from.Start != nil {
		tag = from.Start.Value
	}
	switch tag {
	case "!!str":
		if n.kind != mapNode && n.kind != listNode {
			n.kind, n.value = textNode, n.text
		}
	case "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq", "!":
	default:
		b.report(placeOf(from.Start), fmt.Sprintf("the tag %s means nothing here", tag), "")
		return &node{kind: brokenNode, at: n.at, size: 1}
	}
	return n
}

func (b *treeBuilder) fillMap(n *node, values []*ast.MappingValueNode, depth int) {
	n.kind = mapNode
	if len(values) > 0 {
		n.at = placeOf(values[0].Key.GetToken())
	}
	var merged []*node
	seen := make(map[string]place, len(values))
	for _, value := range values {
		child := b.build(value.Value, depth+1)
		n.grow(child)
		at := placeOf(value.Key.GetToken())
		if value.Key.IsMergeKey() {
			merged = append(merged, b.mergeSources(child, at)...)
			continue
		}
		key := b.keyText(value.Key)
		if first, again := seen[key]; again {
			b.report(at, fmt.Sprintf("the key %q stands here a second time, first in line %d", key, first.line), "keep one of them")
			continue
		}
		seen[key] = at
		n.entries = append(n.entries, entry{key, at, child})
	}
	for _, from := range merged {
		for _, e := range from.entries {
			if _, has := seen[e.key]; !has {
				seen[e.key] = e.at
				n.entries = append(n.entries, e)
				n.grow(e.value)
			}
		}
	}
}

// mergeSources is the maps that a merge key brings in: one, or a list of them.
func (b *treeBuilder) mergeSources(from *node, at place) []*node {
	switch from.kind {
	case mapNode:
		return []*node{from}
	case listNode:
		var all []*node
		for _, item := range from.items {
			all = append(all, b.mergeSources(item, at)...)
		}
		return all
	default:
		b.report(at, "<< takes a map, or a list of maps", "")
		return nil
	}
}

// keyText is a key as text. A key that is no plain scalar cannot be one of
// ours.
func (b *treeBuilder) keyText(key ast.MapKeyNode) string {
	scalar, ok := ast.Node(key).(ast.ScalarNode)
	if wrapped, is := ast.Node(key).(*ast.MappingKeyNode); is {
		scalar, ok = wrapped.Value.(ast.ScalarNode)
	}
	if !ok {
		b.report(placeOf(key.GetToken()), "a key has to be plain text", "")
		return ""
	}
	n := &node{at: placeOf(key.GetToken())}
	b.fillScalar(n, scalar)
	return n.text
}

func (b *treeBuilder) fillScalar(n *node, from ast.Node) {
	if tk := from.GetToken(); tk != nil {
		n.text = tk.Value
	}
	switch from := from.(type) {
	case *ast.NullNode:
		n.kind = nullNode
	case *ast.BoolNode:
		n.kind, n.value = boolNode, from.Value
	case *ast.IntegerNode:
		n.kind, n.value = intNode, from.Value
	case *ast.FloatNode:
		n.kind, n.value = floatNode, from.Value
	case *ast.StringNode:
		n.kind, n.text, n.value = textNode, from.Value, from.Value
	case *ast.LiteralNode:
		n.kind, n.text, n.value = textNode, from.Value.Value, from.Value.Value
	default:
		n.kind = brokenNode
		b.report(n.at, fmt.Sprintf("%s means nothing here", strings.ToLower(from.Type().YAMLName())), "")
	}
}
