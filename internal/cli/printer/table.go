package printer

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Column is a column of a table. A wide column is shown for -o wide only.
type Column struct {
	Name  string
	Wide  bool
	Right bool // numbers
	// Cut may be cut where the table would be wider than a screen: -o wide has all of it.
	Cut bool
	// Prose is broken into lines where the table would be wider than a screen. It is the last column.
	Prose bool
}

const (
	screen   = 80 // columns that a table takes, except with -o wide
	leastCut = 10 // columns that a cut cell keeps
	// leastProse is how narrow prose may be beside the other cells. Where there is less room, it is written below them.
	leastProse = 24
	below      = "    "
)

// Table is a table of texts, each row as long as there are columns.
type Table struct {
	Columns    []Column
	Rows       [][]string
	NoHeadings bool
	Empty      string // printed in place of a table without rows
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
	prose := 0
	if !wide {
		widths, prose = t.fitted(widths)
	}
	var text strings.Builder
	for i, line := range lines {
		heading := i == 0 && !t.NoHeadings
		switch {
		case prose == 0:
			text.WriteString(t.line(line, widths, wide) + "\n")
		case prose < leastProse && heading:
			text.WriteString(t.line(line[:len(line)-1], widths, wide) + "\n")
		case prose < leastProse:
			text.WriteString(t.line(line[:len(line)-1], widths, wide) + "\n")
			if line[len(line)-1] == "" {
				continue
			}
			for _, part := range Wrap(escape.Word(line[len(line)-1]), screen-len(below), utf8.RuneCountInString) {
				text.WriteString(strings.TrimRight(below+part, " ") + "\n")
			}
		default:
			text.WriteString(t.proseLine(line, widths, prose))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// fitted are widths with which the table fits a screen, as far as its columns may be cut. prose is how wide the prose of
// the last column may be, 0 where it stays as it is.
func (t Table) fitted(widths []int) (fitted []int, prose int) {
	fitted = slices.Clone(widths)
	last := len(t.Columns) - 1
	for last >= 0 && t.Columns[last].Wide {
		last--
	}
	if last < 0 {
		return fitted, 0
	}
	taken, shown := 0, 0
	for i, column := range t.Columns {
		if !column.Wide {
			taken, shown = taken+fitted[i], shown+1
		}
	}
	taken += (shown - 1) * len(gap)
	if t.Columns[last].Prose {
		taken -= fitted[last]
	}
	for i, column := range t.Columns {
		if over := taken - screen; column.Cut && !column.Wide && over > 0 {
			cut := min(over, max(0, fitted[i]-leastCut))
			fitted[i], taken = fitted[i]-cut, taken-cut
		}
	}
	if !t.Columns[last].Prose || taken+fitted[last] <= screen {
		return fitted, 0
	}
	return fitted, max(1, screen-taken)
}

// proseLine is a row whose last cell goes on in further lines.
func (t Table) proseLine(cells []string, widths []int, prose int) string {
	last := len(cells) - 1
	before := t.line(cells[:last], widths, false)
	indent := 0
	for i := range cells[:last] {
		if !t.Columns[i].Wide {
			indent += widths[i] + len(gap)
		}
	}
	var text strings.Builder
	for i, part := range Wrap(escape.Word(cells[last]), prose, utf8.RuneCountInString) {
		start := strings.Repeat(" ", indent)
		if i == 0 {
			start = before + strings.Repeat(" ", max(0, indent-utf8.RuneCountInString(before)))
		}
		if part == "" {
			part = "-"
		}
		text.WriteString(start + part + "\n")
	}
	return text.String()
}

// Wrap breaks a text between its words into lines of at most so many columns, as width measures them.
func Wrap(text string, columns int, width func(string) int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case width(line)+1+width(word) > columns:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// cutTo is a cell in so many columns.
func cutTo(cell string, columns int) string {
	if runes := []rune(cell); len(runes) > columns {
		return string(runes[:columns-1]) + "…"
	}
	return cell
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
		if t.Columns[i].Cut {
			cell = cutTo(cell, widths[i])
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
