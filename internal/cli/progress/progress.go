// Package progress shows how an install goes. It is fed install.Event alone:
// as lines of JSON for programs, as a line a change for logs and pipes, or as a
// live table on a terminal.
package progress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/internal/model"
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

// step is how many percent the whole moves on between two lines about it.
const step = 10

// Plain writes a line a change, with the time of day in zone, and below it what
// to do, where there is something. Percentages are told every now and then, or
// every one of them.
func Plain(w io.Writer, zone *time.Location, every bool) Sink {
	return &plain{w: w, zone: zone, every: every, said: -step, quarters: map[string]string{}}
}

type plain struct {
	mu   sync.Mutex
	w    io.Writer
	zone *time.Location
	// every says that each step of a percentage is told.
	every bool
	said  int    // percent
	last  string // the last line: the same again says nothing
	next  string // its advice, which is not repeated below each line that has it
	// quarters is how far the stage of each host had come when it was last told.
	quarters map[string]string
}

func (p *plain) Event(e install.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := sentence(e)
	switch {
	case e.Type == model.EventProgress:
		text = p.percent(e)
	case e.Type == model.EventStage && !p.stage(e) && !p.every:
		return
	}
	if text == "" || text == p.last {
		return
	}
	p.last = text
	line := fmt.Sprintf("%s %s%s\n", e.Time.In(p.zone).Format(time.TimeOnly), mark(e.Severity), text)
	if e.Next != "" && e.Next != p.next {
		line += "         Next: " + firstLine(e.Next) + "\n"
	}
	p.next = e.Next
	// A reader that went away must not end the install.
	_, _ = io.WriteString(p.w, line)
}

// stage says whether a step of a stage is worth a line: its beginning, and each
// quarter of one that counts in percent.
func (p *plain) stage(e install.Event) bool {
	at := e.Stage
	if done, err := strconv.Atoi(strings.TrimSuffix(e.Message, "%")); err == nil {
		at += " " + strconv.Itoa(done/25)
	} else {
		at += " " + e.Message
	}
	changed := p.quarters[e.Host] != at
	p.quarters[e.Host] = at
	return changed
}

// percent is a line about the whole, every now and then.
func (p *plain) percent(e install.Event) string {
	if e.Percent == nil || *e.Percent <= 0 {
		return ""
	}
	// A run that went back (a reset) counts anew.
	if *e.Percent < p.said {
		p.said = -step
	}
	if *e.Percent-p.said < step && !p.every {
		return ""
	}
	p.said = *e.Percent - *e.Percent%step
	text := fmt.Sprintf("%d%% done", *e.Percent)
	if e.ETA != nil {
		text += ", about " + left(time.Duration(*e.ETA)*time.Second) + " left"
	}
	return text
}

func (p *plain) Close() {}

// left is a span of time that is only guessed.
func left(d time.Duration) string {
	minutes := int(d.Round(time.Minute).Minutes())
	switch {
	case minutes < 1:
		return "a minute"
	case minutes < 120:
		return fmt.Sprintf("%dm", minutes)
	default:
		return fmt.Sprintf("%dh%02dm", minutes/60, minutes%60)
	}
}

// Once keeps back from a person what ends the run, since the command's own last
// words say it: what was refused for good, and what nobody is waited for. Should
// those words be others, as after an interrupt, it is shown before them.
func Once(sink Sink) Sink { return &once{Sink: sink} }

type once struct {
	Sink
	held []install.Event
}

func (o *once) Event(e install.Event) {
	switch {
	case e.ExitCode != nil:
		o.held = slices.DeleteFunc(o.held, func(kept install.Event) bool { return strings.Contains(e.Message, kept.Message) })
		o.release()
	case e.Severity == model.SeverityError && (e.Type == model.EventAction || e.Type == model.EventWarning):
		o.held = append(o.held, e)
		return
	case e.State == "cured":
		o.release()
	}
	o.Sink.Event(e)
}

func (o *once) release() {
	for _, kept := range o.held {
		o.Sink.Event(kept)
	}
	o.held = nil
}

func (o *once) Close() {
	o.release()
	o.Sink.Close()
}
