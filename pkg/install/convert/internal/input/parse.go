package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
)

// Limits of what is read. They are far above what a thousand hosts need, and far
// below what would hurt.
const (
	maxInput      = 16 << 20 // bytes of all files together
	maxInputNodes = 500_000
	maxInputDepth = 100
)

// renderFirst is what to do about a template.
const renderFirst = "the file looks like a template: render it first (kustomize build, helm template), and convert what comes of it"

// Parse reads the YAML documents of a file; empty ones are left out. The tools whose
// files these are read YAML 1.1. What is wrong is noted as problems, and nothing comes
// back then.
func (r *Account) Parse(file string, data []byte) []*Document {
	if r.size += len(data); r.size > maxInput {
		r.Problem(file, 1, 1, "", fmt.Sprintf("is more than %d MiB, with what was read before", maxInput>>20), "")
		return nil
	}
	r.Foreign = r.Foreign || isForeign(data)
	trees, problems := yamltree.Options{MaxSize: maxInput, Version11: true}.Parse(data)
	for _, p := range problems {
		message, remedy := p.Message, p.Remedy
		if !strings.HasPrefix(message, "the key ") {
			message = p.Discreet() // a password without quotes may look like an alias or a tag
		}
		if bytes.Contains(data, []byte("{{")) {
			remedy = renderFirst
		}
		r.Problem(file, p.At.Line, p.At.Column, "", message, remedy)
	}
	if len(problems) > 0 {
		return nil
	}
	var docs []*Document
	for _, tree := range trees {
		if tree.Kind != yamltree.Null {
			doc := &Document{File: file}
			doc.Root = nodeOf(tree, doc, nil)
			docs = append(docs, doc)
		}
	}
	return docs
}

// nodeOf copies a tree, for each use of an alias is a node of its own.
func nodeOf(from *yamltree.Node, in *Document, parent *Node) *Node {
	n := &Node{Kind: kindOf(from.Kind), In: in, Parent: parent, Line: from.At.Line, Col: from.At.Column, Text: from.Text}
	for _, e := range from.Entries {
		child := nodeOf(e.Value, in, n)
		child.Key, child.keyLine, child.keyCol = e.Key, e.At.Line, e.At.Column
		n.Children = append(n.Children, child)
	}
	for i, item := range from.Items {
		child := nodeOf(item, in, n)
		child.index = i
		n.Children = append(n.Children, child)
	}
	return n
}

func kindOf(kind yamltree.Kind) nodeKind {
	switch kind {
	case yamltree.Bool:
		return BoolNode
	case yamltree.Int, yamltree.Float:
		return NumberNode
	case yamltree.Text:
		return TextNode
	case yamltree.Map:
		return MapNode
	case yamltree.List:
		return ListNode
	}
	return NullNode
}

// EmbedText is Embed for a text that may be empty, which is taken; nil then.
func (r *Account) EmbedText(n *Node) *Node {
	if n == nil || n.Kind == TextNode && n.Text == "" {
		r.Text(n)
		return nil
	}
	return r.Embed(n)
}

// Embed reads the text of n, JSON or YAML, as if it stood in the file as a tree.
func (r *Account) Embed(n *Node) *Node {
	if n == nil || n.Kind == MapNode || n.Kind == ListNode {
		return n
	}
	r.size += len(n.Text)
	root := embedded(n)
	if root == nil || root.Kind != MapNode && root.Kind != ListNode {
		n.Taken = true
		r.Wrong(n, "has to be JSON in a text, but is not", "")
		return nil
	}
	root.walk(func(c *Node) { c.In, c.Line, c.Col, c.keyLine, c.keyCol = n.In, n.Line, n.Col, n.Line, n.Col })
	n.Kind, n.Children, n.Text = root.Kind, root.Children, ""
	for _, c := range n.Children {
		c.Parent = n
	}
	return n
}

// embedded is the tree of a text; nil for one that is none. YAML has most of JSON,
// but not its escapes \/ and \ud83d\ude00.
func embedded(n *Node) *Node {
	if len(n.Text) > maxInput {
		return nil
	}
	if json.Valid([]byte(n.Text)) {
		root, err := jsonTree([]byte(n.Text))
		if err != nil {
			return nil
		}
		return root
	}
	inner := &Account{}
	docs := inner.Parse(n.In.File, []byte(n.Text))
	if len(inner.Problems) > 0 || len(docs) != 1 {
		return nil
	}
	return docs[0].Root
}

func jsonTree(data []byte) (*Node, error) {
	j := &jsonReader{Decoder: json.NewDecoder(bytes.NewReader(data))}
	j.UseNumber()
	return j.value(nil, 0)
}

type jsonReader struct {
	*json.Decoder
	nodes int
}

