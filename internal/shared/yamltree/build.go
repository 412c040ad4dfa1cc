package yamltree

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

type builder struct {
	version11 bool
	anchors   map[string]*Node
	open      []string // anchors whose values are being built
	merged    int      // entries that merge keys brought in, which are copies
	problems  []Problem
}

func (b *builder) report(at Position, message, remedy string) {
	b.problems = append(b.problems, Problem{At: at, Message: message, Remedy: remedy})
}

// reportWord reports a message that repeats a word of the text, where it has %s.
func (b *builder) reportWord(at Position, format, word, remedy string) {
	b.problems = append(b.problems, Problem{At: at, Message: fmt.Sprintf(format, word), Remedy: remedy, Word: word})
}

// build turns a syntax node into a node. It always returns one.
func (b *builder) build(from ast.Node, depth int) *Node {
	if from == nil {
		return &Node{Kind: Null, size: 1}
	}
	n := &Node{At: positionOf(from.GetToken()), size: 1}
	if depth > maxDepth {
		b.report(n.At, fmt.Sprintf("is nested more than %d levels deep", maxDepth), "")
		n.Kind = Broken
		return n
	}
	switch from := from.(type) {
	case *ast.AnchorNode:
		name := nodeName(from.Name)
		b.open = append(b.open, name)
		target := b.build(from.Value, depth+1)
		b.open = b.open[:len(b.open)-1]
		b.anchors[name] = target
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
		n.Kind = List
		for _, value := range from.Values {
			item := b.build(value, depth+1)
			n.Items = append(n.Items, item)
			n.grow(item)
		}
	default:
		b.fillScalar(n, from)
	}
	return n
}

// grow counts a child, up to what is refused: aliases of aliases grow without bound.
func (n *Node) grow(child *Node) {
	n.size = min(n.size+child.size, maxNodes+1)
}

func nodeName(from ast.Node) string {
	if from == nil || from.GetToken() == nil {
		return ""
	}
	return from.GetToken().Value
}

func (b *builder) alias(from *ast.AliasNode, n *Node) *Node {
	name := nodeName(from.Value)
	target, ok := b.anchors[name]
	if part := slices.Contains(b.open, name); part || !ok {
		format := "the alias %s has no anchor before it"
		if part {
			format = "the alias %s refers to a value that contains the alias itself"
		}
		b.reportWord(n.At, format, "*"+name, "")
		n.Kind = Broken
		return n
	}
	return target
}

// tagged honours !!str; the others say what YAML finds out by itself.
func (b *builder) tagged(from *ast.TagNode, depth int) *Node {
	n := b.build(from.Value, depth+1)
	tag := ""
	if from.Start != nil {
		tag = from.Start.Value
	}
	switch tag {
	case "!!str":
		if n.Kind != Map && n.Kind != List {
			n.Kind, n.Value = Text, n.Text
		}
	case "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq", "!":
	default:
		b.reportWord(positionOf(from.Start), "the tag %s means nothing here", tag, "")
		return &Node{Kind: Broken, At: n.At, size: 1}
	}
	return n
}

func (b *builder) fillMap(n *Node, values []*ast.MappingValueNode, depth int) {
	n.Kind = Map
	if len(values) > 0 {
		n.At = positionOf(values[0].Key.GetToken())
	}
	var merged []*Node
	seen := make(map[string]Position, len(values))
	for _, value := range values {
		child := b.build(value.Value, depth+1)
		n.grow(child)
		at := positionOf(value.Key.GetToken())
		if value.Key.IsMergeKey() {
			merged = append(merged, b.mergeSources(child, at)...)
			continue
		}
		key := b.keyText(value.Key)
		if first, again := seen[key]; again {
			b.reportWord(at, fmt.Sprintf("the key %%s appears here a second time, first in line %d", first.Line), strconv.Quote(key),
				"keep one of them")
			continue
		}
		seen[key] = at
		n.Entries = append(n.Entries, Entry{key, at, child})
	}
	for _, from := range merged {
		b.merge(n, from, seen)
	}
}

