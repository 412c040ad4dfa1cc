package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/file"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/host"
)

func completionCommand(a *base.App) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a completion script for a shell",
		Long: `Print a completion script for a shell, for example

  source <(oaictl completion bash)

As a kubectl plugin, put a link named kubectl_complete-oai to the binary on the
PATH; kubectl then completes "kubectl oai" by itself.`,
		Example:     "  oaictl completion bash\n  oaictl completion zsh",
		Args:        base.OneArgument("bash, zsh, fish or powershell"),
		ValidArgs:   []string{"bash", "zsh", "fish", "powershell"},
		Annotations: map[string]string{base.NoConfig: "true"},
		RunE: func(command *cobra.Command, args []string) error {
			root := command.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.IO.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.IO.Out)
			case "fish":
				return root.GenFishCompletion(a.IO.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.IO.Out)
			default:
				return base.Usagef("no completion for shell %q; one of bash, zsh, fish, powershell", args[0])
			}
		},
	}
}

// registerCompletions completes values of flags and names of things, all over
// the tree. A command that takes no argument completes none: no shell is to
// offer files for it.
func registerCompletions(a *base.App, root *cobra.Command) {
	flags := flagCompletions(a)
	arguments := argumentCompletions(a)
	var visit func(command *cobra.Command)
	visit = func(command *cobra.Command) {
		add := func(flag *pflag.Flag) {
			if flag.Name == "output" && command.HasParent() {
				return // a file: what -o means everywhere else is the root's
			}
			if complete := flags[flag.Name]; complete != nil {
				if err := command.RegisterFlagCompletionFunc(flag.Name, complete); err != nil {
					panic("cli: completion of --" + flag.Name + ": " + err.Error())
				}
			}
		}
		command.Flags().VisitAll(add) // its parents' are not among them yet
		command.PersistentFlags().VisitAll(add)
		path := strings.TrimSpace(strings.TrimPrefix(command.CommandPath(), root.CommandPath()))
		switch {
		case command.ValidArgsFunction != nil, len(command.ValidArgs) > 0, command.HasSubCommands():
		case arguments[path] != nil:
			command.ValidArgsFunction = arguments[path]
		default:
			command.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, sub := range command.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// flagCompletions complete flags by their names, which mean the same with every
// command.
func flagCompletions(a *base.App) map[string]cobra.CompletionFunc {
	words := func(list ...string) cobra.CompletionFunc {
		return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return beginning(list, begun), cobra.ShellCompDirectiveNoFileComp
		}
	}
	// A value that ends with = goes on.
	open := func(list ...string) cobra.CompletionFunc {
		return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			fits := beginning(list, begun)
			if len(fits) == 1 && strings.HasSuffix(fits[0], "=") {
				return fits, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			return fits, cobra.ShellCompDirectiveNoFileComp
		}
	}
	yaml := cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
	images := imageFiles()
	folders := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	return map[string]cobra.CompletionFunc{
		"backend":   words(base.BackendREST, base.BackendHub),
		"progress":  words(base.ProgressAuto, base.ProgressTTY, base.ProgressPlain, base.ProgressJSON),
		"output":    open("table", "wide", "json", "yaml", "name", "jsonpath="),
		"for":       open("installed", "ready", "hosts="),
		"severity":  words("info", "warning", "error", "critical"),
		"auth":      words(auth.Modes()...),
		"boot":      words(string(host.Day1), string(host.Day2)),
		"file":      yaml,
		"nmstate":   yaml,
		"base":      images,
		"ignition":  cobra.FixedCompletions([]string{"ign", "json"}, cobra.ShellCompDirectiveFilterFileExt),
		"scenario":  yaml,
		"dir":       folders,
		"token-dir": folders,
		"cluster":   flagValue(a, clusterNames),
		"infra-env": flagValue(a, infraEnvNames),
		"discovery": flagValue(a, infraEnvNames),
		"host":      flagValue(a, hostNames),
		"adopt":     flagValue(a, foreignClusters),
		"context":   contextNames(a),
		"namespace": inAnyNamespace(a),
		"from":      words(file.FormatsRead()...),
		"to":        formatOrFile,
		"report":    cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt),
	}
}

// argumentCompletions complete the names that commands take.
func argumentCompletions(a *base.App) map[string]cobra.CompletionFunc {
	complete := map[string]cobra.CompletionFunc{
		"get infraenvs": argument(a, infraEnvNames), "delete infraenv": argument(a, infraEnvNames), "delete host": argument(a, hostNames),
		"describe": kindAndArgument(a, "cluster", "host"), "why": kindAndArgument(a, "cluster", "host"), "logs": kindAndArgument(a, "cluster", "host"),
		"wait": kindAndArgument(a, "cluster"), "cancel": kindAndArgument(a, "cluster"), "reset": kindAndArgument(a, "cluster"),
	}
	for _, path := range []string{
		"iso customize", "iso show", "iso verify", "iso extract ignition", "iso extract kargs", "iso extract network", "iso extract pxe", "iso extract minimal",
	} {
		complete[path] = imageFiles()
	}
	for _, path := range []string{
		"get clusters", "get hosts", "get events", "get validations", "delete cluster",
		"download iso", "download kubeconfig", "download ignition", "download manifests",
	} {
		complete[path] = argument(a, clusterNames)
	}
	return complete
}

// imageFiles completes the names of live images.
func imageFiles() cobra.CompletionFunc {
	return cobra.FixedCompletions([]string{"iso"}, cobra.ShellCompDirectiveFilterFileExt)
}

// beginning are the words that begin so.
func beginning(words []string, begun string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !strings.HasPrefix(word, begun) })
}
