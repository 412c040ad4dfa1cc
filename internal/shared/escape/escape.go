// Package escape is the one place that makes words from outside, of a service, a
// machine or an image, fit for a terminal, a log and YAML: what steers a terminal,
// turns the direction of text or ends a line is shown as an escape, never dropped.
package escape

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// steers reports whether a character is a control (C0, C1, DEL), formats unseen (bidirectional, zero width), separates
// lines, or is no character, which YAML refuses.
func steers(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f:
		return false
	case r&0xfffe == 0xfffe:
		return true
	default:
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}
}

// Needed reports whether something in a text steers a terminal, or ends a line.
func Needed(text string) bool { return needs(text, false) }

// Word is a text on one line, with escapes as Go and JSON write them.
func Word(text string) string { return escaped(text, false) }

// Lines is a text that may have several lines, and tabs in them.
func Lines(text string) string { return escaped(text, true) }

func escaped(text string, lines bool) string {
	if !needs(text, lines) {
		return text
	}
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&out, `\x%02x`, text[i]) // not UTF-8: a terminal may take it for C1
		case lines && (r == '\n' || r == '\t'), !steers(r):
			out.WriteRune(r)
		default:
			out.WriteString(escape(r))
		}
	}
	return out.String()
}

func needs(text string, lines bool) bool {
	if !utf8.ValidString(text) {
		return true
	}
	return strings.ContainsFunc(text, func(r rune) bool {
		return steers(r) && (!lines || r != '\n' && r != '\t')
	})
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Text is a text of our own for Sprintf that keeps its line breaks.
type Text string

// Sprintf is fmt.Sprintf with texts and errors among its arguments as words: it writes
// the lines of its format only.
func Sprintf(format string, args ...any) string {
	words := make([]any, len(args))
	for i, arg := range args {
		words[i] = wordOf(arg)
	}
	return fmt.Sprintf(format, words...)
}

// Fprintf writes what Sprintf makes.
func Fprintf(w io.Writer, format string, args ...any) {
	_, _ = w.Write([]byte(Sprintf(format, args...)))
}

func wordOf(arg any) any {
	switch arg := arg.(type) {
	case Text:
		return Lines(string(arg))
	case string:
		return Word(arg)
	case error:
		return Word(arg.Error())
	case fmt.Stringer:
		return Word(arg.String())
	}
	if value := reflect.ValueOf(arg); value.Kind() == reflect.String {
		return Word(value.String())
	}
	return arg
}

// Writer passes on what may have several lines. What is written at once is
// escaped for itself.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ to io.Writer }

func (w writer) Write(data []byte) (int, error) {
	if _, err := io.WriteString(w.to, Lines(string(data))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// JSON is the same JSON with escapes for what steers a terminal.
func JSON(document []byte) []byte {
	text := string(document)
	if !needs(text, true) {
		return document
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || !steers(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return []byte(out.String())
}
