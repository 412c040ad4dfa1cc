package progress

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// checking is shown for insufficient, a status that every install has for a moment.
const checking = "Checking"

// sentence is an event in words, without time and advice; "" where a person learns nothing, as from the last event of a
// run, which the result repeats.
func sentence(e model.Event) string {
	text := firstLine(e.Message)
	switch e.Type {
	case model.EventRun:
		if e.ExitCode != nil {
			return ""
		}
		if e.State == string(model.HostAbsent) {
			return "there is no such cluster yet"
		}
		if e.State == string(model.ClusterBlocked) && e.Severity == model.SeverityInfo {
			return "the service checks the cluster"
		}
		if e.State == string(model.ClusterDraft) || e.State == string(model.ClusterDiscovering) {
			text = "" // that it needs input, or is not ready, is so before there are hosts
		}
		return joined(": ", "cluster is "+escape.Word(e.State), text)
	case model.EventHost:
		if e.State == string(model.HostAbsent) { // what is not there is in no state: the message says what is known of it
			return joined(": ", subject(e), text)
		}
		if e.State == string(model.HostBlocked) && e.Severity == model.SeverityInfo {
			return escape.Sprintf("the service checks %s", e.Host)
		}
		return joined(": ", escape.Sprintf("%s is %s", e.Host, e.State), text)
	case model.EventStage:
		by := ", "
		if strings.HasSuffix(text, "%") {
			by = " "
		}
		if text == e.Stage {
			text = ""
		}
		return joined(by, escape.Sprintf("%s: %s", e.Host, e.Stage), text)
	case model.EventProgress:
		return ""
	default:
		return joined(": ", subject(e), text)
	}
}

// withoutHosts cuts off hosts that are named already: "cp-0, cp-1: no NTP" is "no NTP".
func withoutHosts(message string, names map[string]bool) string {
	list, rest, found := strings.Cut(message, ": ")
	if !found {
		return message
	}
	for name := range strings.SplitSeq(list, ", ") {
		if before, more, _ := strings.Cut(name, " and "); strings.HasSuffix(more, " more") {
			name = before
		}
		if !names[name] {
			return message
		}
	}
	return rest
}

// withFewHosts names the first of many hosts: on one line the cause is what counts.
func withFewHosts(b model.Blocker) string {
	list, rest, found := strings.Cut(b.Message, ": ")
	if !found || len(b.Hosts) < 3 || !strings.HasPrefix(list, b.Hosts[0]+", ") {
		return b.Message
	}
	return fmt.Sprintf("%s and %d more: %s", b.Hosts[0], len(b.Hosts)-1, rest)
}

// subject is the host of an event, unless the message names it.
func subject(e model.Event) string {
	if e.Host != "" && slices.ContainsFunc(strings.Fields(e.Message), func(word string) bool { return strings.Trim(word, ",:;.") == e.Host }) {
		return ""
	}
	return escape.Word(e.Host)
}

func joined(by string, parts ...string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, by)
}

func firstLine(text string) string { return escape.Word(strings.TrimSpace(text)) }

func mark(severity model.Severity) string {
	switch severity {
	case model.SeverityError:
		return "error: "
	case model.SeverityWarning:
		return "warning: "
	}
	return ""
}

// width counts terminal cells: two for East Asian wide characters, none for combining marks.
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

// fit makes a text exactly so many cells wide, with an ellipsis where it is cut.
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

// Wrap breaks a text into lines of at most so many cells, between words. A longer word stays whole: it may be something to copy.
func Wrap(text string, cells int) []string { return printer.Wrap(text, cells, width) }
