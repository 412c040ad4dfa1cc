package extent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// ReadAt fills p with the image's bytes at off, as io.ReaderAt says.
func (m *Image) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("extent: reading at a negative offset")
	}
	if off >= m.size {
		return 0, io.EOF
	}
	want := min(int64(len(p)), m.size-off)
	var done int64
	err := m.within(off, want, func(part piece) error {
		into := p[done : done+part.n]
		switch part.kind {
		case Base:
			if err := part.src.readAt(into, part.srcOff); err != nil {
				return err
			}
		case Memory:
			copy(into, part.mem)
		case Zero:
			clear(into)
		}
		done += part.n
		return nil
	})
	if err == nil && want < int64(len(p)) {
		err = io.EOF
	}
	return int(done), err
}

// Reader returns a reader of the whole image with a position of its own. It is
// an io.WriterTo, which io.Copy makes use of.
func (m *Image) Reader() io.ReadSeeker {
	return &reader{SectionReader: io.NewSectionReader(m, 0, m.size), image: m}
}

type reader struct {
	*io.SectionReader
	image *Image
}

// WriteTo writes what is left to w.
func (r *reader) WriteTo(w io.Writer) (int64, error) {
	at, err := r.Seek(0, io.SeekCurrent)
	if err != nil || at >= r.image.size {
		return 0, err
	}
	n, err := r.image.WriteRange(w, at, r.image.size-at)
	if _, e := r.Seek(at+n, io.SeekStart); err == nil {
		err = e
	}
	return n, err
}

// Digest is the SHA-256 of the content. It reads all of it.
func (m *Image) Digest(ctx context.Context) ([32]byte, error) {
	hash := sha256.New()
	if _, err := m.WriteRange(contextWriter{ctx, hash}, 0, m.size); err != nil {
		return [32]byte{}, fmt.Errorf("digesting an image: %w", err)
	}
	return [32]byte(hash.Sum(nil)), nil
}

// contextWriter refuses to write once its context is done.
type contextWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c contextWriter) Write(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.w.Write(p)
}

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
