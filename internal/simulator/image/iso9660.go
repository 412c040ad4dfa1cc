package image

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// This file writes ISO 9660 file systems (ECMA-119) with the Rock Ridge names
// that keep "igninfo.json" from becoming "IGNINFO.JSO". Every date is the same,
// so equal files make equal images.

const sector = 2048

// recorded is the one date that the images know: 2026-01-01 00:00:00 UTC.
const (
	recordedShort = "\x7e\x01\x01\x00\x00\x00\x00"
	recordedLong  = "2026010100000000\x00"
	recordedNever = "0000000000000000\x00"
)

// isoFile is a file to be written, by its full path without a leading slash.
type isoFile struct {
	path string
	data *sparse
}

// isoNode is a file or directory on its way to the image.
type isoNode struct {
	name     string // Rock Ridge name
	id       string // primary name
	parent   *isoNode
	children []*isoNode // nil for files
	data     *sparse
	lba      uint32
	size     uint32
	number   uint16 // in the path table, from 1
}

func (n *isoNode) isDir() bool { return n.data == nil }

// isoImage is a written file system.
type isoImage struct {
	*sparse
	places map[string]int64 // where each file starts
}

// writeISO lays out the files behind one another and describes them. The boot
// entries name files among them.
func writeISO(volume string, files []isoFile, boot []bootEntry) (*isoImage, error) {
	root := &isoNode{children: []*isoNode{}}
	if len(boot) > 0 {
		files = append(slices.Clone(files), isoFile{path: catalogPath, data: zeros(sector)})
	}
	for _, f := range files {
		if err := root.add(f); err != nil {
			return nil, err
		}
	}
	dirs := root.order()
	next := uint32(19) // system area, three descriptors
	if len(boot) == 0 {
		next--
	}
	tableSize := pathTableSize(dirs)
	tableSectors := uint32((tableSize + sector - 1) / sector)
	little, big := next, next+tableSectors
	next += 2 * tableSectors
	for _, dir := range dirs {
		dir.lba, dir.size = next, dir.extent()
		next += dir.size / sector
	}
	image := &isoImage{sparse: &sparse{}, places: map[string]int64{}}
	leaves := root.leaves("")
	for _, f := range leaves {
		f.node.lba, f.node.size = next, uint32(f.node.data.size)
		image.places[f.path] = int64(next) * sector
		next += (f.node.size + sector - 1) / sector
	}
	image.put(16*sector, primaryDescriptor(volume, next, tableSize, little, big, root))
	if len(boot) > 0 {
		image.put(17*sector, bootRecord(uint32(image.places[catalogPath]/sector)))
	}
	image.put(int64(little-1)*sector, []byte("\xffCD001\x01"))
	image.put(int64(little)*sector, pathTable(dirs, binary.LittleEndian))
	image.put(int64(big)*sector, pathTable(dirs, binary.BigEndian))
	for _, dir := range dirs {
		image.put(int64(dir.lba)*sector, dir.records())
	}
	for _, f := range leaves {
		image.putAll(image.places[f.path], f.node.data)
	}
	if len(boot) > 0 {
		catalog, err := bootCatalog(boot, image.places, files)
		if err != nil {
			return nil, err
		}
		image.put(image.places[catalogPath], catalog)
	}
	image.size = int64(next) * sector
	return image, nil
}

// add hangs a file into the tree, with the directories above it.
func (n *isoNode) add(f isoFile) error {
	dir := n
	segments := strings.Split(f.path, "/")
	for i, name := range segments {
		last := i == len(segments)-1
		at := slices.IndexFunc(dir.children, func(c *isoNode) bool { return c.name == name })
		if at >= 0 && (last || !dir.children[at].isDir()) {
			return fmt.Errorf("laying out the image: %s is there twice", f.path)
		}
		if at >= 0 {
			dir = dir.children[at]
			continue
		}
		child := &isoNode{name: name, id: primaryName(name, !last), parent: dir}
		if last {
			child.data = f.data
		} else {
			child.children = []*isoNode{}
		}
		if slices.ContainsFunc(dir.children, func(c *isoNode) bool { return c.id == child.id }) {
			return fmt.Errorf("laying out the image: another file is called %s like %s", child.id, f.path)
		}
		dir.children = append(dir.children, child)
		dir = child
	}
	return nil
}

