// Package input reads the files of an input as trees of values. Each value knows its file and line. The package keeps an
// account of the values that were carried over to cluster.yaml.
package input

import (
	"slices"
	"strconv"
	"strings"
)

// First is the first of some keys that is there.
func First(n *Node, keys ...string) *Node {
	for _, key := range keys {
		if c := n.Get(key); c != nil {
			return c
		}
	}
	return nil
}

type nodeKind int

// What a value is.
const (
	NullNode nodeKind = iota
	BoolNode
	NumberNode
	TextNode
	MapNode
	ListNode
)

// String is the kind in a user's words.
func (k nodeKind) String() string {
	return [...]string{"empty", "true or false", "a number", "text", "a map", "a list"}[k]
}

// Node is a value of an input file. It knows its place, and whether a field has taken it. What was not taken in the end
// is reported as a Loss, so that nothing is forgotten. Aliases are copied, since each use is a key of its own.
type Node struct {
	Kind      nodeKind
	In        *Document
	Line, Col int
	keyLine   int // of the key, for maps and lists
	keyCol    int
	Parent    *Node
	Key       string // in a map
	index     int    // in a list
	Text      string // a scalar, as it is written
	Children  []*Node
	Taken     bool
	Decoded   bool // from base64
}

// Document is one YAML document of an input.
type Document struct {
	File string // as messages call it
	// label tells apart what stands in several files, or several times in one; it
	// is put before paths, with its colon.
	Label string
	Root  *Node
}

// Get is what stands below keys; nil for nothing, or for an empty value.
func (n *Node) Get(keys ...string) *Node {
	for _, key := range keys {
		n = n.Child(key)
	}
	if n != nil && n.Kind == NullNode {
		n.Taken = true
		return nil
	}
	return n
}

// Child is what stands below a key, an empty value included; nil for nothing.
func (n *Node) Child(key string) *Node {
	if n == nil || n.Kind != MapNode {
		return nil
	}
	for _, c := range n.Children {
		if c.Key == key {
			return c
		}
	}
	return nil
}

// Each is the text below a key of each entry of a list of maps.
func (n *Node) Each(key string) []string {
	texts := make([]string, 0, len(n.Items()))
	for _, item := range n.Items() {
		texts = append(texts, item.Child(key).Peek())
	}
	return texts
}

// RenamePorts gives the ports of bonds in nmstate the key that it has now: slaves, the
// former one, was removed.
func (n *Node) RenamePorts() {
	n.walk(func(n *Node) {
		if n.Key == "slaves" && n.Parent != nil && n.Parent.Key == "link-aggregation" && n.Parent.Child("port") == nil {
			n.Key = "port"
		}
	})
}

// AreSiblings says whether two nodes are entries of one list, or objects of one kind.
func AreSiblings(a, b *Node) bool {
	return a.Parent == b.Parent && (a.Parent != nil || a.Child("kind").Peek() == b.Child("kind").Peek())
}

// Items are the entries of a list.
func (n *Node) Items() []*Node {
	if n == nil || n.Kind != ListNode {
		return nil
	}
	return n.Children
}

// Peek is a scalar's text without taking it.
func (n *Node) Peek() string {
	if n == nil {
		return ""
	}
	return n.Text
}

// Path is where the node stands, such as spec.hosts[2].name.
func (n *Node) Path() string {
	path := ""
	for at := n; at != nil && at.Parent != nil; at = at.Parent {
		if at.Parent.Kind == ListNode {
			path = "[" + strconv.Itoa(at.index) + "]" + path
		} else {
			path = "." + at.Key + path
		}
	}
	if path == "" {
		return strings.TrimSuffix(n.In.Label, ":")
	}
	return n.In.Label + strings.TrimPrefix(path, ".")
}

// Position is where a problem with the node is shown: at its value, or a map at its key.
func (n *Node) Position() (line, col int) {
	if (n.Kind == MapNode || n.Kind == ListNode || n.Kind == NullNode) && n.keyLine > 0 {
		return n.keyLine, n.keyCol
	}
	return n.Line, n.Col
}

func (n *Node) walk(visit func(*Node)) {
	if n == nil {
		return
	}
	visit(n)
	for _, c := range n.Children {
		c.walk(visit)
	}
}

// Take marks the node and all below it as carried over.
func (n *Node) Take() { n.walk(func(n *Node) { n.Taken = true }) }

// Plain is the value as encoding/json would decode it, with integers kept whole.
func (n *Node) Plain() any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case MapNode:
		m := make(map[string]any, len(n.Children))
		for _, c := range n.Children {
			m[c.Key] = c.Plain()
		}
		return m
	case ListNode:
		l := make([]any, len(n.Children))
		for i, c := range n.Children {
			l[i] = c.Plain()
		}
		return l
	case BoolNode:
		return Truth(n.Text)
	case NumberNode:
		return numberOf(n.Text)
	case TextNode:
		return n.Text
	}
	return nil
}

// numberOf is a number of YAML 1.2; a leading zero makes it octal, save that 08 is eight.
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

// Truth is a boolean as YAML 1.1 writes it.
func Truth(text string) bool {
	return slices.Contains([]string{"true", "yes", "on"}, strings.ToLower(text))
}

// All are the entries of a map, none of nil.
func (n *Node) All() []*Node {
	if n == nil {
		return nil
	}
	return n.Children
}
