//go:build e2e

package pages

import (
	"os/exec"
	"slices"
	"strings"
)

// step is one command of a page.
type step struct {
	line    int
	command string
}

// stepsOf reads the commands of a page: they are in its blocks without a language, with "$ " before them where the
// block shows what they print, too.
func stepsOf(page string) []step {
	var steps []step
	var block []string
	begins, language, inside := 0, "", false
	number := 0
	for line := range strings.Lines(page) {
		number++
		line = strings.TrimRight(line, "\n")
		fence, is := strings.CutPrefix(line, "```")
		switch {
		case !is && inside:
			block = append(block, line)
		case is && !inside:
			inside, language, begins, block = true, fence, number+1, nil
		case is:
			if inside = false; language == "" {
				steps = append(steps, stepsIn(block, begins)...)
			}
		}
	}
	return steps
}

// partOf is a page with the lines of all other sections empty, so that those of one section keep their numbers.
func partOf(page, section string) string {
	if section == "" {
		return page
	}
	var part strings.Builder
	inside := false
	for line := range strings.Lines(page) {
		if heading, is := strings.CutPrefix(line, "## "); is {
			inside = strings.TrimSpace(heading) == section
		}
		if !inside {
			line = "\n"
		}
		part.WriteString(line)
	}
	return part.String()
}

func stepsIn(block []string, begins int) []step {
	if len(block) == 0 {
		return nil
	}
	prompt := ""
	if strings.HasPrefix(block[0], "$ ") {
		prompt = "$ "
	}
	var steps []step
	for i := 0; i < len(block); i++ {
		first := i
		command, typed := strings.CutPrefix(block[i], prompt)
		if word, _, _ := strings.Cut(command, " "); !typed || !isProgram(word) {
			continue // what is printed
		}
		for i+1 < len(block) && !isWhole(command) {
			i++
			command += "\n" + block[i]
		}
		steps = append(steps, step{line: begins + first, command: command})
	}
	return steps
}

// isProgram reports whether a line that begins with a word is a command.
func isProgram(word string) bool {
	return slices.Contains([]string{"oaictl", "kubectl", "clusterctl", "oc", "go", ".", "export", "for"}, word)
}

// isWhole reports whether a shell would run a text, and wait for no further line.
func isWhole(command string) bool {
	said, err := exec.Command("bash", "-n", "-c", command).CombinedOutput()
	return err == nil && !strings.Contains(string(said), "here-document") && !strings.HasSuffix(command, "\\")
}
