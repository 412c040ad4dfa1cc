package progress

import (
	"strings"
	"unicode"
)

// width is how many cells a text takes on a terminal: two for East Asian wide
// characters, none for marks that combine with the one before.
func width(text string) int {
	cells := 0
	for _, r := range text {
		cells += cellsOf(r)
	}
	return cells
}

func cellsOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf && r != 0x303f, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	default:
		return 1
	}
}

// fit cuts a text to a number of cells, with an ellipsis where something is
// missing, and fills it up with blanks.
func fit(text string, cells int) string {
	if cells <= 0 {
		return ""
	}
	if have := width(text); have <= cells {
		return text + strings.Repeat(" ", cells-have)
	}
	var kept strings.Builder
	room := cells - 1
	for _, r := range text {
		if cellsOf(r) > room {
			break
		}
		room -= cellsOf(r)
		kept.WriteRune(r)
	}
	return kept.String() + "…" + strings.Repeat(" ", room)
}

// wrap breaks a text between its words into lines of at most so many cells. A
// word that is longer stays whole: it may be something to copy.
func wrap(text string, cells int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case width(line)+1+width(word) > cells:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