// primaryName is a name as ISO 9660 has it at level 1: eight and three capital
// letters, digits and underscores.
func primaryName(name string, dir bool) string {
	clean := func(text string, most int) string {
		text = strings.Map(func(r rune) rune {
			if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '_'
		}, strings.ToUpper(text))
		return text[:min(len(text), most)]
	}
	if dir {
		return clean(name, 8)
	}
	cut := strings.LastIndexByte(name, '.')
	if cut < 0 {
		return clean(name, 8) + ".;1"
	}
	return clean(name[:cut], 8) + "." + clean(name[cut+1:], 3) + ";1"
}

// order sorts every directory and lists them level by level, as the path table
// wants them.
func (n *isoNode) order() []*isoNode {
	dirs := []*isoNode{n}
	for i := 0; i < len(dirs); i++ {
		dirs[i].number = uint16(i + 1)
		slices.SortFunc(dirs[i].children, func(a, b *isoNode) int { return cmp.Compare(a.id, b.id) })
		for _, child := range dirs[i].children {
			if child.isDir() {
				dirs = append(dirs, child)
			}
		}
	}
	return dirs
}

type isoLeaf struct {
	path string
	node *isoNode
}

func (n *isoNode) leaves(prefix string) []isoLeaf {
	var all []isoLeaf
	for _, child := range n.children {
		if child.isDir() {
			all = append(all, child.leaves(prefix+child.name+"/")...)
			continue
		}
		all = append(all, isoLeaf{path: prefix + child.name, node: child})
	}
	return all
}

// extent is how many bytes the directory's records take, in whole sectors.
func (n *isoNode) extent() uint32 { return uint32(len(n.records())) }

// records are the directory's content: itself, its parent and its children. A
// record never crosses a sector's end.
func (n *isoNode) records() []byte {
	up := n.parent
	if up == nil {
		up = n
	}
	all := [][]byte{n.record("\x00", n.parent == nil), up.record("\x01", false)}
	for _, child := range n.children {
		all = append(all, child.record(child.id, false))
	}
	var out []byte
	for _, record := range all {
		if room := sector - len(out)%sector; len(record) > room {
			out = append(out, make([]byte, room)...)
		}
		out = append(out, record...)
	}
	if rest := len(out) % sector; rest > 0 {
		out = append(out, make([]byte, sector-rest)...)
	}
	return out
}

// record describes a node under a name (ECMA-119, 9.1). The first record of the
// root announces Rock Ridge.
func (n *isoNode) record(id string, announce bool) []byte {
	flags := byte(0)
	if n.isDir() {
		flags = 2
	}
	out := []byte{0, 0}
	out = append(out, both32(n.lba)...)
	out = append(out, both32(n.size)...)
	out = append(out, recordedShort...)
	out = append(out, flags, 0, 0)
	out = append(out, both16(1)...)
	out = append(out, byte(len(id)))
	out = append(out, id...)
	if len(out)%2 == 1 {
		out = append(out, 0)
	}
	out = append(out, n.rockRidge(id, announce)...)
	if len(out)%2 == 1 {
		out = append(out, 0)
	}
	out[0] = byte(len(out))
	return out
}

// rockRidge is the system use area of a record (SUSP 1.10, RRIP 1.09).
func (n *isoNode) rockRidge(id string, announce bool) []byte {
	var out []byte
	if announce {
		out = append(out, "SP\x07\x01\xbe\xef\x00"...)
	}
	mode, links := uint32(0o100444), uint32(1)
	if n.isDir() {
		mode, links = 0o040555, 2
	}
	out = append(out, "PX\x24\x01"...)
	for _, v := range []uint32{mode, links, 0, 0} {
		out = append(out, both32(v)...)
	}
	if id != "\x00" && id != "\x01" {
		out = append(out, 'N', 'M', byte(5+len(n.name)), 1, 0)
		out = append(out, n.name...)
	}
	if announce {
		const extension = "RRIP_1991A"
		out = append(out, 'E', 'R', byte(8+len(extension)), 1, byte(len(extension)), 0, 0, 1)
		out = append(out, extension...)
	}
	return out
}

func both32(v uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, v), v)
}

func both16(v uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, v), v)
}
