package model

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Advice is what to do next. Each command of oaictl in it stands in braces, without the name of
// the program: "see to that, then {reset cluster lab}". FILE in a command is the
// cluster.yaml. As a string, and in JSON, it is as it is typed in a terminal.
type Advice string

// commands finds the commands in advice. Braces around anything else, as in what other
// programs are to be told, are part of the text.
var commands = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[a-z][^{}]*\}`) })

// literal is advice without commands: braces in text, as a file name or a template may
// have them, are its own.
func literal(text string) Advice {
	return Advice(strings.NewReplacer("{", ownOpen, "}", ownClose).Replace(text))
}

// Command is the advice to type one command.
func Command(words ...string) Advice { return "{" + literal(strings.Join(words, " ")) + "}" }

// What braces are kept as that are not around a command.
const ownOpen, ownClose = "⦃", "⦄"

func withOwnBraces(text string) string {
	return strings.NewReplacer(ownOpen, "{", ownClose, "}").Replace(text)
}

// Render is the advice for a person, with each command as show writes it.
func (t Advice) Render(show func(command string) string) string {
	return withOwnBraces(t.each(func(command string) string { return string(literal(show(command))) }))
}

// each is the advice with each command as show writes it, and all else as it is kept.
func (t Advice) each(show func(command string) string) string {
	return commands().ReplaceAllStringFunc(string(t), func(marked string) string {
		return show(withOwnBraces(marked[1 : len(marked)-1]))
	})
}

// Map is the advice with each command as change makes it.
func (t Advice) Map(change func(command string) string) Advice {
	return Advice(t.each(func(command string) string { return string(Command(change(command))) }))
}

// Commands are the commands in the advice.
func (t Advice) Commands() []string {
	var all []string
	t.each(func(command string) string {
		all = append(all, command)
		return ""
	})
	return all
}

// String is the advice as it is typed in a terminal.
func (t Advice) String() string {
	return t.Render(func(command string) string { return "oaictl " + command })
}

// MarshalText is String.
func (t Advice) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText has written, in which commands are typed out.
func (t *Advice) UnmarshalText(text []byte) error {
	*t = literal(string(text))
	return nil
}

// Advicef is fmt.Sprintf for advice, with verbs such as %s and %d. Braces in what is put into
// it are their own; the commands of other advice are its own, too.
func Advicef(format string, args ...any) Advice {
	args = slices.Clone(args)
	for i, arg := range args {
		switch typed := arg.(type) {
		case int:
		case Advice:
			args[i] = string(typed)
		default:
			args[i] = string(literal(fmt.Sprint(typed)))
		}
	}
	return Advice(fmt.Sprintf(format, args...))
}
