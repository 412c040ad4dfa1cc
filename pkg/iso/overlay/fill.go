package overlay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
)

const (
	// copyChunk is what is copied before the context is checked and progress reported.
	copyChunk = 32 << 20
	// holeSize is the shortest run of zeros that becomes a hole.
	holeSize = 64 << 10
)

func (m *Image) fill(ctx context.Context, out *os.File, progress func(done, total int64)) (Method, error) {
	f := filler{ctx: ctx, out: out, total: m.size, progress: progress, method: CopyFileRange, zeros: make([]byte, holeSize)}
	defer f.holes.close()
	if donor := m.donor(); donor != nil && clone(out, donor.file) == nil {
		info, err := out.Stat()
		if err != nil {
			return Reflink, err
		}
		f.cloned, f.clonedSize, f.method = donor, info.Size(), Reflink
	}
	if err := out.Truncate(m.size); err != nil {
		return f.method, err
	}
	copied := false
	for _, p := range m.pieces {
		copied = copied || p.kind == Base
		if err := f.piece(p); err != nil {
			return f.method, err
		}
	}
	if !copied {
		f.method = Copy
	}
	return f.method, nil
}

// donor is the file whose blocks the image had best share: the one in which more
// than half of the image's bytes lie at the same place. It is nil where none is.
func (m *Image) donor() *source {
	inPlace := map[*source]int64{}
	for _, p := range m.pieces {
		if p.kind == Base && p.src.file != nil && p.off == p.srcOff {
			inPlace[p.src] += p.n
		}
	}
	for src, n := range inPlace {
		if n > m.size/2 {
			return src
		}
	}
	return nil
}

type filler struct {
	ctx        context.Context
	out        *os.File
	cloned     *source // what the file shares its blocks with; else it is one hole
	clonedSize int64   // how much of it there was to share
	method     Method
	done       int64
	total      int64
	progress   func(done, total int64)
	holes      holeFinder
	buffer     []byte
	zeros      []byte // holeSize of them
}

// advance reports n more bytes that are done, and stops once the context is done.
func (f *filler) advance(n int64) error {
	f.done += n
	f.progress(f.done, f.total)
	if f.ctx.Err() != nil {
		return context.Cause(f.ctx)
	}
	return nil
}

func (f *filler) piece(p piece) error {
	switch {
	case p.kind == Zero:
		return f.zero(p)
	case p.kind == Memory:
		if err := f.write(p.mem, p.off); err != nil {
			return err
		}
		return f.advance(p.n)
	case p.src == f.cloned && p.off == p.srcOff && p.end() <= f.clonedSize:
		return f.advance(p.n)
	case p.src.file != nil:
		return f.file(p)
	}
	return f.copy(p)
}

// zero makes a piece zeros. A file that shares no blocks has them already.
func (f *filler) zero(p piece) error {
	if f.cloned == nil || punch(f.out, p.off, p.n) == nil {
		return f.advance(p.n)
	}
	for p.n > 0 {
		part := p.cut(p.off, p.off+min(p.n, holeSize))
		if _, err := f.out.WriteAt(f.zeros[:part.n], part.off); err != nil {
			return err
		}
		if err := f.advance(part.n); err != nil {
			return err
		}
		p = p.cut(part.end(), p.end())
	}
	return nil
}

// file copies a piece of a file, data by data, and leaves its holes out.
func (f *filler) file(p piece) error {
	for p.n > 0 {
		hole, data := f.holes.next(p.src, p.srcOff, p.n)
		if hole > 0 {
			if err := f.zero(piece{off: p.off, n: hole}); err != nil {
				return err
			}
			p = p.cut(p.off+hole, p.end())
		}
		if data > 0 {
			if err := f.data(p.cut(p.off, p.off+data)); err != nil {
				return err
			}
			p = p.cut(p.off+data, p.end())
		}
	}
	return nil
}

// data copies a piece of a file that has no holes.
func (f *filler) data(p piece) error {
	for f.method != Copy && p.n > 0 {
		n, err := kernelCopy(f.out, p.off, p.src.file, p.srcOff, min(p.n, copyChunk))
		if err != nil || n == 0 {
			// Two filesystems, or one that cannot, or the base's unexpected end:
			// reading says which, and in words.
			break
		}
		if err := f.advance(n); err != nil {
			return err
		}
		p = p.cut(p.off+n, p.end())
	}
	return f.copy(p)
}

// copy reads and writes a piece. Zeros become holes where the file is a hole.
func (f *filler) copy(p piece) error {
	if p.n == 0 {
		return nil
	}
	if f.method != Reflink {
		f.method = Copy
	}
	if f.buffer == nil {
		f.buffer = make([]byte, 1<<20)
	}
	for p.n > 0 {
		b := f.buffer[:min(p.n, int64(len(f.buffer)))]
		if err := p.src.readAt(b, p.srcOff); err != nil {
			return err
		}
		if err := f.write(b, p.off); err != nil {
			return err
		}
		if err := f.advance(int64(len(b))); err != nil {
			return err
		}
		p = p.cut(p.off+int64(len(b)), p.end())
	}
	return nil
}

// write writes b at off, without the zeros in it that are there already.
func (f *filler) write(b []byte, off int64) error {
	if f.cloned != nil {
		_, err := f.out.WriteAt(b, off)
		return err
	}
	for len(b) > 0 {
		block := b[:min(len(b), holeSize)]
		if !bytes.Equal(block, f.zeros[:len(block)]) {
			if _, err := f.out.WriteAt(block, off); err != nil {
				return err
			}
		}
		b, off = b[len(block):], off+int64(len(block))
	}
	return nil
}

// holeFinder knows where the holes of files are. It keeps the last file open.
type holeFinder struct {
	src  *source
	file *os.File // nil where src cannot be read by its descriptor
}

// next measures, from off on and for n bytes at most, the hole there and the
// data behind it. Where holes cannot be seen all is data.
func (h *holeFinder) next(src *source, off, n int64) (hole, data int64) {
	if h.src != src {
		h.close()
		h.src = src
		if file, err := reopen(src.file); err == nil {
			h.file = file
		}
	}
	if h.file == nil {
		return 0, n
	}
	from, to, err := nextData(h.file, off)
	switch {
	case errors.Is(err, io.EOF):
		return h.tail(off, n)
	case err != nil || from >= to:
		return 0, n
	}
	hole = min(from-off, n)
	return hole, min(to-from, n-hole)
}

// tail splits the n bytes at off behind the last data: up to the file's end they
// are a hole; beyond it they count as data, so that reading says what is wrong.
func (h *holeFinder) tail(off, n int64) (hole, data int64) {
	info, err := h.file.Stat()
	if err != nil {
		return 0, n
	}
	hole = min(max(info.Size()-off, 0), n)
	return hole, n - hole
}

func (h *holeFinder) close() {
	if h.file != nil {
		h.file.Close()
	}
	h.src, h.file = nil, nil
}
