// Package yamltree reads YAML that people write into a tree in which everything
// knows its place, so that whoever understands the tree can say of every mistake
// where it stands. It is bounded: no input makes it panic, recurse without end or
// grow beyond measure.
package yamltree

import "strings"

// Limits of an input. They are far above what a cluster of hundreds of hosts
// needs, and far below what would hurt.
const (
	// MaxSize is how many bytes are read where no other limit is set.
	MaxSize  = 1 << 20
	maxDepth = 100     // nested maps and lists
	maxNodes = 500_000 // after aliases are followed
)

// Place is where something stands in a file, counted from 1.
type Place struct {
	Line, Column int
}

// Kind is what a node is.
type Kind int

// The kinds of nodes. A broken one has been reported, and counts as there
// whatever it was to be.
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

// Node is a YAML value with anchors, aliases, tags and merge keys worked in.
// Aliases share nodes.
type Node struct {
	Kind Kind
	// At is where it stands: a map at its first key.
	At Place
	// Text of a scalar, as it is written but for quotes.
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
	At    Place
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

// Scalar says whether the node is one piece of text, a number or a truth value.
func (n *Node) Scalar() bool {
	switch n.Kind {
	case Bool, Int, Float, Text:
		return true
	}
	return false
}

// TooLarge says whether aliases make more of the node than should be walked
// through. The root of such a document has been reported.
func (n *Node) TooLarge() bool { return n.size > maxNodes }

// Problem is what is wrong with the YAML itself.
type Problem struct {
	At Place
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
