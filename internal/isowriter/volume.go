// Package isowriter writes live media for what plays the outside: the simulated
// image service, and the tests of pkg/iso. It writes ISO 9660 volumes with Rock
// Ridge and Joliet names that firmware can boot, and archives for initrds. It
// shares nothing with pkg/iso, whose reading it puts to the test.
//
// The bytes depend on what is given alone: the same files make the same volume, on
// every machine.
package isowriter

import (
	"fmt"
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

// layout is a volume whose every structure has its place.
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
