//go:build linux

package controller

import (
	"slices"
	"sync"
)

// Tail keeps the end of a log in memory, for when the log of the pod cannot be read. The zero value keeps TailSize bytes.
type Tail struct {
	mu      sync.Mutex
	content []byte
}

// TailSize is how many bytes a Tail keeps at least.
const TailSize = 2 << 20

// Write implements io.Writer.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.content = append(t.content, p...)
	if len(t.content) > 2*TailSize {
		t.content = slices.Clone(t.content[len(t.content)-TailSize:])
	}
	return len(p), nil
}

// Bytes is a copy of what is kept.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.content)
}
