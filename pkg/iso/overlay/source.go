package overlay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sync"
	"time"
)

// bufferSize is what is read at once where the kernel does not copy for us: big
// enough that the calls do not matter, small enough for hundreds of clients.
const bufferSize = 128 << 10

// source is where the bytes of Base pieces are, shared by images made from each other.
type source struct {
	reader  io.ReaderAt
	file    *os.File  // the same, where it is a file
	handles handles   // of file
	buffers sync.Pool // of *[]byte, bufferSize each
}

func newSource(r io.ReaderAt) *source {
	s := &source{reader: r}
	s.file, _ = r.(*os.File)
	s.handles.file = s.file
	s.buffers.New = func() any {
		b := make([]byte, bufferSize)
		return &b
	}
	return s
}

func (s *source) reads(r io.ReaderAt) bool {
	return reflect.ValueOf(s.reader).Comparable() && reflect.ValueOf(r).Comparable() && s.reader == r
}

// readAt fills p from off. Less than all of p is an error that names the place.
func (s *source) readAt(p []byte, off int64) error {
	n, err := s.reader.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading %d bytes of %s at offset %d: %w", len(p), s.name(), off, err)
}

func (s *source) name() string {
	if s.file != nil {
		return s.file.Name()
	}
	return "the base"
}

// identity identifies sources that Tag's caller gave no name to.
func (s *source) identity() (string, bool) {
	if s.file == nil {
		return "", false
	}
	info, err := s.file.Stat()
	if err != nil {
		return "", false
	}
	return fmt.Sprintf("%s %d %d", s.file.Name(), info.Size(), info.ModTime().UnixNano()), true
}

// How many handles of one file are kept for the next request, and for how long
// they may keep it open.
const (
	idleHandles = 16
	idleFor     = time.Second
)

// handles lends descriptors of one file, each with a position of its own, which
// sendfile needs. They are kept for a moment: opening and closing one costs as
// much as sending the 64 KiB that machines ask for at a time.
type handles struct {
	file *os.File

	mu      sync.Mutex
	idle    []*os.File
	closing bool // closeIdle is going to be called
}

// take returns a handle that no other user has.
func (h *handles) take() (*os.File, error) {
	h.mu.Lock()
	if last := len(h.idle) - 1; last >= 0 {
		defer h.mu.Unlock()
		file := h.idle[last]
		h.idle = h.idle[:last]
		return file, nil
	}
	h.mu.Unlock()
	return reopen(h.file)
}

func (h *handles) give(file *os.File) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.idle) == idleHandles {
		file.Close()
		return
	}
	h.idle = append(h.idle, file)
	if !h.closing {
		h.closing = true
		time.AfterFunc(idleFor, h.closeIdle)
	}
}

func (h *handles) closeIdle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, file := range h.idle {
		file.Close()
	}
	h.idle, h.closing = nil, false
}

// reopen opens the same file again, even where another has its name now.
func reopen(file *os.File) (*os.File, error) {
	if again, err := reopenDescriptor(file); err == nil {
		return again, nil
	}
	first, err := file.Stat()
	if err != nil {
		return nil, err
	}
	again, err := os.Open(file.Name())
	if err != nil {
		return nil, err
	}
	second, err := again.Stat()
	if err == nil && !os.SameFile(first, second) {
		err = fmt.Errorf("%s is not the file any more that was opened by that name", file.Name())
	}
	if err != nil {
		again.Close()
		return nil, err
	}
	return again, nil
}

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

// Reader returns a reader of the whole image, which io.Copy finds to be an io.WriterTo.
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

// Tag is a strong entity tag (RFC 9110, 8.8.3), quotes included, for the image's content. It is made of base, the
// caller's name for the content of the image's first source, which is not read, of where the extents lie in it, and of
// the bytes in memory. Further files are identified by name, size and time of change; further sources of other kinds
// are read.
func (m *Image) Tag(base string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "extent 1\n%d %s\n", len(base), base)
	for _, p := range m.pieces {
		fmt.Fprintf(sum, "%s %d %d\n", p.kind, p.n, p.srcOff)
		switch {
		case p.kind == Memory:
			sum.Write(p.mem)
		case p.kind == Base && p.src != m.base:
			if id, ok := p.src.identity(); ok {
				fmt.Fprintf(sum, "file %s\n", id)
			} else if _, err := m.WriteRange(sum, p.off, p.n); err != nil {
				fmt.Fprintf(sum, "unreadable: %v\n", err)
			}
		}
	}
	return `"` + hex.EncodeToString(sum.Sum(nil)[:16]) + `"`
}
