package manifest

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

type nodeKind int

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	textNode
	mapNode
	listNode
)

// String is the kind in a user's words.
func (k nodeKind) String() string {
	return [...]string{"empty", "true or false", "a number", "text", "a map", "a list"}[k]
}

// node is a value of an input file. It knows its place and whether somebody has
// taken it: whatever was not taken in the end is told as a Loss, so that nothing
// can be forgotten. Aliases are copied, for each use is a key of its own.
type node struct {
	kind      nodeKind
	in        *document
	line, col int
	keyLine   int // of the key, for maps and lists
	keyCol    int
	parent    *node
	key       string // in a map
	index     int    // in a list
	text      string // a scalar, as it is written
	children  []*node
	taken     bool
	decoded   bool // from base64
}

// document is one YAML document of an input.
type document struct {
	file string // as messages call it
	// label tells apart what stands in several files, or several times in one; it
	// is put before paths, with its colon.
	label string
	root  *node
}

// get is what stands below keys; nil for nothing, or for an empty value, which
// says as much.
func (n *node) get(keys ...string) *node {
	for _, key := range keys {
		n = n.child(key)
	}
	if n != nil && n.kind == nullNode {
		n.taken = true
		return nil
	}
	return n
}

func (n *node) child(key string) *node {
	if n == nil || n.kind != mapNode {
		return nil
	}
	for _, c := range n.children {
		if c.key == key {
			return c
		}
	}
	return nil
}

// items are the entries of a list.
func (n *node) items() []*node {
	if n == nil || n.kind != listNode {
		return nil
	}
	return n.children
}

// peek is a scalar's text without taking it.
func (n *node) peek() string {
	if n == nil {
		return ""
	}
	return n.text
}

// path is where the node stands, such as spec.hosts[2].name.
func (n *node) path() string {
	var parts []string
	for at := n; at != nil && at.parent != nil; at = at.parent {
		if at.parent.kind == listNode {
			parts = append(parts, "["+strconv.Itoa(at.index)+"]")
		} else {
			parts = append(parts, "."+at.key)
		}
	}
	var path strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		path.WriteString(parts[i])
	}
	if path.Len() == 0 {
		return strings.TrimSuffix(n.in.label, ":")
	}
	return n.in.label + strings.TrimPrefix(path.String(), ".")
}

// place is where a problem with the node is shown: a scalar at its value,
// anything else at its key.
func (n *node) place() (line, col int) {
	if (n.kind == mapNode || n.kind == listNode || n.kind == nullNode) && n.keyLine > 0 {
		return n.keyLine, n.keyCol
	}
	return n.line, n.col
}

// walk visits the node and all below it.
func (n *node) walk(visit func(*node)) {
	if n == nil {
		return
	}
	visit(n)
	for _, c := range n.children {
		c.walk(visit)
	}
}

// take marks the node and all below it as carried over.
func (n *node) take() { n.walk(func(n *node) { n.taken = true }) }

// plain is the value as encoding/json would decode it, with integers kept whole.
// It takes nothing.
func (n *node) plain() any {
	if n == nil {
		return nil
	}
	switch n.kind {
	case mapNode:
		m := make(map[string]any, len(n.children))
		for _, c := range n.children {
			m[c.key] = c.plain()
		}
		return m
	case listNode:
		l := make([]any, len(n.children))
		for i, c := range n.children {
			l[i] = c.plain()
		}
		return l
	case boolNode:
		return truth(n.text)
	case numberNode:
		return numberOf(n.text)
	case textNode:
		return n.text
	}
	return nil
}

// numberOf is a number as YAML 1.2 writes it. A leading zero makes it octal, save
// where a digit is none of those: 08 is eight.
func numberOf(text string) any {
	clean := strings.ReplaceAll(text, "_", "")
	for _, base := range []int{0, 10} {
		if i, err := strconv.ParseInt(clean, base, 64); err == nil {
			return i
		}
	}
	if f, err := strconv.ParseFloat(clean, 64); err == nil && f-f == 0 {
		return f
	}
	return text
}

func truth(text string) bool {
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		return true
	}
	return false
}

// parser builds the documents of one file.
type parser struct {
	reader *reader
	in     *document
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

// parse reads the YAML documents of a file. What is wrong with them is noted as
// problems; those that can be used come back. The YAML library is kept behind a
// recover, for its input may be anything.
func (r *reader) parse(file string, data []byte) (docs []*document) {
	defer func() {
		if recover() != nil {
			r.problem(file, 1, 1, "", "cannot be read as YAML", "")
			docs = nil
		}
	}()
	if r.size += len(data); r.size > maxInput {
		r.problem(file, 1, 1, "", fmt.Sprintf("is more than %d MiB, with what was read before", maxInput>>20), "")
		return nil
	}
	r.foreign = r.foreign || isForeign(data)
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
			r.problem(file, line, 1, "", "is not valid YAML: "+message, remedy)
			return docs
		}
		if len(root.Content) != 1 {
			continue
		}
		p := &parser{reader: r, in: &document{file: file}, open: map[*yaml.Node]bool{}, template: template}
		p.in.root = p.build(root.Content[0], nil, 0)
		if p.in.root.kind != nullNode && !p.broken {
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
	p.reader.problem(p.in.file, max(at.Line, 1), max(at.Column, 1), "", message, remedy)
}

// build copies what the YAML library read, with aliases followed and merge keys
// worked in.
func (p *parser) build(from *yaml.Node, parent *node, depth int) *node {
	n := &node{in: p.in, parent: parent, line: max(from.Line, 1), col: max(from.Column, 1)}
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
		n.kind = mapNode
		p.open[from] = true
		p.fill(n, from, depth, map[string]int{})
		delete(p.open, from)
	case yaml.SequenceNode:
		n.kind = listNode
		p.open[from] = true
		for i, item := range from.Content {
			child := p.build(item, n, depth+1)
			child.index = i
			n.children = append(n.children, child)
		}
		delete(p.open, from)
	default:
		n.text = from.Value
		n.kind = scalarKind(from)
	}
	return n
}

func scalarKind(from *yaml.Node) nodeKind {
	switch from.ShortTag() {
	case "!!null":
		return nullNode
	case "!!bool":
		return boolNode
	case "!!int", "!!float":
		if _, is := numberOf(from.Value).(string); is {
			return textNode // not a number that JSON has
		}
		return numberNode
	case "!!str":
		if from.Style == 0 && oldBool.MatchString(from.Value) {
			return boolNode
		}
	}
	return textNode
}

// oldBool matches what YAML 1.1 takes for true or false, and 1.2 for text. The
// tools whose files these are read YAML 1.1.
var oldBool = regexp.MustCompile(`^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$`)

// fill adds the keys of a map to n. Those that stand in the map itself win over
// those that a merge key brings in.
func (p *parser) fill(n *node, from *yaml.Node, depth int, seen map[string]int) {
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
		child.key, child.keyLine, child.keyCol = key.Value, key.Line, key.Column
		n.children = append(n.children, child)
	}
	for _, value := range merged {
		p.merge(n, value, depth, seen)
	}
}

func (p *parser) merge(n *node, from *yaml.Node, depth int, seen map[string]int) {
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
