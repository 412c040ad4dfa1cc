package progress

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// terminal is a screen that understands what Live writes, and nothing else.
type terminal struct {
	mu     sync.Mutex
	t      *testing.T
	cells  int
	rows   [][]rune
	at     int
	column int
	wraps  bool
}

func (s *terminal) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := []rune(string(data))
	for i := 0; i < len(text); i++ {
		switch r := text[i]; {
		case r == '\n':
			s.at++
			s.column = 0
		case r == '\r':
			s.column = 0
		case r == 0x1b:
			end := i + 2
			for text[end] < '@' || text[end] > '~' {
				end++
			}
			s.control(string(text[i+2:end]), text[end])
			i = end
		default:
			s.put(r)
		}
	}
	return len(data), nil
}

func (s *terminal) put(r rune) {
	if s.column >= s.cells {
		if !s.wraps {
			return
		}
		s.at, s.column = s.at+1, 0
	}
	row := s.row()
	for len(*row) <= s.column {
		*row = append(*row, ' ')
	}
	(*row)[s.column] = r
	s.column++
}

func (s *terminal) row() *[]rune {
	for len(s.rows) <= s.at {
		s.rows = append(s.rows, nil)
	}
	return &s.rows[s.at]
}

func (s *terminal) control(parameters string, final rune) {
	switch {
	case final == 'A':
		n, err := strconv.Atoi(parameters)
		if err != nil || n > s.at {
			s.t.Errorf("the cursor goes up by %q from row %d", parameters, s.at)
			return
		}
		s.at -= n
	case final == 'K':
		row := s.row()
		*row = (*row)[:min(s.column, len(*row))]
	case final == 'J':
		row := s.row()
		*row = (*row)[:min(s.column, len(*row))]
		s.rows = s.rows[:s.at+1]
	case final == 'm':
	case parameters == "?7" && (final == 'l' || final == 'h'):
		s.wraps = final == 'h'
	default:
		s.t.Errorf("the terminal does not know ESC[%s%c", parameters, final)
	}
}

func (s *terminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, row := range s.rows {
		lines = append(lines, strings.TrimRight(string(row), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// still is a clock that stands.
type still struct{ clock.Clock }

func (still) Now() time.Time { return noon() }

// never ends a sleep only with its context, so that tests draw by hand.
type never struct{ clock.Clock }

func (never) Sleep(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestLive(t *testing.T) {
	cells, rows := 80, 24
	screen := &terminal{t: t, cells: cells, wraps: true}
	sink := Live(t.Context(), Screen{
		W: screen, Size: func() (int, int) { return cells, rows }, Zone: time.UTC, Color: true,
		Clock: still{clock.Real()}, Wall: never{clock.Real()},
	})
	for _, e := range events() {
		e.View = picture()
		sink.Event(e)
		sink.(*live).tick()
	}
	golden(t, "live-80.txt", screen.text())

	t.Run("an interrupted picture is drawn over", func(t *testing.T) {
		before := screen.text()
		sink.(*live).tick()
		sink.(*live).tick()
		if got := strings.Count(screen.text(), "WAITS FOR"); got != 1 {
			t.Errorf("%d tables on the screen:\n%s", got, screen.text())
		}
		if strings.Count(screen.text(), "\n") != strings.Count(before, "\n") {
			t.Errorf("the table moved:\n%s", screen.text())
		}
	})

	t.Run("a wider terminal gets a wider table", func(t *testing.T) {
		cells, screen.cells = 160, 160
		sink.(*live).tick()
		if !strings.Contains(screen.text(), "booted the discovery image again instead of its disk") {
			t.Errorf("the table is still narrow:\n%s", screen.text())
		}
	})

	sink.Close()
	closed := screen.text()
	if !strings.Contains(closed, "● lab.example.com") {
		t.Errorf("the last table is not marked as such:\n%s", closed)
	}
	sink.Event(model.Event{Type: model.EventAction, Message: "too late"})
	sink.Close()
	if diff := cmp.Diff(closed, screen.text()); diff != "" {
		t.Errorf("something was drawn after Close: %s", diff)
	}
}

func TestLiveWithoutSize(t *testing.T) {
	screen := &terminal{t: t, cells: 80, wraps: true}
	sink := Live(t.Context(), Screen{W: screen, Zone: time.UTC, Clock: still{clock.Real()}, Wall: never{clock.Real()}})
	sink.Event(model.Event{Type: model.EventProgress, View: picture()})
	sink.Close()
	if !strings.Contains(screen.text(), "cp-0") {
		t.Errorf("nothing was drawn:\n%s", screen.text())
	}
}

// TestLiveEnd leaves to the command what its last words say, and keeps on the
// screen what they do not.
func TestLiveEnd(t *testing.T) {
	for words, kept := range map[string]bool{"stopped by signal": true, "install lab.example.com: no disk fits (cluster.yaml:3:1)": false} {
		screen := &terminal{t: t, cells: 80, wraps: true}
		sink := Live(t.Context(), Screen{W: screen, Zone: time.UTC, Clock: still{clock.Real()}, Wall: never{clock.Real()}})
		view, code := picture(), 6
		view.Plan.Blockers = []model.Blocker{{Message: "no disk fits"}}
		sink.Event(model.Event{Type: model.EventProgress, View: view})
		sink.Event(model.Event{Type: model.EventRun, ExitCode: &code, Message: words})
		sink.Close()
		if got := strings.Contains(screen.text(), "! no disk fits"); got != kept {
			t.Errorf("%s: kept is %v\n%s", words, got, screen.text())
		}
	}
}
