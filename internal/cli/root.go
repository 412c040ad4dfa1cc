package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// The groups of commands in the help text.
const (
	groupMain    = "main"
	groupLook    = "look"
	groupChange  = "change"
	groupOffline = "offline"
)

// rootCommand is the whole tree.
func (a *app) rootCommand() *cobra.Command {
	if a.identity.name == mediaName {
		return a.mediaCommand()
	}
	root := &cobra.Command{
		Use:   strings.ReplaceAll(a.identity.name, " ", "-"),
		Short: "Install OpenShift on bare metal through the Assisted Installer",
		Long: `Install OpenShift on bare metal through the Assisted Installer.

oaictl reads a cluster.yaml, looks at what the service and the machines have
done already, and does what is still missing. It can be stopped at any time
and continues where things stand, from any machine.`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: a.identity.name},
		Args:              cobra.ArbitraryArgs,
		RunE:              unknownSubcommand,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Version:           readBuildInfo().String(),
		PersistentPreRunE: func(command *cobra.Command, given []string) error {
			if command.HasAvailableSubCommands() && len(given) > 0 {
				return unknownSubcommand(command, given) // whose flags may mean something else
			}
			return a.prepare(command)
		},
	}
	root.SetFlagErrorFunc(a.badFlag)
	root.SetUsageTemplate(usageTemplate)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(helpCommand(a))
	a.globals.declare(root.PersistentFlags(), a.identity.backend)
	root.Flags().Bool("version", false, "print the version of oaictl")
	root.AddGroup(
		&cobra.Group{ID: groupMain, Title: "Install:"},
		&cobra.Group{ID: groupLook, Title: "Look:"},
		&cobra.Group{ID: groupChange, Title: "Change:"},
		&cobra.Group{ID: groupOffline, Title: "Without a service:"},
	)
	for _, add := range a.commands() {
		root.AddCommand(add)
	}
	for _, topic := range helpTopics() {
		root.AddCommand(topic)
	}
	a.identity.inOwnWords(root)
	a.registerCompletions(root)
	return root
}

// commands is every verb, in groups.
func (a *app) commands() []*cobra.Command {
	groups := []struct {
		id       string
		commands []*cobra.Command
	}{
		{groupMain, []*cobra.Command{a.createCommand(), a.addNodeCommand(), a.agentCommand(), a.planCommand(), a.waitCommand()}},
		{groupLook, []*cobra.Command{a.whyCommand(), a.getCommand(), a.describeCommand(), a.logsCommand(), a.downloadCommand()}},
		{groupChange, []*cobra.Command{a.cancelCommand(), a.resetCommand(), a.deleteCommand()}},
		{groupOffline, []*cobra.Command{
			a.validateCommand(), a.renderCommand(), a.convertCommand(), a.schemaCommand(), a.explainCommand(), a.isoCommand(), a.simulatorCommand(), a.versionCommand(), a.completionCommand(),
		}},
	}
	var all []*cobra.Command
	for _, group := range groups {
		for _, command := range group.commands {
			command.GroupID = group.id
			all = append(all, command)
		}
	}
	return all
}
