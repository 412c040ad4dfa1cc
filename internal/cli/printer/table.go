package printer

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oaictl/oaictl/internal/escape"
)

// Column is a column of a table. A wide column is shown for -o wide only.
type Column struct {
	Name  string
	Wide  bool
	Right bool // numbers
}

// Table is a table of texts, each row as long as there are columns.
type Table struct {
	Columns    []Column
	Rows       [][]string
	NoHeadings bool
	Empty      string // what is said in place of a table without rows
	// Least keeps rows that come later under those of before.
	Least []int
}

// Widths is how wide each column is written.
func (t Table) Widths() []int { return t.widths(t.Rows) }

const gap = "   "

func (t Table) write(w io.Writer, wide bool) error {
	if len(t.Rows) == 0 && t.Empty != "" {
		_, err := io.WriteString(w, t.Empty+"\n")
		return err
	}
	lines := make([][]string, 0, len(t.Rows)+1)
	if !t.NoHeadings {
		headings := make([]string, len(t.Columns))
		for i, column := range t.Columns {
			headings[i] = column.Name
		}
		lines = append(lines, headings)
	}
	lines = append(lines, t.Rows...)
	widths := t.widths(lines)
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(t.line(line, widths, wide))
		text.WriteByte('\n')
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// widths are no less than the headings', also where these are not shown.
func (t Table) widths(lines [][]string) []int {
	widths := make([]int, len(t.Columns))
	for i, column := range t.Columns {
		widths[i] = utf8.RuneCountInString(column.Name)
		if i < len(t.Least) {
			widths[i] = max(widths[i], t.Least[i])
		}
	}
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(escape.Word(cell)))
		}
	}
	return widths
}

func (t Table) line(cells []string, widths []int, wide bool) string {
	var text strings.Builder
	for i, cell := range cells {
		if t.Columns[i].Wide && !wide {
			continue
		}
		if text.Len() > 0 {
			text.WriteString(gap)
		}
		if cell = escape.Word(cell); cell == "" {
			cell = "-"
		}
		pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell)))
		if t.Columns[i].Right {
			text.WriteString(pad + cell)
		} else {
			text.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(text.String(), " ")
}

// Age is a span of time in the coarsest unit that says something: 42s, 7m, 3h20m, 2d4h.
func Age(d time.Duration) string {
	d = max(0, d)
	minutes, hours := int(d.Minutes()), int(d.Hours())
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case hours < 2:
		return fmt.Sprintf("%dm", minutes)
	case hours < 48:
		return fmt.Sprintf("%dh%02dm", hours, minutes%60)
	default:
		return fmt.Sprintf("%dd%dh", hours/24, hours%24)
	}
}

// Moment is how long ago on a terminal, RFC 3339 elsewhere, "" for none.
func Moment(at, now time.Time, terminal bool) string {
	switch {
	case at.IsZero():
		return ""
	case !terminal:
		return at.UTC().Format(time.RFC3339)
	case at.After(now):
		return "in " + Age(at.Sub(now))
	default:
		return Age(now.Sub(at)) + " ago"
	}
}
