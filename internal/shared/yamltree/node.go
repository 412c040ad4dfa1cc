// Package yamltree reads YAML that people write into a tree in which everything knows
// its place, for messages. It is bounded: no input makes it panic, recurse without end
// or grow beyond measure.
package yamltree

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// Limits, far above what a cluster of hundreds of hosts needs.
const (
	// MaxSize is how many bytes are read where no other limit is set.
	MaxSize   = 1 << 20
	maxDepth  = 100     // nested maps and lists
	maxNodes  = 500_000 // after aliases are followed
	maxFields = 2000    // of one map
)

// Position is where something stands in a file, counted from 1.
type Position struct {
	Line, Column int
}

// Kind is what a node is.
type Kind int

// The kinds of nodes. A broken one has been reported, and counts as there.
const (
	Null Kind = iota
	Bool
	Int
	Float
	Text
	Map
	List
	Broken
)

// String is the kind in a user's words.
func (k Kind) String() string {
	return [...]string{"empty", "true or false", "a number", "a number with a fraction", "text", "a map", "a list", "broken"}[k]
}

// Node is a YAML value with anchors, aliases, which share nodes, tags and merge keys
// worked in.
type Node struct {
	Kind Kind
	// At is where it stands: a map at its first key.
	At Position
	// Text of a scalar, as it is written except for quotes.
	Text string
	// Value of a scalar: bool, int64, uint64, float64 or string.
	Value any
	// Entries of a map, in their order; those that are merged in come last.
	Entries []Entry
	// Items of a list.
	Items []*Node

	size int // nodes, those that aliases share as often as they are used
}

// Entry is a key of a map, and its value.
type Entry struct {
	Key   string
	At    Position
	Value *Node
}

// Get is the value of a key of a map.
func (n *Node) Get(key string) (*Node, bool) {
	for _, e := range n.Entries {
		if e.Key == key {
			return e.Value, true
		}
	}
	return nil, false
}

// Scalar reports whether the node is one piece of text, a number or a truth value.
func (n *Node) Scalar() bool {
	return slices.Contains([]Kind{Bool, Int, Float, Text}, n.Kind)
}

// TooLarge reports whether aliases make too much of the node, which has been reported.
func (n *Node) TooLarge() bool { return n.size > maxNodes }

// Problem is what is wrong with the YAML itself.
type Problem struct {
	At Position
	// Message is what is wrong, and Remedy what to write instead, if that is known.
	Message, Remedy string
	// Word is what Message repeats of the text, "" for nothing. It may be a password.
	Word string
}

// Discreet is the message without what it repeats of the text.
func (p Problem) Discreet() string {
	if p.Word == "" {
		return p.Message
	}
	return strings.ReplaceAll(p.Message, " "+p.Word, "")
}

// NewMap makes a map of entries.
func NewMap(entries ...Entry) *Node { return &Node{Kind: Map, Entries: entries} }

// NewList makes a list of items.
func NewList(items ...*Node) *Node { return &Node{Kind: List, Items: items} }

// Add puts an entry at the end of a map. The value is a tree, or what [Of] takes.
func (n *Node) Add(key string, value any) { n.Entries = append(n.Entries, Pair(key, value)) }

// Append puts an item at the end of a list. It is a tree, or what [Of] takes.
func (n *Node) Append(item any) { n.Items = append(n.Items, Of(item)) }

// Pair makes an entry of a map, of a tree or of what [Of] takes.
func Pair(key string, value any) Entry { return Entry{Key: key, Value: Of(value)} }

// Of makes a tree of what encoding/json decodes to, or of a list of texts, with keys in alphabetical order, or takes
// one as it is. A text stays text, even if it looks like a number or a boolean.
func Of(value any) *Node {
	switch value := value.(type) {
	case *Node:
		return value
	case nil:
		return &Node{Kind: Null}
	case map[string]any:
		n := NewMap()
		for _, key := range slices.Sorted(maps.Keys(value)) {
			n.Add(key, value[key])
		}
		return n
	case []any:
		return listOf(value)
	case []string:
		return listOf(value)
	case string:
		return &Node{Kind: Text, Text: value, Value: value}
	case bool:
		return &Node{Kind: Bool, Value: value}
	case float64:
		return &Node{Kind: Float, Value: value}
	default:
		return &Node{Kind: Int, Value: value}
	}
}

func listOf[T any](items []T) *Node {
	n := NewList()
	for _, item := range items {
		n.Append(item)
	}
	return n
}

// Plain is the tree as encoding/json decodes it, except for whole numbers: they are int64, or uint64 where that is too
// small.
func (n *Node) Plain() any {
	switch n.Kind {
	case Map:
		m := make(map[string]any, len(n.Entries))
		for _, e := range n.Entries {
			m[e.Key] = e.Value.Plain()
		}
		return m
	case List:
		l := make([]any, len(n.Items))
		for i, item := range n.Items {
			l[i] = item.Plain()
		}
		return l
	case Null, Broken:
		return nil
	}
	if number, ok := n.Value.(uint64); ok && number <= math.MaxInt64 {
		return int64(number)
	}
	return n.Value
}
