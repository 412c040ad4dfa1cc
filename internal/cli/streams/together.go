package streams

import (
	"io"
	"sync"
)

// Together is a writer that several parts of a program may write to at the same
// time: one text is written after another, each of them whole.
func Together(w io.Writer) io.Writer { return &together{w: w} }

type together struct {
	mu sync.Mutex
	w  io.Writer
}

func (t *together) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.w.Write(text)
}
