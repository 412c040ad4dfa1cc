package streams

import (
	"io"
	"sync"
)

// Locked is a writer that several parts of a program may write to at the same
// time: one text is written after another, each of them whole.
func Locked(w io.Writer) io.Writer { return &locked{w: w} }

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (t *locked) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.w.Write(text)
}
