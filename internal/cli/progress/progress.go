// Package progress shows how an install goes. It is fed model.Event alone:
// as lines of JSON for programs, as a line a change for logs and pipes, or as a
// live table on a terminal.
package progress

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Sink shows events, which come one after the other, and none after Close.
type Sink interface {
	Event(model.Event)
	// Close leaves the output in a state in which others may write to it.
	Close()
}

// None shows nothing.
func None() Sink { return none{} }

type none struct{}

func (none) Event(model.Event) {}
func (none) Close()            {}

// JSON writes each event on a line of its own, as docs/event.schema.json says.
func JSON(w io.Writer) Sink {
	return &jsonLines{w: w}
}

type jsonLines struct {
	mu sync.Mutex
	w  io.Writer
}

func (j *jsonLines) Event(e model.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if line, err := printer.Encode(e, ""); err == nil {
		// A reader that went away must not end the install.
		_, _ = j.w.Write(line)
	}
}

func (j *jsonLines) Close() {}

const step = 10

// Plain writes a line a change, with the time of day and the advice. Percentages are shown
// now and then, or every one of them.
func Plain(w io.Writer, zone *time.Location, every bool) Sink {
	return &plain{w: w, zone: zone, every: every, said: -step, quarters: map[string]string{}}
}

type plain struct {
	mu    sync.Mutex
	w     io.Writer
	zone  *time.Location
	every bool
	said  int    // percent
	last  string // the last line: the same again says nothing
	next  string // its advice, which is not repeated below each line that has it
	// quarters is how far the stage of each host had come when it was last reported.
	quarters map[string]string
	began    time.Time // the first look
	part     []string  // hosts that were part of the cluster by then, and are not reported yet
}

func (p *plain) Event(e model.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isOld(e) {
		return
	}
	p.tellPart(e.Time)
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
	next := e.Next.String()
	if next != "" && next != p.next {
		line += "         Next: " + firstLine(next) + "\n"
	}
	p.next = next
	// A reader that went away must not end the install.
	_, _ = io.WriteString(p.w, line)
}

// stage is true at the beginning of a stage, and at each quarter of one with a percentage.
func (p *plain) stage(e model.Event) bool {
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

func (p *plain) percent(e model.Event) string {
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

// isOld reports whether an event of the first look only says that a host was part of the cluster by then.
func (p *plain) isOld(e model.Event) bool {
	if p.began.IsZero() {
		p.began = e.Time
	}
	joined := e.State == string(model.HostInstalled) || e.State == string(model.HostAdded)
	if p.every || !joined || !e.Time.Equal(p.began) {
		return false
	}
	switch e.Type {
	case model.EventHost:
		p.part = append(p.part, escape.Word(e.Host))
		return true
	case model.EventStage:
		_ = p.stage(e)
		return true
	}
	return false
}

// tellPart names the hosts that were part of the cluster before, on one line.
func (p *plain) tellPart(at time.Time) {
	if len(p.part) == 0 {
		return
	}
	be := "are"
	if len(p.part) == 1 {
		be = "is"
	}
	text := fmt.Sprintf("%s %s part of the cluster already: %s", listtext.CountText(len(p.part), "host"), be, listtext.ListText(p.part))
	p.part = nil
	_, _ = fmt.Fprintf(p.w, "%s %s\n", at.In(p.zone).Format(time.TimeOnly), text)
}

func (p *plain) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tellPart(p.began)
}

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

// Once holds back errors that the command's own last words say again. Should those be
// others, as after an interrupt, they are shown before them.
func Once(sink Sink) Sink { return &once{Sink: sink} }

type once struct {
	Sink
	held []model.Event
}

func (o *once) Event(e model.Event) {
	switch {
	case e.ExitCode != nil:
		o.held = slices.DeleteFunc(o.held, func(kept model.Event) bool { return strings.Contains(e.Message, kept.Message) })
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
