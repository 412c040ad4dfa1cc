package extent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// Tag is a strong entity tag (RFC 9110, 8.8.3), quotes included, for the
// image's content. It is made of the name that base gives to the content of
// the image's first source, where the extents lie in it, and the bytes in
// memory; the source is not read. Two images of one base have the same tag
// exactly if they were patched alike. Further files are told apart by name, size
// and time of change; further sources of other kinds are read.
func (m *Image) Tag(base string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "extent 1\n%d %s\n", len(base), base)
	for _, p := range m.pieces {
		fmt.Fprintf(sum, "%s %d %d\n", p.kind, p.n, p.srcOff)
		switch {
		case p.kind == Memory:
			sum.Write(p.mem)
		case p.kind == Base && p.src != m.base:
			m.tagFurther(sum, p)
		}
	}
	return `"` + hex.EncodeToString(sum.Sum(nil)[:16]) + `"`
}

// tagFurther adds what identifies the bytes of a source that base does not name.
func (m *Image) tagFurther(sum hash.Hash, p piece) {
	if id, ok := p.src.identity(); ok {
		fmt.Fprintf(sum, "file %s\n", id)
		return
	}
	if _, err := m.WriteRange(sum, p.off, p.n); err != nil {
		fmt.Fprintf(sum, "unreadable: %v\n", err)
	}
}

// diffGap is how many equal bytes may lie within one range of a difference, so
// that two archives do not differ in a thousand places.
const diffGap = 64

// Diff lists where two images differ, in order. What both take from the same
// place of the same source is equal without being read; all else is read and
// compared, and differs where it cannot be read. Where one image is longer, the
// rest of it is a difference.
func Diff(a, b *Image) []Range {
	var d differences
	shared := min(a.size, b.size)
	var left, right []byte
	for off := int64(0); off < shared; {
		p, q := a.pieces[a.at(off)], b.pieces[b.at(off)]
		end := min(p.end(), q.end())
		p, q = p.cut(off, end), q.cut(off, end)
		off = end
		if same(p, q) {
			continue
		}
		if left == nil {
			left, right = make([]byte, bufferSize), make([]byte, bufferSize)
		}
		d.compare(a, b, p.off, p.n, left, right)
	}
	if longer := max(a.size, b.size); longer > shared {
		d.add(shared, longer-shared)
	}
	return d
}

// same reports whether two pieces are of one origin.
func same(p, q piece) bool {
	if p.kind != q.kind {
		return false
	}
	switch p.kind {
	case Base:
		return p.srcOff == q.srcOff && (p.src == q.src || p.src.reads(q.src.reader))
	case Memory:
		return bytes.Equal(p.mem, q.mem)
	}
	return true
}

// differences are ranges in order.
type differences []Range

// compare reads [off, off+n) of both images and adds where they differ.
func (d *differences) compare(a, b io.ReaderAt, off, n int64, left, right []byte) {
	for n > 0 {
		size := min(n, int64(len(left)))
		l, r := left[:size], right[:size]
		_, errLeft := a.ReadAt(l, off)
		_, errRight := b.ReadAt(r, off)
		switch {
		case errLeft != nil || errRight != nil:
			d.add(off, size)
		case !bytes.Equal(l, r):
			for i := range l {
				if l[i] != r[i] {
					d.add(off+int64(i), 1)
				}
			}
		}
		off, n = off+size, n-size
	}
}

// add puts a range behind the others, as part of the last one where they are close.
func (d *differences) add(off, n int64) {
	if len(*d) > 0 {
		last := &(*d)[len(*d)-1]
		if off-(last.Offset+last.Length) < diffGap {
			last.Length = off + n - last.Offset
			return
		}
	}
	*d = append(*d, Range{off, n})
}
