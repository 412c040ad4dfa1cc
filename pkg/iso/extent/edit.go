package extent

import (
	"fmt"
	"io"
)

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
		m.overlayImage(off, from, srcOff, n)
		return
	}
	s := m.source(src)
	if m.base == nil {
		m.base = s
	}
	m.put(off, n, []piece{{off: off, n: n, kind: Base, src: s, srcOff: srcOff}})
}

// overlayImage replaces the n bytes at off by the extents of from at srcOff.
func (m *Image) overlayImage(off int64, from *Image, srcOff, n int64) {
	part := from.Slice(srcOff, n)
	for i := range part.pieces {
		part.pieces[i].off += off
	}
	m.put(off, n, part.pieces)
	if m.base == nil {
		m.base = from.base
	}
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

// list is pieces that follow each other.
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
