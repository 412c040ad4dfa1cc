package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// programName is what the program is called where it is no plugin.
const programName = "oaictl"

// mediaName is what the units of agent-based media call their client.
const mediaName = "agent-installer-client"

// mediaSteps are the names of the steps of agent-based media: as commands below agent,
// and as the units of media call them.
var mediaSteps = [...][2]string{
	{"register-cluster", "registerCluster"}, {"register-infraenv", "registerInfraEnv"}, {"configure-hosts", "configure"}, {"import-cluster", "importCluster"},
}

// mediaStep is what the units of media call a step, "" where they do not have it.
func mediaStep(use string) string {
	for _, step := range mediaSteps {
		if step[0] == use {
			return step[1]
		}
	}
	return ""
}

// identity is what the program was called as. The one binary answers to five
// names: as a plugin of kubectl it speaks to a hub unless told otherwise, as
// kubectl's completion helper it completes, as a plugin of clusterctl it is the
// same tree, and as the client of agent-based media it has their steps only.
type identity struct {
	name    string   // how a person calls it: "kubectl oai"
	backend string   // the default of --backend
	args    []string // the arguments, without the name
}

func identify(argv []string) identity {
	if len(argv) == 0 {
		return identity{name: programName, backend: backendREST}
	}
	called := strings.TrimSuffix(strings.ToLower(filepath.Base(argv[0])), ".exe")
	id := identity{name: programName, backend: backendREST, args: argv[1:]}
	switch called {
	case "kubectl-oai":
		id.name, id.backend = "kubectl oai", backendHub
	case "kubectl_complete-oai":
		id.name, id.backend = "kubectl oai", backendHub
		id.args = append([]string{"__complete"}, id.args...)
	case "clusterctl-oai":
		id.name = "clusterctl oai"
	case mediaName:
		id.name = mediaName
	}
	return id
}

// inOwnWords has the examples of command, and of those below it, speak as the
// program was called. A plugin of kubectl reaches a hub, and no service by URL.
func (id identity) inOwnWords(command *cobra.Command) {
	if id.name == programName {
		return
	}
	var lines []string
	for line := range strings.Lines(command.Example) {
		line = strings.Replace(strings.TrimRight(line, "\n"), "  "+programName+" ", "  "+id.name+" ", 1)
		if id.backend == backendHub && strings.Contains(line, " --simulate") {
			continue // which is a service, and no hub
		}
		if id.backend == backendHub {
			line = strings.NewReplacer(" --service-url https://assisted.example.com", "", " --backend hub", "").Replace(line)
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	command.Example = strings.Join(lines, "\n")
	for _, sub := range command.Commands() {
		id.inOwnWords(sub)
	}
}

// commandLine is how this command was called, for a shell.
func (a *app) commandLine() string { return a.commandLineWithout("") }

func (a *app) commandLineWithout(flag string) string {
	words := []string{a.identity.name}
	for _, arg := range a.identity.args {
		if arg != flag {
			words = append(words, quoted(arg))
		}
	}
	return strings.Join(words, " ")
}

// quoted is a word as a POSIX shell reads it back.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
