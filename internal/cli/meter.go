package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/cli/progress"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
)

const (
	// meterPatience is how long a piece of work may take before anything is said
	// of it.
	meterPatience = time.Second
	// meterLive and meterPlain are the time between two pictures on a terminal, and
	// between two lines elsewhere.
	meterLive  = 200 * time.Millisecond
	meterPlain = 5 * time.Second
	// meterBar is the width of a bar, in characters.
	meterBar = 24
)

// meter tells on standard error how far a piece of work on bytes has come, once it
// has taken longer than a second.
type meter struct {
	*app
	what string
	live bool

	mu    sync.Mutex
	began time.Time
	last  time.Time // when something was shown; zero before

	troubled bool // it was told why nothing comes
}

// meter begins to measure; what says in words what is done.
func (a *app) meter(what string) *meter {
	live := a.globals.Progress == progressTTY || a.globals.Progress == progressAuto && a.io.Live(a.env) && a.globals.Verbose < 2
	return &meter{app: a, what: what, live: live, began: a.clock.Now()}
}

// show tells of done bytes of total, which is negative where it is not known.
func (m *meter) show(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	pause := meterPlain
	if m.live {
		pause = meterLive
	}
	if m.globals.Quiet || now.Sub(m.began) < meterPatience || !m.last.IsZero() && now.Sub(m.last) < pause {
		return
	}
	m.last = now
	switch {
	case m.globals.Progress == progressJSON:
		m.event(now, done, total)
	case m.live:
		fmt.Fprintf(m.io.Err, "\r\x1b[K%s", m.fit(meterText(m.what, done, total, true)))
	default:
		fmt.Fprintln(m.io.Err, meterText(m.what, done, total, false))
	}
}

// wait tells that nothing has come yet, once, where that goes on for longer than a
// second: a server that cannot be reached is asked several times. The function that
// it returns ends the waiting.
func (m *meter) wait(ctx context.Context) (stop func()) {
	waiting, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() {
		if m.clock.Sleep(waiting, meterPatience) == nil {
			m.idle()
		}
	})
	return func() {
		cancel()
		ended.Wait()
	}
}

func (m *meter) idle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.globals.Quiet || m.globals.Progress == progressJSON || !m.last.IsZero() {
		return
	}
	text := m.what + ": nothing has come yet"
	if m.live {
		m.last = m.clock.Now()
		fmt.Fprint(m.io.Err, "\r\x1b[K"+m.fit(text))
		return
	}
	fmt.Fprintln(m.io.Err, text)
}

// again tells, once, why nothing comes, where that is tried again.
func (m *meter) again(err error, _ time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.globals.Quiet || m.globals.Progress == progressJSON || m.troubled {
		return
	}
	m.troubled, m.last = true, m.clock.Now()
	text := escape.Sprintf("%s: %v; it is tried again", m.what, err)
	if m.live {
		fmt.Fprint(m.io.Err, "\r\x1b[K"+m.fit(text))
		return
	}
	fmt.Fprintln(m.io.Err, text)
}

func (m *meter) event(now time.Time, done, total int64) {
	event := install.Event{V: 1, Time: now, Type: install.EventProgress, Message: meterText(m.what, done, total, false)}
	if total > 0 {
		percent := percentOf(done, total)
		event.Percent = &percent
	}
	progress.JSON(m.io.Err).Event(event)
}

// fit cuts a line to the width of the terminal: one that wraps would not be
// overwritten.
func (m *meter) fit(line string) string {
	width := 80
	if m.io.Size != nil {
		if w, _ := m.io.Size(); w > 0 {
			width = w
		}
	}
	if runes := []rune(line); len(runes) >= width {
		return string(runes[:width-1])
	}
	return line
}

// end takes the bar away.
func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live && !m.last.IsZero() && m.globals.Progress != progressJSON {
		fmt.Fprint(m.io.Err, "\r\x1b[K")
	}
	m.last = time.Time{}
	m.began = m.clock.Now()
}

func meterText(what string, done, total int64, bar bool) string {
	if total <= 0 {
		return fmt.Sprintf("%s: %s", what, sizeText(done))
	}
	percent := percentOf(done, total)
	drawn := ""
	if bar {
		full := percent * meterBar / 100
		drawn = "[" + strings.Repeat("█", full) + strings.Repeat("░", meterBar-full) + "] "
	}
	return fmt.Sprintf("%s: %s%d%% of %s", what, drawn, percent, sizeText(total))
}

func percentOf(done, total int64) int {
	return int(min(100, max(0, float64(done)/float64(total)*100)))
}