func (j *jsonReader) value(parent *Node, depth int) (*Node, error) {
	if j.nodes++; j.nodes > maxInputNodes || depth > maxInputDepth {
		return nil, errors.New("is too large, or nested too deep")
	}
	token, err := j.Token()
	if err != nil {
		return nil, err
	}
	n := &Node{Parent: parent}
	switch token := token.(type) {
	case json.Delim:
		n.Kind = ListNode
		if token == '{' {
			n.Kind = MapNode
		}
		return n, j.fill(n, depth)
	case bool:
		n.Kind, n.Text = BoolNode, fmt.Sprint(token)
	case json.Number:
		n.Kind, n.Text = NumberNode, token.String()
		if _, is := numberOf(n.Text).(string); is {
			n.Kind = TextNode // too large to be a number
		}
	case string:
		n.Kind, n.Text = TextNode, token
	}
	return n, nil
}

func (j *jsonReader) fill(n *Node, depth int) error {
	seen := map[string]bool{}
	for j.More() {
		key := ""
		if n.Kind == MapNode {
			token, err := j.Token()
			if err != nil {
				return err
			}
			if key, _ = token.(string); seen[key] {
				return fmt.Errorf("the key %q appears twice", key)
			}
			seen[key] = true
		}
		child, err := j.value(n, depth+1)
		if err != nil {
			return err
		}
		child.Key, child.index = key, len(n.Children)
		n.Children = append(n.Children, child)
	}
	_, err := j.Token()
	return err
}

// ParseTOML reads the part of TOML that containers-registries.conf(5) is written
// in: lists of tables, texts, booleans and lists of texts. nil where there is more.
func (r *Account) ParseTOML(at *Node, text string) *Node {
	root := &Node{In: at.In, Kind: MapNode, Line: at.Line, Col: at.Col}
	unknown := func(line int) *Node {
		r.Wrong(at, fmt.Sprintf("line %d of it is nothing that is known of registries.conf", line),
			"write [[registry]] with location and [[registry.mirror]]")
		return nil
	}
	table, parser := root, unstable.Parser{}
	parser.Reset([]byte(text))
	for parser.NextExpression() {
		e := parser.Expression()
		var keys []string
		line := 0
		for key := e.Key(); key.Next(); {
			keys = append(keys, string(key.Node().Data))
			line = parser.Shape(key.Node().Raw).Start.Line
		}
		if e.Kind == unstable.ArrayTable {
			table = root.tomlTable(keys, line)
			continue
		}
		if e.Kind != unstable.KeyValue || len(keys) != 1 || table == nil {
			return unknown(line)
		}
		child := tomlValue(e.Value())
		if child == nil {
			return unknown(line)
		}
		if child.Key = keys[0]; table.Child(child.Key) != nil {
			r.Wrong(at, fmt.Sprintf("line %d of it says %s a second time", line, child.Key), "")
			return nil
		}
		table.add(child, line)
	}
	var wrong *unstable.ParserError
	if errors.As(parser.Error(), &wrong) {
		before := text[:min(len(text), int(parser.Range(wrong.Highlight).Offset+1))]
		begun := tomlKey.FindAllStringIndex(before, -1)
		if len(begun) > 0 {
			before = before[:begun[len(begun)-1][1]]
		}
		return unknown(1 + strings.Count(before, "\n"))
	}
	return root
}

// tomlKey matches the beginning of what may go on over several lines.
var tomlKey = regexp.MustCompile(`(?m)^[ \t]*[\w"'.-]+[ \t]*=`)

func (n *Node) add(child *Node, line int) {
	child.Parent, child.index = n, len(n.Children)
	child.walk(func(c *Node) {
		c.In, c.Line, c.Col = n.In, n.Line, n.Col
		if n.In.Root != nil && n.In.Root.Line == 1 {
			c.Line = line
		}
	})
	n.Children = append(n.Children, child)
}

// tomlTable begins another table of a list; nil for one below a table that is not there.
func (n *Node) tomlTable(keys []string, line int) *Node {
	last := len(keys) - 1
	for _, key := range keys[:last] {
		list := n.Child(key)
		if list == nil || len(list.Children) == 0 {
			return nil
		}
		n = list.Children[len(list.Children)-1]
	}
	list := n.Child(keys[last])
	if list == nil {
		list = &Node{Kind: ListNode, Key: keys[last]}
		n.add(list, line)
	}
	if list.Kind != ListNode {
		return nil
	}
	table := &Node{Kind: MapNode}
	list.add(table, line)
	return table
}

// tomlValue is a text, a boolean, or a list of texts; nil for anything else.
func tomlValue(from *unstable.Node) *Node {
	switch from.Kind {
	case unstable.String:
		return &Node{Kind: TextNode, Text: string(from.Data)}
	case unstable.Bool:
		return &Node{Kind: BoolNode, Text: string(from.Data)}
	case unstable.Array:
		list := &Node{Kind: ListNode}
		for item := from.Children(); item.Next(); {
			value := tomlValue(item.Node())
			if value == nil || value.Kind == ListNode {
				return nil
			}
			value.Parent, value.index = list, len(list.Children)
			list.Children = append(list.Children, value)
		}
		return list
	}
	return nil
}