func (b *builder) merge(n, from *Node, seen map[string]Position) {
	if b.merged += len(from.Entries); b.merged > maxNodes {
		n.size = maxNodes + 1
		return
	}
	for _, e := range from.Entries {
		if _, has := seen[e.Key]; !has {
			seen[e.Key] = e.At
			n.Entries = append(n.Entries, e)
			n.grow(e.Value)
		}
	}
}

func (b *builder) mergeSources(from *Node, at Position) []*Node {
	sources := []*Node{from}
	if from.Kind == List {
		sources = from.Items
	}
	for _, source := range sources {
		if source.Kind != Map {
			b.report(at, "<< takes a map, or a list of maps", "")
			return nil
		}
	}
	return sources
}

// keyText is a key as text, which it has to be.
func (b *builder) keyText(key ast.MapKeyNode) string {
	scalar, ok := ast.Node(key).(ast.ScalarNode)
	if wrapped, is := ast.Node(key).(*ast.MappingKeyNode); is {
		scalar, ok = wrapped.Value.(ast.ScalarNode)
	}
	if !ok {
		b.report(positionOf(key.GetToken()), "a key has to be plain text", "")
		return ""
	}
	n := &Node{At: positionOf(key.GetToken())}
	b.fillScalar(n, scalar)
	return n.Text
}

func (b *builder) fillScalar(n *Node, from ast.Node) {
	if tk := from.GetToken(); tk != nil {
		n.Text = tk.Value
	}
	if text, is := from.(*ast.StringNode); is && isPlain(from) && strings.Contains(text.Value, ": ") {
		// The library takes it in maps with braces.
		b.report(n.At, "is not valid YAML: a second colon is in this value", "put the value in quotes")
	}
	if b.version11 && isPlain(from) {
		n.Kind, n.Value = plain11(n.Text)
		return
	}
	switch from := from.(type) {
	case *ast.NullNode:
		n.Kind = Null
	case *ast.BoolNode:
		n.Kind, n.Value = Bool, from.Value
	case *ast.IntegerNode:
		n.Kind, n.Value = Int, from.Value
	case *ast.FloatNode:
		n.Kind, n.Value = Float, from.Value
	case *ast.StringNode:
		n.Kind, n.Text, n.Value = Text, from.Value, from.Value
	case *ast.LiteralNode:
		n.Kind, n.Text, n.Value = Text, from.Value.Value, from.Value.Value
	default:
		n.Kind = Broken
		b.report(n.At, fmt.Sprintf("%s means nothing here", strings.ToLower(from.Type().YAMLName())), "")
	}
}

// isPlain reports whether a scalar has neither quotes nor a block.
func isPlain(from ast.Node) bool {
	switch from.(type) {
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return true
	case *ast.StringNode:
		tk := from.GetToken()
		return tk.Type != token.SingleQuoteType && tk.Type != token.DoubleQuoteType
	}
	return false
}

// plain11 is a plain scalar of YAML 1.1. What JSON does not have, such as .inf, is
// text.
func plain11(text string) (Kind, any) {
	switch {
	case text == "~" || text == "" || isWord(text, "null"):
		return Null, nil
	case isWord(text, "true", "yes", "on"):
		return Bool, true
	case isWord(text, "false", "no", "off"):
		return Bool, false
	}
	if kind, number := number11(text); number != nil {
		return kind, number
	}
	return Text, text
}

// isWord reports whether text is a word in lower case, in capitals, or with a first capital.
func isWord(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return text == word || text == strings.ToUpper(word) || text == strings.ToUpper(word[:1])+word[1:]
	})
}

var floats = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
})

// number11 is a number, nil for none. A leading zero makes it octal; but 08 is eight.
func number11(text string) (Kind, any) {
	if !strings.ContainsRune("+-.0123456789", rune(text[0])) {
		return Text, nil
	}
	clean := strings.ReplaceAll(text, "_", "")
	for _, base := range []int{0, 10} {
		if whole, err := strconv.ParseInt(clean, base, 64); err == nil {
			return Int, whole
		}
		if whole, err := strconv.ParseUint(clean, base, 64); err == nil {
			return Int, whole
		}
	}
	if floats().MatchString(clean) {
		if number, err := strconv.ParseFloat(clean, 64); err == nil {
			return Float, number
		}
	}
	return Text, nil
}
