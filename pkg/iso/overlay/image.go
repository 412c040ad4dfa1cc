// Package overlay is content that is made of pieces of other content: a large base file that is not copied, with a few
// of its bytes replaced.
//
// An Image is a list of extents. Each extent says where its bytes come from: a
// range of a base, memory, or nothing but zeros. From that one list an image
// can be read at any place, written to a file (sharing the base's blocks where
// the filesystem can), served over HTTP (by sendfile where the system can),
// and digested. The package knows nothing of what the bytes mean.
package overlay

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"sort"
)

// Kind says where the bytes of an extent come from.
type Kind uint8

// The kinds of extents.
const (
	// Base bytes are read from another source each time that they are wanted.
	Base Kind = iota
	// Memory bytes are held by the image.
	Memory
	// Zero bytes are zeros that are stored nowhere.
	Zero
)

func (k Kind) String() string {
	names := map[Kind]string{Base: "base", Memory: "memory", Zero: "zero"}
	return cmp.Or(names[k], fmt.Sprintf("kind %d", uint8(k)))
}

// Extent is one piece of an image, as Extents returns it.
type Extent struct {
	Offset int64 // where it starts in the image, in bytes
	Length int64 // how long it is, in bytes; never zero
	Kind   Kind
	// SourceOffset is where a Base extent starts in its source, zero for others.
	SourceOffset int64
}

// Image is content in extents, which follow each other without gaps and cover
// all of it. Any number of goroutines may read an image at once. Changing it is
// for one goroutine alone, before it is handed to others; Clone makes a copy
// that can be changed again.
//
// The methods that change an image panic where a slice would: negative offsets
// or lengths, a range that ends beyond 2^63-1, and, where a method says so, a
// range beyond the end.
type Image struct {
	size   int64
	pieces []piece
	base   *source // the first that the image was made from, which Tag's caller names; nil until then
}

type piece struct {
	off, n int64
	kind   Kind
	src    *source // of a Base piece
	srcOff int64   // in src
	mem    []byte  // of a Memory piece; n bytes
}

func (p piece) end() int64 { return p.off + p.n }

// cut returns the part of p that lies in [from, to), which must be within p.
func (p piece) cut(from, to int64) piece {
	skip := from - p.off
	p.off, p.n = from, to-from
	switch p.kind {
	case Base:
		p.srcOff += skip
	case Memory:
		p.mem = p.mem[skip : skip+p.n : skip+p.n]
	}
	return p
}

// New returns an image of the first size bytes of base. It reads nothing yet: a
// shorter base is an io.ErrUnexpectedEOF where it is read. An *os.File is sent
// and copied by the kernel; an *Image lends its extents. The caller closes the
// base, after the last use of the image.
func New(base io.ReaderAt, size int64) *Image {
	m := &Image{}
	m.OverlayFrom(0, base, 0, size)
	return m
}

// Bytes returns an image of data, which is kept and must not change any more.
func Bytes(data []byte) *Image {
	m := &Image{}
	m.Overlay(0, data)
	return m
}

// Size is how many bytes the image has.
func (m *Image) Size() int64 { return m.size }

// Extents lists the pieces of the image in order.
func (m *Image) Extents() []Extent {
	list := make([]Extent, len(m.pieces))
	for i, p := range m.pieces {
		list[i] = Extent{Offset: p.off, Length: p.n, Kind: p.kind, SourceOffset: p.srcOff}
	}
	return list
}

// Clone returns an image of the same bytes that can be changed on its own.
func (m *Image) Clone() *Image {
	return &Image{size: m.size, pieces: append([]piece(nil), m.pieces...), base: m.base}
}

// at is the index of the piece that holds the byte at off, or of the end.
func (m *Image) at(off int64) int {
	return sort.Search(len(m.pieces), func(i int) bool { return m.pieces[i].end() > off })
}

// within calls do for each part of [off, off+n), which must lie in the image,
// until one fails.
func (m *Image) within(off, n int64, do func(piece) error) error {
	for i := m.at(off); n > 0; i++ {
		p := m.pieces[i]
		part := p.cut(off, min(p.end(), off+n))
		if err := do(part); err != nil {
			return err
		}
		off, n = part.end(), n-part.n
	}
	return nil
}

