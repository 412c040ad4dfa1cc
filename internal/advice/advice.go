// Package advice is what to do next, as data: sentences, and in them the commands of
// oaictl that are to be typed. Who shows them says how oaictl is called there.
package advice

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Text is advice. Each command of oaictl in it stands in braces and without the name of
// the program: "see to that, then {reset cluster lab}". FILE in a command stands for the
// cluster.yaml. As a string, and in JSON, it is as it is typed in a terminal.
type Text string

// commands finds the commands in advice. Braces around anything else, as in what other
// programs are to be told, are part of the text.
var commands = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[a-z][^{}]*\}`) })

// Literal is advice without commands: braces in text, as a file name or a template may
// have them, are its own.
func Literal(text string) Text {
	return Text(strings.NewReplacer("{", ownOpen, "}", ownClose).Replace(text))
}

// Command is the advice to type one command.
func Command(words ...string) Text { return "{" + Literal(strings.Join(words, " ")) + "}" }

// What braces are kept as that are not around a command.
const ownOpen, ownClose = "⦃", "⦄"

func withOwnBraces(text string) string {
	return strings.NewReplacer(ownOpen, "{", ownClose, "}").Replace(text)
}

// Render is the advice for a person, with each command as show writes it.
func (t Text) Render(show func(command string) string) string {
	return withOwnBraces(t.each(func(command string) string { return string(Literal(show(command))) }))
}

// each is the advice with each command as show writes it, and all else as it is kept.
func (t Text) each(show func(command string) string) string {
	return commands().ReplaceAllStringFunc(string(t), func(marked string) string {
		return show(withOwnBraces(marked[1 : len(marked)-1]))
	})
}

// Map is the advice with each command as change makes it.
func (t Text) Map(change func(command string) string) Text {
	return Text(t.each(func(command string) string { return string(Command(change(command))) }))
}

// Commands are the commands in the advice.
func (t Text) Commands() []string {
	var all []string
	t.each(func(command string) string {
		all = append(all, command)
		return ""
	})
	return all
}

// String is the advice as it is typed in a terminal.
func (t Text) String() string {
	return t.Render(func(command string) string { return "oaictl " + command })
}

// MarshalText is String.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText has written, in which commands are typed out.
func (t *Text) UnmarshalText(text []byte) error {
	*t = Literal(string(text))
	return nil
}

// Sprintf is fmt.Sprintf for advice, with verbs such as %s and %d. Braces in what is put into
// it are their own; the commands of other advice are its own, too.
func Sprintf(format string, args ...any) Text {
	args = slices.Clone(args)
	for i, arg := range args {
		switch typed := arg.(type) {
		case int:
		case Text:
			args[i] = string(typed)
		default:
			args[i] = string(Literal(fmt.Sprint(typed)))
		}
	}
	return Text(fmt.Sprintf(format, args...))
}

// Names are what the placeholders of advice stand for. What is empty stays a
// placeholder.
type Names struct {
	Cluster string
	Hosts   []string // those that the advice is about
	Stage   string
}

// placeholders are the commands in advice that leave a name open.
var placeholders = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{((?:[a-z]+\s)+)NAME\b([^}]*)\}`)
})

// Fill puts names into the commands of a piece of advice, such as an entry's Remedy,
// so that they can be typed as they stand. Of several hosts that are to be looked at
// the first is named.
func (t Text) Fill(names Names) Text {
	return Text(placeholders().ReplaceAllStringFunc(string(t), func(text string) string {
		parts := placeholders().FindStringSubmatch(text)
		command, name, others := parts[1], names.Cluster, ""
		switch fields := strings.Fields(command); {
		case fields[len(fields)-1] == "stage":
			name = ""
			if names.Stage != "" {
				name = `"` + names.Stage + `"`
			}
		case fields[len(fields)-1] != "host":
		case len(names.Hosts) == 0:
			name = ""
		default:
			name = names.Hosts[0]
			if len(names.Hosts) > 1 && fields[0] == "delete" {
				others = " (or another of them)"
			}
		}
		if name == "" {
			return text
		}
		return "{" + command + string(Literal(name)) + parts[2] + "}" + others
	}))
}
