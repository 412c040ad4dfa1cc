package base

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/names"
)

// programName is what the program is called where it is no plugin.
const programName = "oaictl"

// MediaName is what the units of agent-based media call their client.
const MediaName = "agent-installer-client"

// mediaSteps are the names of the steps of agent-based media: as commands below agent,
// and as the units of media call them.
var mediaSteps = [...][2]string{
	{"register-cluster", "registerCluster"}, {"register-infraenv", "registerInfraEnv"}, {"configure-hosts", "configure"}, {"import-cluster", "importCluster"},
}

// MediaStep is what the units of media call a step, "" where they do not have it.
func MediaStep(use string) string {
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
	Name    string   // how a person calls it: "kubectl oai"
	Backend string   // the default of --backend
	Args    []string // the arguments, without the name
}

// Identify says what the program was called as.
func Identify(argv []string) identity {
	if len(argv) == 0 {
		return identity{Name: programName, Backend: BackendREST}
	}
	called := strings.TrimSuffix(strings.ToLower(filepath.Base(argv[0])), ".exe")
	id := identity{Name: programName, Backend: BackendREST, Args: argv[1:]}
	switch called {
	case "kubectl-oai":
		id.Name, id.Backend = "kubectl oai", BackendHub
	case "kubectl_complete-oai":
		id.Name, id.Backend = "kubectl oai", BackendHub
		id.Args = append([]string{"__complete"}, id.Args...)
	case "clusterctl-oai":
		id.Name = "clusterctl oai"
	case MediaName:
		id.Name = MediaName
	}
	return id
}

// InOwnWords has the examples of command, and of those below it, speak as the
// program was called. A plugin of kubectl reaches a hub, and no service by URL.
func (id identity) InOwnWords(command *cobra.Command) {
	if id.Name == programName {
		return
	}
	var lines []string
	for line := range strings.Lines(command.Example) {
		line = strings.Replace(strings.TrimRight(line, "\n"), "  "+programName+" ", "  "+id.Name+" ", 1)
		if id.Backend == BackendHub && strings.Contains(line, " --simulate") {
			continue // which is a service, and no hub
		}
		if id.Backend == BackendHub {
			line = strings.NewReplacer(" --service-url https://assisted.example.com", "", " --backend hub", "").Replace(line)
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	command.Example = strings.Join(lines, "\n")
	for _, sub := range command.Commands() {
		id.InOwnWords(sub)
	}
}

// CommandLine is how this command was called, for a shell.
func (a *App) CommandLine() string { return a.CommandLineWithout("") }

// CommandLineWithout is this command without one of its flags.
func (a *App) CommandLineWithout(flag string) string {
	words := []string{a.Identity.Name}
	for _, arg := range a.Identity.Args {
		if arg != flag {
			words = append(words, names.Quoted(arg))
		}
	}
	return strings.Join(words, " ")
}
