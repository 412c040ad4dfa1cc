package isowriter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// node is a directory or file of the tree that the image describes twice: by 8.3 names and by Joliet ones.
type node struct {
	name     string
	parent   *node
	children []*node
	file     *File // nil for a directory

	lba  uint32               // of a file
	dirs [treeCount]directory // of a directory
}

type directory struct {
	lba    uint32
	size   int // bytes of records
	number int // in the path table
}

const (
	primaryTree = iota
	jolietTree
	treeCount
)

// maxSection is the longest extent that one directory record can describe in whole sectors.
const maxSection = 1<<32 - SectorSize

func newTree(files []File) (*node, error) {
	root := &node{}
	root.parent = root
	for i := range files {
		if err := root.add(&files[i]); err != nil {
			return nil, err
		}
	}
	return root, nil
}

// add puts a file into the tree below n, with the directories above it.
func (n *node) add(f *File) error {
	at := n
	parts := strings.Split(f.Path, "/")
	for i, name := range parts {
		last := i == len(parts)-1
		c := at.child(name)
		if c != nil && (last || c.file != nil) {
			return fmt.Errorf("%s is there twice", f.Path)
		}
		if c == nil {
			c = &node{name: name, parent: at}
			if last {
				c.file = f
			}
			id := string(c.identifier(primaryTree))
			if slices.ContainsFunc(at.children, func(o *node) bool { return string(o.identifier(primaryTree)) == id }) {
				return fmt.Errorf("another file is called %s like %s", id, f.Path)
			}
			at.children = append(at.children, c)
		}
		at = c
	}
	return nil
}

func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// directories lists n and the directories below it, breadth first: the order of path tables.
func (n *node) directories(tree int) []*node {
	all := []*node{n}
	for i := 0; i < len(all); i++ {
		for _, c := range all[i].sorted(tree) {
			if c.file == nil {
				all = append(all, c)
			}
		}
	}
	return all
}

func (n *node) files() []*node {
	var all []*node
	for _, c := range n.sortedBy(func(c *node) string { return c.name }) {
		if c.file != nil {
			all = append(all, c)
		} else {
			all = append(all, c.files()...)
		}
	}
	return all
}

func (n *node) find(path string) *node {
	for _, f := range n.files() {
		if f.file.Path == path {
			return f
		}
	}
	return nil
}

func (n *node) sorted(tree int) []*node {
	return n.sortedBy(func(c *node) string { return string(c.identifier(tree)) })
}

func (n *node) sortedBy(key func(*node) string) []*node {
	children := slices.Clone(n.children)
	slices.SortFunc(children, func(a, b *node) int { return cmp.Compare(key(a), key(b)) })
	return children
}

// identifier is the name of n in a tree: 8.3 in upper case, or UCS-2; files carry the version ";1".
func (n *node) identifier(tree int) []byte {
	version := ";1"
	if n.file == nil {
		version = ""
	}
	if tree == jolietTree {
		return ucs2(n.name + version)
	}
	base, ext, dotted := strings.Cut(n.name, ".")
	id := plainName(base, 8)
	if dotted {
		id += "." + plainName(ext, 3)
	} else if n.file != nil {
		id += "."
	}
	return []byte(id + version)
}

func plainName(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, s)
	return s[:min(most, len(s))]
}

func ucs2(s string) []byte {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r>>8), byte(r))
	}
	return b
}
