package progress

import (
	"fmt"
	"slices"
	"strings"

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
