package nmstate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a document: far above the network of any machine, far below what
// would hurt the reader.
const (
	maxSize  = 1 << 20 // bytes
	maxDepth = 50      // nested maps and lists
	maxNodes = 100_000 // after aliases are followed
)

type nodeKind int

const (
	nullNode nodeKind = iota
	scalarNode
	mapNode
	listNode
)

// node is a YAML value and where it stands. Anchors, aliases and merge keys are
// worked in.
type node struct {
	kind    nodeKind
	at      place
	text    string // of a scalar, without quotes
	entries []entry
	items   []*node
}

// entry is a key of a map, and its value.
type entry struct {
	key   string
	at    place
	value *node
}

// what is the kind of the node in a user's words.
func (n *node) what() string {
	switch n.kind {
	case mapNode:
		return "a map"
	case listNode:
		return "a list"
	case scalarNode:
		return fmt.Sprintf("%q", n.text)
	default:
		return "empty"
	}
}

// parseYAML reads one document. The YAML library is kept behind a recover,
// for its input may be anything.
func parseYAML(data []byte) (root *node, found Problems) {
	b := &treeBuilder{anchors: map[string]*node{}}
	defer func() {
		if recover() != nil {
			root, found = nil, Problems{{Line: 1, Column: 1, Message: "cannot be read as YAML"}}
		}
	}()
	if len(data) > maxSize {
		b.report(place{1, 1}, "is larger than 1 MiB")
		return nil, b.problems
	}
	tokens := lexer.Tokenize(string(data))
	if deep := tooDeep(tokens); deep != nil {
		b.report(placeOf(deep), "is nested more than %d levels deep", maxDepth)
		return nil, b.problems
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		b.syntax(err)
		return nil, b.problems
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			b.report(placeOf(doc.Body.GetToken()), "a second document starts here: one describes one machine")
			break
		}
		root = b.build(doc.Body, 0)
	}
	if root == nil && len(b.problems) == 0 {
		b.report(place{1, 1}, "is empty")
	}
	return root, b.problems
}

// tooDeep is the first token below the deepest allowed level, counted without
// recursion: the parser itself recurses and must not see such input.
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

// treeBuilder turns the library's syntax tree into nodes.
type treeBuilder struct {
	anchors  map[string]*node
	nodes    int
	tooLarge bool // reported; what is wrong with the rest does not matter
	problems Problems
}

func (b *treeBuilder) report(at place, format string, args ...any) {
	if b.tooLarge {
		return
	}
	b.problems = append(b.problems, Problem{Line: at.line, Column: at.column, Message: fmt.Sprintf(format, args...)})
}

func (b *treeBuilder) syntax(err error) {
	var detailed interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if errors.As(err, &detailed) {
		b.report(placeOf(detailed.GetToken()), "is not valid YAML: %s", detailed.GetMessage())
		return
	}
	b.report(place{1, 1}, "cannot be read as YAML")
}

// build always returns a node; what it cannot use becomes an empty one, and a
// problem.
func (b *treeBuilder) build(from ast.Node, depth int) *node {
	if from == nil {
		return &node{at: place{1, 1}}
	}
	n := &node{at: placeOf(from.GetToken())}
	if b.nodes++; b.nodes > maxNodes || depth > maxDepth {
		b.report(n.at, "is too large or nested too deep")
		b.tooLarge = true
		return n
	}
	switch from := from.(type) {
	case *ast.AnchorNode:
		target := b.build(from.Value, depth+1)
		b.anchors[from.Name.GetToken().Value] = target
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
			n.items = append(n.items, b.build(value, depth+1))
		}
	case *ast.NullNode:
	default:
		b.fillScalar(n, from)
	}
	return n
}

func (b *treeBuilder) alias(from *ast.AliasNode, n *node) *node {
	name := from.Value.GetToken().Value
	target, ok := b.anchors[name]
	if !ok {
		b.report(n.at, "the alias *%s has no anchor before it", name)
		return n
	}
	// Aliases of aliases grow without bound when they are followed.
	if b.nodes += target.count(maxNodes); b.nodes > maxNodes {
		b.report(n.at, "grows too large when its aliases are followed")
		b.tooLarge = true
		return n
	}
	return target
}

// count is how many nodes there are from this one down, or a number above most.
func (n *node) count(most int) int {
	total := 1
	for _, e := range n.entries {
		if total > most {
			return total
		}
		total += e.value.count(most - total)
	}
	for _, item := range n.items {
		if total > most {
			return total
		}
		total += item.count(most - total)
	}
	return total
}

// tagged takes the tags of YAML's own types, which change nothing here: numbers
// and truth values are understood as text, too.
func (b *treeBuilder) tagged(from *ast.TagNode, depth int) *node {
	n := b.build(from.Value, depth+1)
	switch tag := from.Start.Value; tag {
	case "!!str", "!!int", "!!bool", "!!null", "!!map", "!!seq", "!":
	default:
		b.report(placeOf(from.Start), "the tag %s means nothing here", tag)
	}
	return n
}

func (b *treeBuilder) fillMap(n *node, values []*ast.MappingValueNode, depth int) {
	n.kind = mapNode
	if len(values) > 0 {
		n.at = placeOf(values[0].Key.GetToken())
	}
	var merged []*node
	seen := make(map[string]bool, len(values))
	for _, value := range values {
		child := b.build(value.Value, depth+1)
		at := placeOf(value.Key.GetToken())
		if value.Key.IsMergeKey() {
			merged = append(merged, b.mergeSources(child, at)...)
			continue
		}
		key := b.build(value.Key, depth+1)
		switch {
		case key.kind != scalarNode:
			b.report(at, "a key has to be plain text")
			continue
		case seen[key.text]:
			b.report(at, "the key %q stands here a second time", key.text)
			continue
		}
		seen[key.text] = true
		n.entries = append(n.entries, entry{key.text, at, child})
	}
	for _, from := range merged {
		for _, e := range from.entries {
			if !seen[e.key] {
				seen[e.key] = true
				n.entries = append(n.entries, e)
			}
		}
	}
}

// mergeSources is the maps that a merge key brings in: one, or a list of them.
func (b *treeBuilder) mergeSources(from *node, at place) []*node {
	sources := []*node{from}
	if from.kind == listNode {
		sources = from.items
	}
	for _, source := range sources {
		if source.kind != mapNode {
			b.report(at, "<< takes a map, or a list of maps")
			return nil
		}
	}
	return sources
}

func (b *treeBuilder) fillScalar(n *node, from ast.Node) {
	n.kind = scalarNode
	switch from := from.(type) {
	case *ast.StringNode:
		n.text = from.Value
	case *ast.LiteralNode:
		n.text = from.Value.Value
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		n.text = from.GetToken().Value
	default:
		n.kind = nullNode
		b.report(n.at, "%s means nothing here", strings.ToLower(from.Type().YAMLName()))
	}
}
