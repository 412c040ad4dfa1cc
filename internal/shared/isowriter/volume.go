// Package isowriter writes live media for the simulated image service and the tests of pkg/iso: bootable ISO 9660
// volumes with Rock Ridge and Joliet names, and archives for initrds. It shares no code with pkg/iso, which it tests.
// The same files make the same bytes on every machine.
package isowriter

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"
)

// SectorSize is the unit in which a volume is divided.
const SectorSize = 2048

// SystemArea is the length of the bytes before the first descriptor, which are
// free for boot loaders.
const SystemArea = systemAreaSectors * SectorSize

// Volume says what an image contains.
type Volume struct {
	ID          string // at most 32 bytes
	Application string // who wrote it
	RockRidge   bool   // real names and modes beside the 8.3 ones
	Joliet      bool   // a second tree of UCS-2 names
	Files       []File
	// Boot are the files that firmware loads, the default first. Catalog is the
	// path of the file that lists them.
	Boot    []BootFile
	Catalog string
}

// File is a file by its full path, without a leading slash.
type File struct {
	Path string
	Data *Sparse
}

// Image is a volume that is written.
type Image struct {
	*Sparse
	places map[string]int64
}

// Place is where a file of the image starts; 0 where there is no such file.
func (im *Image) Place(path string) int64 { return im.places[path] }

// layout is a volume with a place for every structure.
type layout struct {
	Volume
	root        *node
	catalog     *node            // nil where nothing is booted
	descriptors int              // volume descriptors, the terminator included
	pathTables  [treeCount]int64 // sector of the little-endian one; the big-endian one follows
	sectors     int64
}

// Write gives every file its place, by path, and writes the volume.
func (v Volume) Write() (*Image, error) {
	l, err := v.plan()
	if err != nil {
		return nil, fmt.Errorf("laying out the volume %s: %w", v.ID, err)
	}
	im := &Image{Sparse: Zeros(l.sectors * SectorSize), places: map[string]int64{}}
	for i, d := range l.volumeDescriptors() {
		im.Put(int64(systemAreaSectors+i)*SectorSize, d)
	}
	for _, tree := range l.trees() {
		im.Put(l.pathTables[tree]*SectorSize, l.pathTable(tree, false))
		im.Put((l.pathTables[tree]+1)*SectorSize, l.pathTable(tree, true))
		for _, dir := range l.root.directories(tree) {
			records, continued := l.encodeDirectory(dir, tree)
			start := int64(dir.dirs[tree].lba) * SectorSize
			im.Put(start, records)
			im.Put(start+int64(len(records)), continued)
		}
	}
	for _, f := range l.root.files() {
		im.places[f.file.Path] = int64(f.lba) * SectorSize
		im.PutAll(im.places[f.file.Path], f.file.Data)
	}
	return im, nil
}

func (v Volume) plan() (*layout, error) {
	l := &layout{Volume: v, descriptors: 2}
	if len(v.Boot) > 0 {
		l.descriptors++
		l.Files = append(l.Files[:len(l.Files):len(l.Files)], File{Path: v.Catalog, Data: Zeros(SectorSize)})
	}
	if v.Joliet {
		l.descriptors++
	}
	var err error
	if l.root, err = newTree(l.Files); err != nil {
		return nil, err
	}
	next := int64(systemAreaSectors + l.descriptors)
	for _, tree := range l.trees() {
		l.pathTables[tree] = next
		next += 2
		for i, dir := range l.root.directories(tree) {
			d := &dir.dirs[tree]
			d.lba, d.number = uint32(next), i+1
			records, continued := l.encodeDirectory(dir, tree)
			d.size = len(records)
			next += sectorsOf(int64(len(records))) + sectorsOf(int64(len(continued)))
		}
		if n := len(l.pathTable(tree, false)); n > SectorSize {
			return nil, fmt.Errorf("the path table takes %d bytes, more than one sector", n)
		}
	}
	for _, f := range l.root.files() {
		f.lba = uint32(next)
		next += sectorsOf(f.file.Data.Size())
	}
	l.sectors = next
	return l, l.fillCatalog()
}

func (l *layout) trees() []int {
	if l.Joliet {
		return []int{primaryTree, jolietTree}
	}
	return []int{primaryTree}
}

func sectorsOf(n int64) int64 { return (n + SectorSize - 1) / SectorSize }

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }

const (
	descriptorBoot       = 0
	descriptorPrimary    = 1
	descriptorSupplement = 2
	descriptorTerminator = 255
)

