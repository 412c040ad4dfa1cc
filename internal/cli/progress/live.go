package progress

import (
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Screen is the terminal that a live table is drawn on.
type Screen struct {
	W io.Writer
	// Size is asked before every picture, so that a resized window is noticed.
	Size  func() (width, height int)
	Color bool
	Zone  *time.Location
	// Clock is what the install lives by; ages and the ETA run on it.
	Clock clock.Clock
	// Wall paces the pictures: the machine's own clock.
	Wall clock.Clock
}

const (
	// refresh is often enough for a percentage to seem to move, and slow enough for slow lines.
	refresh                 = 200 * time.Millisecond
	plainWidth, plainHeight = 80, 24
)

// Live draws a table in place, and above it what stays. It leaves the cursor alone, so that
// a process that is killed leaves no terminal to be mended.
func Live(ctx context.Context, screen Screen) Sink {
	ctx, stop := context.WithCancel(ctx)
	l := &live{screen: screen, stop: stop, started: screen.Clock.Now()}
	l.done.Go(func() {
		for l.screen.Wall.Sleep(ctx, refresh) == nil {
			l.tick()
		}
	})
	return l
}

type live struct {
	screen  Screen
	stop    context.CancelFunc
	done    sync.WaitGroup
	started time.Time

	mu     sync.Mutex
	view   *model.View
	offset time.Duration // service's clock minus ours
	drawn  []string      // lines of the table on the screen
	cells  int           // the terminal's width when they were drawn
	turn   int
	closed bool
	last   string
	end    string // what the command will say last
}

func (l *live) Event(e model.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if e.View != nil {
		l.view = e.View
		if o := e.View.Observed; o != nil {
			l.offset = o.At.Sub(l.screen.Clock.Now())
		}
	}
	if e.ExitCode != nil {
		l.end = e.Message
	}
	if !keep(e) {
		return
	}
	text := sentence(e)
	if text == "" || text == l.last {
		return
	}
	l.last = text
	l.above(e, text)
}

// keep reports whether an event gets a line of its own: stages and states are in the table.
func keep(e model.Event) bool {
	switch e.Type {
	case model.EventStage, model.EventProgress:
		return false
	case model.EventHint:
		return e.Key != "run/quiet" // what is waited for, and for how long, is in the table
	case model.EventHost:
		return e.Severity == model.SeverityError || e.Severity == model.SeverityWarning
	}
	return true
}

func (l *live) above(e model.Event, text string) {
	paint := paint(l.screen.Color)
	style := stylePlain
	switch e.Severity {
	case model.SeverityError:
		style = styleBad
	case model.SeverityWarning:
		style = styleWarn
	}
	var out strings.Builder
	l.home(&out)
	out.WriteString(clearBelow)
	l.drawn = nil
	cells, _ := l.size()
	for i, line := range Wrap(mark(e.Severity)+text, cells-1-hanging) {
		begin := strings.Repeat(" ", hanging)
		if i == 0 {
			begin = paint.text(styleFaint, e.Time.In(l.screen.Zone).Format(time.TimeOnly)) + " "
		}
		out.WriteString(begin + paint.text(style, line) + "\n")
	}
	for _, line := range Wrap("Next: "+firstLine(e.Next.String()), cells-1-hanging) {
		if e.Next != "" {
			out.WriteString(strings.Repeat(" ", hanging) + paint.text(styleStrong, line) + "\n")
		}
	}
	l.draw(&out)
	l.write(&out)
}

func (l *live) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.view == nil {
		return
	}
	l.turn++
	l.redraw()
}

func (l *live) redraw() {
	var out strings.Builder
	l.home(&out)
	l.draw(&out)
	l.write(&out)
}

// home counts lines as a terminal that was made narrower has wrapped them.
func (l *live) home(out *strings.Builder) {
	if len(l.drawn) == 0 {
		return
	}
	rows := 0
	cells, _ := l.size()
	for _, line := range l.drawn {
		rows += 1 + max(0, width(bareText(line))-1)/max(cells, 1)
	}
	out.WriteString("\r\x1b[" + strconv.Itoa(rows) + "A")
	if cells != l.cells { // what was wrapped anew lies everywhere
		out.WriteString(clearBelow)
		l.drawn = nil
	}
}

// clearBelow and clearLine are written only where something is to be cleared: cleared cells
// count as text when a terminal wraps its lines anew.
const (
	clearBelow = "\x1b[J"
	clearLine  = "\x1b[K"
)

const hanging = len("15:04:05 ")

func (l *live) draw(out *strings.Builder) {
	if l.view == nil {
		return
	}
	cells, rows := l.size()
	now := l.screen.Clock.Now()
	current := frame{
		view: l.view, now: now.Add(l.offset), elapsed: now.Sub(l.started),
		// The last column stays free: some terminals wrap when it is written.
		width: cells - 1, height: rows, paint: paint(l.screen.Color), spin: spinner(l.turn), last: l.turn < 0, end: l.end,
	}
	before := l.drawn
	l.drawn, l.cells = current.lines(), cells
	// Without wrapping, a terminal that has become narrower since it was asked
	// cuts the lines off instead of tearing the table.
	out.WriteString("\x1b[?7l")
	for i, line := range l.drawn {
		out.WriteString(line)
		if i < len(before) && width(bareText(before[i])) > width(bareText(line)) {
			out.WriteString(clearLine)
		}
		out.WriteString("\n")
	}
	out.WriteString("\x1b[?7h")
	if len(before) > len(l.drawn) {
		out.WriteString(clearBelow)
	}
}

func (l *live) write(out *strings.Builder) {
	// A terminal that went away must not end the install.
	_, _ = io.WriteString(l.screen.W, out.String())
}

func (l *live) size() (cells, rows int) {
	if l.screen.Size != nil {
		cells, rows = l.screen.Size()
	}
	if cells <= 0 || rows <= 0 {
		return plainWidth, plainHeight
	}
	return max(cells, 20), max(rows, 6)
}

func (l *live) Close() {
	l.stop()
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.turn = -1
	l.redraw()
	l.closed, l.drawn = true, nil
}

func spinner(turn int) string {
	if turn < 0 {
		return "●"
	}
	return string([]rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[turn%10])
}

var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9]*m") })

func bareText(line string) string { return colours().ReplaceAllString(line, "") }
