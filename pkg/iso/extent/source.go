package extent

import (
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

const (
	// idleHandles is how many handles of one file are kept for the next request.
	idleHandles = 16
	// idleFor is how long an unused handle may keep its file open.
	idleFor = time.Second
)

// handles lends descriptors of one file, each with a position of its own, which
// sendfile needs. Opening and closing one costs as much as sending the 64 KiB
// that machines ask for at a time, so that they are kept for a moment.
type handles struct {
	file *os.File

	mu      sync.Mutex
	idle    []*os.File
	closing bool // closeIdle is going to be called
}

// take returns a handle for one user alone.
func (h *handles) take() (*os.File, error) {
	if file := h.takeIdle(); file != nil {
		return file, nil
	}
	return reopen(h.file)
}

func (h *handles) takeIdle() *os.File {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := len(h.idle) - 1
	if last < 0 {
		return nil
	}
	file := h.idle[last]
	h.idle = h.idle[:last]
	return file
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

// reopen opens a file a second time. It is the very same file, even where
// another has taken its name since.
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
