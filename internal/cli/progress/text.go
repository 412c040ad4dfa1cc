package progress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
)

// sentence is an event in words, without its time and its advice. It is "" for
// an event that has nothing to say to a person: a step in percent, and the last
// event of a run, whose place is the result.
func sentence(e install.Event) string {
	text := firstLine(e.Message)
	switch e.Type {
	case install.EventRun:
		if e.ExitCode != nil {
			return ""
		}
		return joined(": ", "cluster is "+e.State, text)
	case install.EventHost:
		return joined(": ", fmt.Sprintf("%s is %s", e.Host, e.State), text)
	case install.EventStage:
		by := ", "
		if strings.HasSuffix(text, "%") {
			by = " "
		}
		if text == e.Stage {
			text = ""
		}
		return joined(by, fmt.Sprintf("%s: %s", e.Host, e.Stage), text)
	case install.EventProgress:
		return ""
	case install.EventValidation:
		verdict := "fails"
		if e.State == "success" {
			verdict, text = "passes now", ""
		}
		return joined(": ", fmt.Sprintf("%s %s", joined(": ", subject(e), e.Reason), verdict), text)
	default:
		return joined(": ", subject(e), text)
	}
}

// subject is the host that an event is about, "" for the cluster. A message
// that names the host needs no second one.
func subject(e install.Event) string {
	if e.Host != "" && slices.ContainsFunc(strings.Fields(e.Message), func(word string) bool { return strings.Trim(word, ",:;.") == e.Host }) {
		return ""
	}
	return e.Host
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
func firstLine(text string) string {
	return clean(strings.Join(strings.Fields(text), " "))
}

// clean takes control characters out of a text, since what a service sends
// must not steer the terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) {
			return -1
		}
		return r
	}, text)
}

// mark is what a line begins with, so that trouble can be found by eye and by
// grep.
func mark(severity install.Severity) string {
	switch severity {
	case install.SeverityError:
		return "error: "
	case install.SeverityWarning:
		return "warning: "
	}
	return ""
}
