package isowriter

import (
	"cmp"
	"encoding/binary"
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

// Directory records, path tables and volume descriptors as ECMA-119 has them; Rock Ridge entries as IEEE P1282 does.

const (
	systemAreaSectors = 16

	flagDirectory   = 0x02
	flagMultiExtent = 0x80
)

// recordingDate is 2023-07-01 00:00:00 UTC as directory records spell it.
var recordingDate = [7]byte{123, 7, 1, 0, 0, 0, 0}

// encodeDirectory returns the records of a directory, whole sectors, and the Rock Ridge entries that did not fit into
// them, which lie in the sectors that follow.
func (l *layout) encodeDirectory(n *node, tree int) (records, continued []byte) {
	d := n.dirs[tree]
	e := &dirEncoder{continuedLBA: d.lba + uint32(sectorsOf(int64(d.size)))}
	rockRidge := tree == primaryTree && l.RockRidge
	entries := func(c *node, self, root bool) [][]byte {
		if !rockRidge {
			return nil
		}
		return rockRidgeEntries(c, self, root)
	}
	parent := n.parent.dirs[tree]
	e.add([]byte{0}, d.lba, int64(d.size), flagDirectory, entries(n, true, n.parent == n))
	e.add([]byte{1}, parent.lba, int64(parent.size), flagDirectory, entries(n.parent, true, false))
	for _, c := range n.sorted(tree) {
		id := c.identifier(tree)
		if c.file == nil {
			e.add(id, c.dirs[tree].lba, int64(c.dirs[tree].size), flagDirectory, entries(c, false, false))
			continue
		}
		lba, left := c.lba, c.file.Data.Size()
		for ; left > maxSection; left -= maxSection {
			e.add(id, lba, maxSection, flagMultiExtent, entries(c, false, false))
			lba += maxSection / SectorSize
		}
		e.add(id, lba, left, 0, entries(c, false, false))
	}
	return padded(e.records), padded(e.continued)
}

type dirEncoder struct {
	records, continued []byte
	continuedLBA       uint32
}

// add appends a record; one that would cross a sector starts in the next.
func (e *dirEncoder) add(id []byte, lba uint32, size int64, flags byte, entries [][]byte) {
	r := make([]byte, 33, 255)
	putBoth32(r[2:], lba)
	putBoth32(r[10:], uint32(size))
	copy(r[18:], recordingDate[:])
	r[25] = flags
	putBoth16(r[28:], 1)
	r[32] = byte(len(id))
	r = append(r, id...)
	if len(r)%2 == 1 {
		r = append(r, 0)
	}
	r = e.addEntries(r, entries)
	if len(r)%2 == 1 {
		r = append(r, 0)
	}
	r[0] = byte(len(r))
	if used := len(e.records) % SectorSize; used+len(r) > SectorSize {
		e.records = padded(e.records)
	}
	e.records = append(e.records, r...)
}

// addEntries appends Rock Ridge entries to a record, and those for which it has no room to the continuation area.
func (e *dirEncoder) addEntries(r []byte, entries [][]byte) []byte {
	const ceSize = 28
	for i, entry := range entries {
		if len(r)+len(entry)+ceSize <= 254 {
			r = append(r, entry...)
			continue
		}
		start := len(e.continued)
		for _, rest := range entries[i:] {
			e.continued = append(e.continued, rest...)
		}
		ce := make([]byte, ceSize)
		copy(ce, "CE\x1c\x01")
		putBoth32(ce[4:], e.continuedLBA)
		putBoth32(ce[12:], uint32(start))
		putBoth32(ce[20:], uint32(len(e.continued)-start))
		return append(r, ce...)
	}
	return r
}

// rockRidgeEntries are the entries of one record: of the directory itself ("." and ".."), or of a child by its name.
func rockRidgeEntries(n *node, self, root bool) [][]byte {
	var entries [][]byte
	if root {
		entries = append(entries, []byte("SP\x07\x01\xbe\xef\x00"))
	}
	px := make([]byte, 36)
	copy(px, "PX\x24\x01")
	mode, links := uint32(0o100444), uint32(1)
	if n.file == nil {
		mode, links = 0o040555, 2
	}
	putBoth32(px[4:], mode)
	putBoth32(px[12:], links)
	entries = append(entries, px)
	if !self {
		nm := append([]byte{'N', 'M', byte(5 + len(n.name)), 1, 0}, n.name...)
		entries = append(entries, nm)
	}
	if root {
		const id, text = "RRIP_1991A", "THE ROCK RIDGE INTERCHANGE PROTOCOL PROVIDES SUPPORT FOR POSIX FILE SYSTEM SEMANTICS. " +
			"PLEASE CONTACT DISC PUBLISHER FOR SPECIFICATION SOURCE."
		er := []byte{'E', 'R', byte(8 + len(id) + len(text)), 1, byte(len(id)), byte(len(text)), 0, 1}
		entries = append(entries, append(append(er, id...), text...))
	}
	return entries
}

// pathTable lists the directories of a tree with the number of their parents.
func (l *layout) pathTable(tree int, bigEndian bool) []byte {
	var order binary.AppendByteOrder = binary.LittleEndian
	if bigEndian {
		order = binary.BigEndian
	}
	var b []byte
	for _, dir := range l.root.directories(tree) {
		id := dir.identifier(tree)
		if dir.parent == dir {
			id = []byte{0}
		}
		b = append(b, byte(len(id)), 0)
		b = order.AppendUint32(b, dir.dirs[tree].lba)
		b = order.AppendUint16(b, uint16(dir.parent.dirs[tree].number))
		b = append(b, id...)
		if len(id)%2 == 1 {
			b = append(b, 0)
		}
	}
	return b
}

func padded(b []byte) []byte {
	return append(b, make([]byte, alignUp(int64(len(b)), SectorSize)-int64(len(b)))...)
}

func putBoth16(b []byte, v uint16) {
	binary.LittleEndian.PutUint16(b, v)
	binary.BigEndian.PutUint16(b[2:], v)
}

func putBoth32(b []byte, v uint32) {
	binary.LittleEndian.PutUint32(b, v)
	binary.BigEndian.PutUint32(b[4:], v)
}
