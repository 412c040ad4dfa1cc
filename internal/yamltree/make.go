package yamltree

import (
	"maps"
	"math"
	"slices"
)

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

// Of makes a tree of what encoding/json would decode to, with the keys of maps in
// alphabetical order. A tree is itself; a text stays one, be it one that looks like
// something else.
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
		n := NewList()
		for _, item := range value {
			n.Append(item)
		}
		return n
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

// Plain is the tree as Go values, as encoding/json would decode it, with whole numbers
// kept whole: int64, or uint64 where that is too small.
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
