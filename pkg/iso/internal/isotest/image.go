package isotest

import (
	"fmt"
	"io"
)

const (
	sectorSize = 2048
	mebibyte   = 1 << 20
)

// image is a fixture whose every structure has its place.
type image struct {
	layout  Layout
	root    *node
	catalog *node // the El Torito boot catalog; nil on ppc64le, which boots without

	descriptors int              // volume descriptors, the terminator included
	pathTables  [treeCount]int64 // sector of the little-endian one; the big-endian one follows
	sectors     int64            // the volume space
	size        int64            // of the file: the volume and what isohybrid pads it with
}

// plan gives every structure of an ISO with these files its place.
func plan(l Layout, files []file) (*image, error) {
	root, err := newTree(files)
	if err != nil {
		return nil, err
	}
	im := &image{layout: l, root: root, catalog: root.find(catalogPath(l))}
	im.descriptors = 2
	if im.catalog != nil {
		im.descriptors++
	}
	if l.Joliet {
		im.descriptors++
	}
	next := int64(systemAreaSectors + im.descriptors)
	for _, tree := range im.trees() {
		im.pathTables[tree] = next
		next += 2
		for i, dir := range root.directories(tree) {
			d := &dir.dirs[tree]
			d.lba, d.number = uint32(next), i+1
			records, continued := im.encodeDirectory(dir, tree)
			d.size = len(records)
			next += sectorsOf(int64(len(records))) + sectorsOf(int64(len(continued)))
		}
		if n := len(im.pathTable(tree, false)); n > sectorSize {
			return nil, fmt.Errorf("the path table takes %d bytes, more than one sector", n)
		}
	}
	for _, f := range root.files() {
		f.lba = uint32(next)
		next += sectorsOf(f.length())
	}
	im.sectors, im.size = next, next*sectorSize
	if l.Hybrid {
		im.size = alignUp(im.size+backupGPTSize, mebibyte)
	}
	im.fillBootFiles()
	return im, nil
}

// write stores everything that is not zero.
func (im *image) write(w io.WriterAt) error {
	out := &writer{w: w}
	for i, d := range im.volumeDescriptors() {
		out.at(int64(systemAreaSectors+i)*sectorSize, d)
	}
	for _, tree := range im.trees() {
		out.at(im.pathTables[tree]*sectorSize, im.pathTable(tree, false))
		out.at((im.pathTables[tree]+1)*sectorSize, im.pathTable(tree, true))
		for _, dir := range im.root.directories(tree) {
			records, continued := im.encodeDirectory(dir, tree)
			start := int64(dir.dirs[tree].lba) * sectorSize
			out.at(start, records)
			out.at(start+int64(len(records)), continued)
		}
	}
	for _, f := range im.root.files() {
		out.at(int64(f.lba)*sectorSize, f.file.data)
	}
	if im.layout.Hybrid {
		im.writePartitions(out)
	}
	if im.layout.LegacyHeaders {
		out.at(legacyHeadersOffset, im.legacyHeaders())
	}
	return out.err
}

func (im *image) trees() []int {
	if im.layout.Joliet {
		return []int{primaryTree, jolietTree}
	}
	return []int{primaryTree}
}

// writer remembers the first error of a series of writes.
type writer struct {
	w   io.WriterAt
	err error
}

func (o *writer) at(off int64, data []byte) {
	if o.err == nil && len(data) > 0 {
		_, o.err = o.w.WriteAt(data, off)
	}
}

// memory is an image that is kept in memory, its length fixed.
type memory []byte

func (m memory) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 || off+int64(len(p)) > int64(len(m)) {
		return 0, fmt.Errorf("%d bytes at %d do not fit into %d", len(p), off, len(m))
	}
	return copy(m[off:], p), nil
}

func sectorsOf(n int64) int64 { return (n + sectorSize - 1) / sectorSize }

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }
