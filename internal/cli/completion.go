package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a completion script for a shell",
		Long: `Print a completion script for a shell, for example

  source <(oaictl completion bash)

As a kubectl plugin, put a link named kubectl_complete-oai to the binary on the
PATH; kubectl then completes "kubectl oai" by itself.`,
		Example:     "  oaictl completion bash\n  oaictl completion zsh",
		Args:        args(cobra.ExactArgs(1)),
		ValidArgs:   []string{"bash", "zsh", "fish", "powershell"},
		Annotations: map[string]string{bare: "true"},
		RunE: func(command *cobra.Command, args []string) error {
			root := command.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.io.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.io.Out)
			case "fish":
				return root.GenFishCompletion(a.io.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.io.Out)
			default:
				return usagef("no completion for shell %q; one of bash, zsh, fish, powershell", args[0])
			}
		},
	}
}

// registerCompletions completes the values of flags that have few.
func (a *app) registerCompletions(root *cobra.Command) {
	for flag, values := range map[string][]string{
		"backend":  {backendREST, backendHub},
		"progress": {progressAuto, progressTTY, progressPlain, progressJSON},
		"output":   {"table", "wide", "json", "yaml", "name", "jsonpath="},
	} {
		if err := root.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic("cli: completion for a flag that is not there: " + err.Error())
		}
	}
}
