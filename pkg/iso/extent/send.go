package extent

import (
	"fmt"
	"io"
	"os"
)

const (
	// sendChunk is what is sent before it is told of: short enough that a slow
	// client's progress is seen, long enough to cost no speed.
	sendChunk = 1 << 20
	// sendfileFrom is the length from which on sendfile, which has to find its
	// position and flush what is buffered, is cheaper than copying the bytes.
	sendfileFrom = 16 << 10
	// zeroChunk is how many zeros are held to send any number of them: a segment of
	// the loopback interface, below which a client with a small window has to wait
	// for each of them.
	zeroChunk = 64 << 10
)

// WriteRange writes the n bytes at off to w and returns how many it wrote. What
// lies beyond the end is an io.ErrUnexpectedEOF. Bytes of files go to a w that
// is an io.ReaderFrom as files, which a network connection or an
// http.ResponseWriter on one sends without copying them.
func (m *Image) WriteRange(w io.Writer, off, n int64) (int64, error) {
	return m.send(w, off, n, func(int64, int64) {})
}

// send is WriteRange that tells of every stretch of the image once w took it.
func (m *Image) send(w io.Writer, off, n int64, sent func(off, n int64)) (int64, error) {
	if off < 0 || n < 0 || off > m.size {
		return 0, fmt.Errorf("extent: writing %d bytes at offset %d of an image of %d bytes", n, off, m.size)
	}
	s := sender{w: w, sent: sent}
	s.from, _ = w.(io.ReaderFrom)
	defer s.close()
	within := min(n, m.size-off)
	if err := m.within(off, within, s.piece); err != nil {
		return s.written, err
	}
	if within < n {
		return s.written, io.ErrUnexpectedEOF
	}
	return s.written, nil
}

type sender struct {
	w       io.Writer
	from    io.ReaderFrom // w, where it can take a file
	sent    func(off, n int64)
	written int64
	opened  []opened
	zeros   []byte // made when they are first wanted
}

// opened is a source's file with a position of its own.
type opened struct {
	src  *source
	file *os.File
}

func (s *sender) close() {
	for _, o := range s.opened {
		o.src.handles.give(o.file)
	}
}

func (s *sender) piece(p piece) error {
	switch p.kind {
	case Memory:
		return s.chunks(p, sendChunk, func(part piece) (int64, error) {
			n, err := s.w.Write(part.mem)
			return int64(n), err
		})
	case Zero:
		if s.zeros == nil {
			s.zeros = make([]byte, zeroChunk)
		}
		return s.chunks(p, zeroChunk, func(part piece) (int64, error) {
			n, err := s.w.Write(s.zeros[:part.n])
			return int64(n), err
		})
	}
	if s.from != nil && p.src.file != nil && p.n >= sendfileFrom {
		if file, err := s.open(p.src); err == nil {
			return s.file(p, file)
		}
	}
	return s.copy(p)
}

// file sends a piece of a file as a file.
func (s *sender) file(p piece, file *os.File) error {
	if _, err := file.Seek(p.srcOff, io.SeekStart); err != nil {
		return err
	}
	return s.chunks(p, sendChunk, func(part piece) (int64, error) {
		n, err := s.from.ReadFrom(&io.LimitedReader{R: file, N: part.n})
		if err == nil && n < part.n {
			err = fmt.Errorf("reading %s at offset %d: %w", p.src.name(), part.srcOff+n, io.ErrUnexpectedEOF)
		}
		return n, err
	})
}

func (s *sender) copy(p piece) error {
	buffer := p.src.buffers.Get().(*[]byte)
	defer p.src.buffers.Put(buffer)
	return s.chunks(p, bufferSize, func(part piece) (int64, error) {
		b := (*buffer)[:part.n]
		if err := p.src.readAt(b, part.srcOff); err != nil {
			return 0, err
		}
		n, err := s.w.Write(b)
		return int64(n), err
	})
}

// chunks sends a piece in parts of at most the given size, and tells of each.
func (s *sender) chunks(p piece, size int64, send func(part piece) (int64, error)) error {
	for at := p.off; at < p.end(); {
		part := p.cut(at, min(at+size, p.end()))
		n, err := send(part)
		s.written += n
		if n > 0 {
			s.sent(at, n)
		}
		if err != nil {
			return err
		}
		at = part.end()
	}
	return nil
}

// open returns the source's file with a position for this sender alone.
func (s *sender) open(src *source) (*os.File, error) {
	for _, o := range s.opened {
		if o.src == src {
			return o.file, nil
		}
	}
	file, err := src.handles.take()
	if err != nil {
		return nil, err
	}
	s.opened = append(s.opened, opened{src, file})
	return file, nil
}
