package bootfs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// kargs are changes of kernel arguments.
type kargs struct {
	// replace has pairs of an old and a new argument. The old one must be there.
	replace        [][2]string
	append, delete []string
}

func (k kargs) empty() bool { return len(k.replace) == 0 && len(k.append) == 0 && len(k.delete) == 0 }

// edit changes kernel arguments as coreos-installer does: it deletes each argument that is equal, and appends the others at
// the end. An argument to delete may have several words, as they stand beside each other.
func (k kargs) edit(options string) (string, error) {
	words := strings.Fields(options)
	for _, pair := range k.replace {
		if !slices.Contains(words, pair[0]) {
			return "", fmt.Errorf("they do not have %q", pair[0])
		}
		for i, word := range words {
			if word == pair[0] {
				words[i] = pair[1]
			}
		}
	}
	for _, karg := range k.delete {
		words = without(words, strings.Fields(karg))
	}
	for _, karg := range k.append {
		words = append(words, strings.Fields(karg)...)
	}
	return strings.Join(words, " "), nil
}

// without takes each run of words that equals some others out of a list.
func without(words, others []string) []string {
	if len(others) == 0 {
		return words
	}
	var rest []string
	for len(words) > 0 {
		if len(words) >= len(others) && slices.Equal(words[:len(others)], others) {
			words = words[len(others):]
			continue
		}
		rest, words = append(rest, words[0]), words[1:]
	}
	return rest
}

// editEntry changes the kernel arguments in an entry of the Boot Loader Specification. It must have one line of them.
func editEntry(entry string, changes kargs) (string, error) {
	var out strings.Builder
	found := false
	for line := range strings.Lines(entry) {
		line = strings.TrimRight(line, " \t\r\n")
		if key, options, _ := strings.Cut(line, " "); key == "options" {
			if found {
				return "", errors.New("it has several lines of kernel arguments")
			}
			found = true
			changed, err := changes.edit(options)
			if err != nil {
				return "", fmt.Errorf("change its kernel arguments: %w", err)
			}
			line = strings.TrimRight("options "+changed, " ")
		}
		out.WriteString(line + "\n")
	}
	if !found {
		return "", errors.New("it has no line of kernel arguments")
	}
	return out.String(), nil
}

const (
	consoleStart = "\n# CONSOLE-SETTINGS-START\n"
	consoleEnd   = "# CONSOLE-SETTINGS-END\n"
)

// editGrub replaces the commands between the marks that CoreOS has for them in its configuration of GRUB.
func editGrub(config string, commands []string) (string, error) {
	before, rest, hasStart := strings.Cut(config, consoleStart)
	_, after, hasEnd := strings.Cut("\n"+rest, "\n"+consoleEnd)
	if !hasStart || !hasEnd {
		return "", errors.New("it has no marks for the settings of the console")
	}
	var lines strings.Builder
	for _, command := range commands {
		lines.WriteString(command + "\n")
	}
	return before + consoleStart + lines.String() + consoleEnd + after, nil
}
