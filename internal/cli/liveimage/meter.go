package liveimage

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/progress"
	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const (
	// meterPatience is how long work may take before it is reported.
	meterPatience = time.Second
	// meterLive is between two pictures on a terminal, meterPlain between two lines elsewhere.
	meterLive  = 200 * time.Millisecond
	meterPlain = 5 * time.Second
	// meterBar is the width of a bar, in characters.
	meterBar = 24
)

// Meter shows how far work on bytes has come, once it takes longer than a second.
type Meter struct {
	*app.App
	what string
	live bool

	mu    sync.Mutex
	began time.Time
	last  time.Time // when something was shown; zero before

	troubled bool // it was reported why nothing comes
}

// NewMeter begins to measure; what says in words what is done.
func NewMeter(a *app.App, what string) *Meter {
	live := a.Globals.Progress == app.ProgressTTY || a.Globals.Progress == app.ProgressAuto && a.IO.Live(a.Env) && a.Globals.Verbose < 2
	return &Meter{App: a, what: what, live: live, began: a.Clock.Now()}
}

// Show reports done bytes of total, which is negative where it is not known.
func (m *Meter) Show(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.Clock.Now()
	pause := meterPlain
	if m.live {
		pause = meterLive
	}
	if m.Globals.Quiet || now.Sub(m.began) < meterPatience || !m.last.IsZero() && now.Sub(m.last) < pause {
		return
	}
	m.last = now
	if m.Globals.Progress != app.ProgressJSON {
		m.line(meterText(m.what, done, total, m.live))
		return
	}
	event := model.Event{V: 1, Time: now, Type: model.EventProgress, Message: meterText(m.what, done, total, false)}
	if total > 0 {
		percent := percentOf(done, total)
		event.Percent = &percent
	}
	progress.JSON(m.IO.Err).Event(event)
}

func (m *Meter) line(text string) {
	if !m.live {
		fmt.Fprintln(m.IO.Err, text)
		return
	}
	m.last = m.Clock.Now()
	fmt.Fprint(m.IO.Err, "\r\x1b[K"+m.fit(text))
}

// wait says once that nothing has come: an unreachable server is asked several times.
func (m *Meter) wait(ctx context.Context) (stop func()) {
	waiting, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() {
		if m.Clock.Sleep(waiting, meterPatience) == nil {
			m.idle()
		}
	})
	return func() {
		cancel()
		ended.Wait()
	}
}

func (m *Meter) idle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Globals.Quiet || m.Globals.Progress == app.ProgressJSON || !m.last.IsZero() {
		return
	}
	m.line(m.what + ": nothing has come yet")
}

func (m *Meter) again(err error, _ time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Globals.Quiet || m.Globals.Progress == app.ProgressJSON || m.troubled {
		return
	}
	m.troubled, m.last = true, m.Clock.Now()
	m.line(escape.Sprintf("%s: %v; it is tried again", m.what, err))
}

// fit cuts a line to the terminal: one that wraps would not be overwritten.
func (m *Meter) fit(line string) string {
	width := 80
	if m.IO.Size != nil {
		if w, _ := m.IO.Size(); w > 0 {
			width = w
		}
	}
	if runes := []rune(line); len(runes) >= width {
		return string(runes[:width-1])
	}
	return line
}

// End takes the bar away.
func (m *Meter) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live && !m.last.IsZero() && m.Globals.Progress != app.ProgressJSON {
		fmt.Fprint(m.IO.Err, "\r\x1b[K")
	}
	m.last = time.Time{}
	m.began = m.Clock.Now()
}

func meterText(what string, done, total int64, bar bool) string {
	if total <= 0 {
		return fmt.Sprintf("%s: %s", what, bytesize.Text(done))
	}
	percent := percentOf(done, total)
	drawn := ""
	if bar {
		full := percent * meterBar / 100
		drawn = "[" + strings.Repeat("█", full) + strings.Repeat("░", meterBar-full) + "] "
	}
	return fmt.Sprintf("%s: %s%d%% of %s", what, drawn, percent, bytesize.Text(total))
}

func percentOf(done, total int64) int {
	return int(min(100, max(0, float64(done)/float64(total)*100)))
}
