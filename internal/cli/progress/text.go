package progress

import (
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
)

// absent is the state of a cluster or host that is not there.
const absent = "Absent"

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
		if e.State == absent {
			return "the service has no such cluster yet"
		}
		return joined(": ", "cluster is "+escape.Word(e.State), text)
	case install.EventHost:
		if e.State == absent { // what is not there is in no state: the message says what is known of it
			return joined(": ", subject(e), text)
		}
		return joined(": ", escape.Sprintf("%s is %s", e.Host, e.State), text)
	case install.EventStage:
		by := ", "
		if strings.HasSuffix(text, "%") {
			by = " "
		}
		if text == e.Stage {
			text = ""
		}
		return joined(by, escape.Sprintf("%s: %s", e.Host, e.Stage), text)
	case install.EventProgress:
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
		if !names[name] {
			return message
		}
	}
	return rest
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
	case install.SeverityError:
		return "error: "
	case install.SeverityWarning:
		return "warning: "
	}
	return ""
}
