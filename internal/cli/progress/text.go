package progress

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// checking is what is said of what the service calls insufficient: it is so in every
// install, for a moment. Checks that stand are told as blockers.
const checking = "Checking"

// absent is the state of a cluster or host that is not there.
const absent = "Absent"

// sentence is an event in words, without its time and its advice. It is "" for
// an event that has nothing to say to a person: a step in percent, and the last
// event of a run, whose place is the result.
func sentence(e install.Event) string {
	text := firstLine(e.Message)
	switch e.Type {
	case model.EventRun:
		if e.ExitCode != nil {
			return ""
		}
		if e.State == absent {
			return "the service has no such cluster yet"
		}
		if e.State == string(model.ClusterBlocked) && e.Severity == model.SeverityInfo {
			return "the service checks the cluster"
		}
		if e.State == string(model.ClusterDraft) || e.State == string(model.ClusterDiscovering) {
			text = "" // that it needs input, or is not ready, is so before there are hosts
		}
		return joined(": ", "cluster is "+escape.Word(e.State), text)
	case model.EventHost:
		if e.State == absent { // what is not there is in no state: the message says what is known of it
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

// withoutHosts is a message without the list of hosts that it begins with, for
// where the host is named already: "cp-0, cp-1: no NTP" is "no NTP".
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

// withFewHosts is a blocker's message with the first of many hosts alone, for where
// there is room for one line: the cause is what counts.
func withFewHosts(b install.Blocker) string {
	list, rest, found := strings.Cut(b.Message, ": ")
	if !found || len(b.Hosts) < 3 || !strings.HasPrefix(list, b.Hosts[0]+", ") {
		return b.Message
	}
	return fmt.Sprintf("%s and %d more: %s", b.Hosts[0], len(b.Hosts)-1, rest)
}

// subject is the host that an event is about, "" for the cluster. A message
// that names the host needs no second one.
func subject(e install.Event) string {
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

// firstLine keeps a message of the service on one line.
func firstLine(text string) string { return escape.Word(strings.TrimSpace(text)) }

// mark is what a line begins with, so that trouble can be found by eye and by
// grep.
func mark(severity install.Severity) string {
	switch severity {
	case model.SeverityError:
		return "error: "
	case model.SeverityWarning:
		return "warning: "
	}
	return ""
}

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
