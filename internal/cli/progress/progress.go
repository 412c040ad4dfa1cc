// Package progress shows how an install goes. It is fed install.Event alone:
// as lines of JSON for programs, as a line a change for logs and pipes, or as a
// live table on a terminal.
package progress

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
)

// Sink shows events. Its methods are not called side by side. Nothing is shown
// after Close.
type Sink interface {
	Event(install.Event)
	// Close leaves the output in a state in which others may write to it.
	Close()
}

// None shows nothing.
func None() Sink { return none{} }

type none struct{}

func (none) Event(install.Event) {}
func (none) Close()              {}

// JSON writes each event on a line of its own, as docs/event.schema.json says.
func JSON(w io.Writer) Sink {
	return &jsonLines{w: w}
}

type jsonLines struct {
	mu sync.Mutex
	w  io.Writer
}

func (j *jsonLines) Event(e install.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(e) == nil {
		// A reader that went away must not end the install.
		_, _ = j.w.Write(escape.JSON(line.Bytes()))
	}
}

func (j *jsonLines) Close() {}