func (l *layout) volumeDescriptors() [][]byte {
	descriptors := [][]byte{l.volumeDescriptor(primaryTree)}
	if l.catalog != nil {
		boot := descriptor(descriptorBoot)
		copy(boot[7:], "EL TORITO SPECIFICATION")
		binary.LittleEndian.PutUint32(boot[71:], l.catalog.lba)
		descriptors = append(descriptors, boot)
	}
	if l.Joliet {
		descriptors = append(descriptors, l.volumeDescriptor(jolietTree))
	}
	return append(descriptors, descriptor(descriptorTerminator))
}

func descriptor(kind byte) []byte {
	d := make([]byte, SectorSize)
	d[0], d[6] = kind, 1
	copy(d[1:], "CD001")
	return d
}

func (l *layout) volumeDescriptor(tree int) []byte {
	kind := byte(descriptorPrimary)
	text := func(s string, n int) []byte { return []byte(s + strings.Repeat(" ", n-len(s))) }
	if tree == jolietTree {
		kind = descriptorSupplement
		text = func(s string, n int) []byte {
			s = s[:min(len(s), n/2)]
			return append(ucs2(s+strings.Repeat(" ", n/2-len(s))), make([]byte, n%2)...)
		}
	}
	d := descriptor(kind)
	copy(d[8:], text("LINUX", 32))
	copy(d[40:], text(l.ID, 32))
	putBoth32(d[80:], uint32(l.sectors))
	if tree == jolietTree {
		copy(d[88:], "%/E")
	}
	putBoth16(d[120:], 1)
	putBoth16(d[124:], 1)
	putBoth16(d[128:], SectorSize)
	putBoth32(d[132:], uint32(len(l.pathTable(tree, false))))
	binary.LittleEndian.PutUint32(d[140:], uint32(l.pathTables[tree]))
	binary.BigEndian.PutUint32(d[148:], uint32(l.pathTables[tree]+1))

	root := l.root.dirs[tree]
	r := &dirEncoder{}
	r.add([]byte{0}, root.lba, int64(root.size), flagDirectory, nil)
	copy(d[156:], r.records)

	copy(d[190:], text(l.ID, 128))
	copy(d[318:], text("", 128))
	copy(d[446:], text("", 128))
	copy(d[574:], text(l.Application, 128))
	copy(d[702:], text("", 37))
	copy(d[739:], text("", 37))
	copy(d[776:], text("", 37))
	copy(d[813:], "2023070100000000\x00")
	copy(d[830:], "2023070100000000\x00")
	copy(d[847:], "0000000000000000\x00")
	copy(d[864:], "0000000000000000\x00")
	d[881] = 1
	return d
}

// The platforms of El Torito (Bootable CD-ROM Format Specification 1.0).
const (
	PlatformBIOS = 0x00
	PlatformUEFI = 0xEF
)

// BootFile is a file that firmware loads.
type BootFile struct {
	Path     string
	Platform byte
	Load     int // 512-byte blocks that firmware loads; 0 means the whole file
}

// fillCatalog lists what can be booted: the first entry is the default, each
// further one has a section of its own platform.
func (l *layout) fillCatalog() error {
	if len(l.Boot) == 0 {
		return nil
	}
	l.catalog = l.root.find(l.Catalog)
	c := make([]byte, 32, SectorSize)
	c[0], c[1], c[30], c[31] = 1, l.Boot[0].Platform, 0x55, 0xAA
	var sum uint16
	for i := 0; i < 32; i += 2 {
		sum += binary.LittleEndian.Uint16(c[i:])
	}
	binary.LittleEndian.PutUint16(c[28:], -sum)
	for i, b := range l.Boot {
		if i > 0 {
			header := make([]byte, 32)
			header[0], header[1], header[2] = 0x90, b.Platform, 1
			if i == len(l.Boot)-1 {
				header[0] = 0x91
			}
			c = append(c, header...)
		}
		entry, err := l.bootEntry(b)
		if err != nil {
			return err
		}
		c = append(c, entry...)
	}
	l.catalog.file.Data.Put(0, c[:SectorSize])
	return nil
}

func (l *layout) bootEntry(b BootFile) ([]byte, error) {
	n := l.root.find(b.Path)
	if n == nil {
		return nil, fmt.Errorf("%s is to be booted and is not there", b.Path)
	}
	load := cmp.Or(b.Load, int(min((n.file.Data.Size()+511)/512, 0xFFFF)))
	e := make([]byte, 32)
	e[0] = 0x88
	binary.LittleEndian.PutUint16(e[6:], uint16(load))
	binary.LittleEndian.PutUint32(e[8:], n.lba)
	return e, nil
}
