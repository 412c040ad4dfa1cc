package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of what is read. They are far above what a thousand hosts need, and far
// below what would hurt.
const (
	maxInput      = 16 << 20 // bytes of all files together
	maxInputNodes = 500_000  // after aliases are followed
	maxInputDepth = 100
)

// parser builds the documents of one file.
type parser struct {
	reader *Account
	in     *Document
	nodes  int
	open   map[*yaml.Node]bool // aliases that are being followed
	broken bool
	// template says that the file looks like one from which YAML is yet to be made.
	template bool
}

// renderFirst is what to do about a template.
const renderFirst = "the file looks like a template: render it first (kustomize build, helm template), and convert what comes of it"

// syntax matches the place that the YAML library puts into its messages.
var syntax = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// Parse reads the YAML documents of a file. What is wrong with them is noted as
// problems; those that can be used come back. The YAML library is kept behind a
// recover, for its input may be anything.
func (r *Account) Parse(file string, data []byte) (docs []*Document) {
	defer func() {
		if recover() != nil {
			r.Problem(file, 1, 1, "", "cannot be read as YAML", "")
			docs = nil
		}
	}()
	if r.size += len(data); r.size > maxInput {
		r.Problem(file, 1, 1, "", fmt.Sprintf("is more than %d MiB, with what was read before", maxInput>>20), "")
		return nil
	}
	r.Foreign = r.Foreign || isForeign(data)
	remedy, template := "", bytes.Contains(data, []byte("{{"))
	if template {
		remedy = renderFirst
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var root yaml.Node
		err := decoder.Decode(&root)
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err != nil {
			line, message := syntaxMessage(err)
			r.Problem(file, line, 1, "", "is not valid YAML: "+message, remedy)
			return docs
		}
		if len(root.Content) != 1 {
			continue
		}
		p := &parser{reader: r, in: &Document{File: file}, open: map[*yaml.Node]bool{}, template: template}
		p.in.Root = p.build(root.Content[0], nil, 0)
		if p.in.Root.Kind != NullNode && !p.broken {
			docs = append(docs, p.in)
		}
	}
}

func syntaxMessage(err error) (line int, message string) {
	parts := syntax.FindStringSubmatch(err.Error())
	line, _ = strconv.Atoi(parts[1])
	message = strings.TrimPrefix(err.Error(), parts[0])
	// What the library quotes may be a password.
	if cut := strings.IndexAny(message, "`'\""); cut > 0 {
		message = strings.TrimSpace(message[:cut])
	}
	return max(line, 1), message
}

func (p *parser) wrong(at *yaml.Node, message, remedy string) {
	p.broken = true
	if p.template {
		remedy = renderFirst
	}
	p.reader.Problem(p.in.File, max(at.Line, 1), max(at.Column, 1), "", message, remedy)
}

// build copies what the YAML library read, with aliases followed and merge keys
// worked in.
func (p *parser) build(from *yaml.Node, parent *Node, depth int) *Node {
	n := &Node{In: p.in, Parent: parent, Line: max(from.Line, 1), Col: max(from.Column, 1)}
	if p.nodes++; p.nodes > maxInputNodes || p.broken {
		if !p.broken {
			p.wrong(from, "grows too large when its aliases are followed", "")
		}
		return n
	}
	if depth > maxInputDepth {
		p.wrong(from, fmt.Sprintf("is nested more than %d levels deep", maxInputDepth), "")
		return n
	}
	switch from.Kind {
	case yaml.AliasNode:
		if from.Alias == nil || p.open[from.Alias] {
			p.wrong(from, fmt.Sprintf("the alias *%s stands for something that it is part of itself", from.Value), "")
			return n
		}
		n = p.build(from.Alias, parent, depth+1)
	case yaml.MappingNode:
		n.Kind = MapNode
		p.open[from] = true
		p.fill(n, from, depth, map[string]int{})
		delete(p.open, from)
	case yaml.SequenceNode:
		n.Kind = ListNode
		p.open[from] = true
		for i, item := range from.Content {
			child := p.build(item, n, depth+1)
			child.index = i
			n.Children = append(n.Children, child)
		}
		delete(p.open, from)
	default:
		n.Text = from.Value
		n.Kind = scalarKind(from)
	}
	return n
}

func scalarKind(from *yaml.Node) nodeKind {
	switch from.ShortTag() {
	case "!!null":
		return NullNode
	case "!!bool":
		return BoolNode
	case "!!int", "!!float":
		if _, is := numberOf(from.Value).(string); is {
			return TextNode // not a number that JSON has
		}
		return NumberNode
	case "!!str":
		if from.Style == 0 && oldBool.MatchString(from.Value) {
			return BoolNode
		}
	}
	return TextNode
}

// oldBool matches what YAML 1.1 takes for true or false, and 1.2 for text. The
// tools whose files these are read YAML 1.1.
var oldBool = regexp.MustCompile(`^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$`)

// fill adds the keys of a map to n. Those that stand in the map itself win over
// those that a merge key brings in.
func (p *parser) fill(n *Node, from *yaml.Node, depth int, seen map[string]int) {
	var merged []*yaml.Node
	own := map[string]bool{}
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		if key.Kind == yaml.AliasNode && key.Alias != nil {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			p.wrong(key, "a key has to be plain text", "")
			continue
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if first, again := seen[key.Value]; again {
			if own[key.Value] {
				p.wrong(key, fmt.Sprintf("the key %q stands here a second time, first in line %d", key.Value, first), "keep one of them")
			}
			continue
		}
		seen[key.Value], own[key.Value] = key.Line, true
		child := p.build(value, n, depth+1)
		child.Key, child.keyLine, child.keyCol = key.Value, key.Line, key.Column
		n.Children = append(n.Children, child)
	}
	for _, value := range merged {
		p.merge(n, value, depth, seen)
	}
}

func (p *parser) merge(n *Node, from *yaml.Node, depth int, seen map[string]int) {
	source := from
	if source.Kind == yaml.AliasNode && source.Alias != nil {
		source = source.Alias
	}
	switch {
	case depth > maxInputDepth || p.open[source]:
		p.wrong(from, "<< takes in something that it is part of itself", "")
	case source.Kind == yaml.MappingNode:
		p.open[source] = true
		p.fill(n, source, depth+1, seen)
		delete(p.open, source)
	case source.Kind == yaml.SequenceNode:
		for _, item := range source.Content {
			p.merge(n, item, depth+1, seen)
		}
	default:
		p.wrong(from, "<< takes a map, or a list of maps", "")
	}
}
