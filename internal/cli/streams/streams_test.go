package streams

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

func TestLiveAndColor(t *testing.T) {
	tests := []struct {
		name        string
		tty         bool
		env         []string
		live, color bool
	}{
		{"a terminal", true, []string{"TERM=xterm"}, true, true},
		{"a pipe", false, []string{"TERM=xterm"}, false, false},
		{"a dumb terminal", true, []string{"TERM=dumb"}, false, false},
		{"no colour wanted", true, []string{"TERM=xterm", "NO_COLOR=1"}, true, false},
		{"NO_COLOR empty means nothing", true, []string{"TERM=xterm", "NO_COLOR="}, true, true},
		{"a CI system", true, []string{"TERM=xterm", "CI=true"}, false, true},
		{"CI switched off", true, []string{"TERM=xterm", "CI=false"}, true, true},
		{"the last entry wins", true, []string{"TERM=dumb", "TERM=xterm"}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, env := Streams{ErrTTY: tt.tty}, EnvOf(tt.env)
			check.Equal(t, s.Live(env), tt.live, "Live =")
			check.Equal(t, s.Color(env), tt.color, "Color =")
		})
	}
}

// A server reports each request from the goroutine that answers it: no line is lost, or torn by another.
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