// mustBeRange panics unless [off, off+n) is a range that a file could have.
func mustBeRange(what string, off, n int64) {
	if off < 0 || n < 0 || off > math.MaxInt64-n {
		panic(fmt.Sprintf("extent: %s of %d bytes at offset %d", what, n, off))
	}
}

// Overlay replaces the bytes at off by data, which is kept and must not change
// any more. Beyond the end the image grows, with zeros in between.
func (m *Image) Overlay(off int64, data []byte) {
	n := int64(len(data))
	mustBeRange("overlay", off, n)
	m.put(off, n, []piece{{off: off, n: n, kind: Memory, mem: data[:n:n]}})
}

// OverlayFrom replaces the n bytes at off by those of src at srcOff, which are
// read when they are wanted. Beyond the end the image grows, with zeros in
// between. Where src is an image, its extents are taken over as they are now;
// the range must lie in it.
func (m *Image) OverlayFrom(off int64, src io.ReaderAt, srcOff, n int64) {
	mustBeRange("overlay", off, n)
	mustBeRange("source range", srcOff, n)
	if from, ok := src.(*Image); ok {
		part := from.Slice(srcOff, n)
		for i := range part.pieces {
			part.pieces[i].off += off
		}
		m.put(off, n, part.pieces)
		m.base = cmp.Or(m.base, from.base)
		return
	}
	s := m.source(src)
	m.base = cmp.Or(m.base, s)
	m.put(off, n, []piece{{off: off, n: n, kind: Base, src: s, srcOff: srcOff}})
}

// source returns what the image knows r as, so that pieces of one file stay
// pieces of one file.
func (m *Image) source(r io.ReaderAt) *source {
	for _, p := range m.pieces {
		if p.kind == Base && p.src.reads(r) {
			return p.src
		}
	}
	if m.base != nil && m.base.reads(r) {
		return m.base
	}
	return newSource(r)
}

// Zero replaces the n bytes at off by zeros. Beyond the end the image grows.
func (m *Image) Zero(off, n int64) {
	mustBeRange("zero", off, n)
	m.put(off, n, []piece{{off: off, n: n, kind: Zero}})
}

// Truncate makes the image size bytes long: it cuts off what is beyond, or adds zeros.
func (m *Image) Truncate(size int64) {
	mustBeRange("truncate", size, 0)
	if size > m.size {
		m.Zero(m.size, size-m.size)
		return
	}
	cut := m.Slice(0, size)
	m.size, m.pieces = cut.size, cut.pieces
}

// Slice returns an image of the n bytes at off, which must lie in m.
func (m *Image) Slice(off, n int64) *Image {
	mustBeRange("slice", off, n)
	if off+n > m.size {
		panic(fmt.Sprintf("extent: slice of %d bytes at offset %d of an image of %d bytes", n, off, m.size))
	}
	part := &Image{size: n, base: m.base}
	for i := m.at(off); i < len(m.pieces) && m.pieces[i].off < off+n; i++ {
		p := m.pieces[i]
		p = p.cut(max(p.off, off), min(p.end(), off+n))
		p.off -= off
		part.pieces = append(part.pieces, p)
	}
	return part
}

// put makes [off, off+n) consist of the given pieces, which fill it.
func (m *Image) put(off, n int64, with []piece) {
	if n == 0 {
		return
	}
	end := off + n
	var pieces list
	for _, p := range m.pieces {
		if p.off < off {
			pieces.add(p.cut(p.off, min(p.end(), off)))
		}
	}
	if off > m.size {
		pieces.add(piece{off: m.size, n: off - m.size, kind: Zero})
	}
	for _, p := range with {
		pieces.add(p)
	}
	for _, p := range m.pieces[m.at(end):] {
		pieces.add(p.cut(max(p.off, end), p.end()))
	}
	m.pieces, m.size = pieces, max(m.size, end)
}

type list []piece

// add puts p behind the others, as part of the last one where it continues it.
func (l *list) add(p piece) {
	if len(*l) > 0 {
		last := &(*l)[len(*l)-1]
		continues := last.kind == p.kind &&
			(p.kind == Zero || p.kind == Base && last.src == p.src && last.srcOff+last.n == p.srcOff)
		if continues {
			last.n += p.n
			return
		}
	}
	*l = append(*l, p)
}
