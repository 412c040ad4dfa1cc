package app

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// How long a server may leave requests unanswered before that is reported, at a terminal and elsewhere.
const (
	silentAtTerminal = 5 * time.Second
	silentElsewhere  = 30 * time.Second
)

// Silence is the report that a server does not answer, or that it answers again.
type Silence struct {
	Text  string
	Again bool
}

// silence notices that a server leaves requests unanswered. That an answer is an error, or that none can come, is
// reported elsewhere: requests that are tried again without an answer are one silence.
type silence struct {
	server string
	after  time.Duration
	tell   func(Silence)

	mu      sync.Mutex // held during a report, so that reports are in order
	waiting int
	timer   *time.Timer // runs while requests are unanswered
	told    bool
}

// silenceOf watches a server.
func (a *App) silenceOf(server string) *silence {
	s := &silence{server: server, after: silentElsewhere, tell: a.tellSilence}
	if a.IO.ErrTTY {
		s.after = silentAtTerminal
	}
	return s
}

// TellSilence passes silences to tell until undo is called; otherwise they are warnings.
func (a *App) TellSilence(tell func(Silence)) (undo func()) {
	a.hearing.Lock()
	defer a.hearing.Unlock()
	a.onSilence = tell
	return func() { a.TellSilence(nil) }
}

func (a *App) tellSilence(s Silence) {
	a.hearing.Lock()
	tell := a.onSilence
	a.hearing.Unlock()
	switch {
	case tell != nil:
		tell(s)
	case s.Again:
		a.Say("%s", s.Text)
	default:
		a.Warn("%s", s.Text)
	}
}

// over is a transport whose requests are watched.
func (s *silence) over(next http.RoundTripper) http.RoundTripper { return watched{s, next} }

type watched struct {
	*silence
	next http.RoundTripper
}

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	w.begin()
	answer, err := w.next.RoundTrip(r)
	w.end(err == nil, err != nil && r.Context().Err() == nil)
	return answer, err
}

func (s *silence) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting++
	if s.timer == nil {
		s.timer = time.AfterFunc(s.after, s.silent)
	}
}

// end records an answer, or that there can be none. A request that was given up leaves the silence as it is.
func (s *silence) end(answered, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	if (answered || failed) && s.timer != nil {
		s.timer.Stop()
		s.timer = nil
		if s.waiting > 0 {
			s.timer = time.AfterFunc(s.after, s.silent)
		}
	}
	again := answered && s.told
	s.told = s.told && !answered
	if again {
		s.tell(Silence{Text: s.server + " answers again", Again: true})
	}
}

func (s *silence) silent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.told && s.timer != nil
	s.told = s.told || first
	if first {
		s.tell(Silence{Text: fmt.Sprintf("%s has not answered for %s; still waiting", s.server, s.after)})
	}
}
