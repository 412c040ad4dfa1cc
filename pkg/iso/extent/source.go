package extent

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"sync"
)

// bufferSize is what is read at once where the kernel does not copy for us: big
// enough that the calls do not matter, small enough for hundreds of clients.
const bufferSize = 128 << 10

// source is where the bytes of Base pieces are. It is shared by all images that
// were made from each other.
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

// reads reports whether s is the source that reads from r.
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

// name is what errors call the source.
func (s *source) name() string {
	if s.file != nil {
		return s.file.Name()
	}
	return "the base"
}

// identity tells sources apart that Tag's caller gave no name to.
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
