package streams

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

// A server tells of each request from the goroutine that answers it: no line is
// lost, or torn by another.
func TestLocked(t *testing.T) {
	const parts, lines = 8, 200
	var text bytes.Buffer // which bears one writer
	w := Locked(&text)
	var all sync.WaitGroup
	for range parts {
		all.Go(func() {
			for range lines {
				if n, err := w.Write([]byte("a whole line\n")); n != len("a whole line\n") || err != nil {
					t.Errorf("%d, %v", n, err)
				}
			}
		})
	}
	all.Wait()
	if want := strings.Repeat("a whole line\n", parts*lines); text.String() != want {
		t.Errorf("%d bytes of %d, some of them torn", text.Len(), len(want))
	}
}
