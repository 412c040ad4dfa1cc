package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/agent"
	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/change"
	"github.com/oaictl/oaictl/internal/cli/create"
	"github.com/oaictl/oaictl/internal/cli/download"
	"github.com/oaictl/oaictl/internal/cli/file"
	"github.com/oaictl/oaictl/internal/cli/iso"
	"github.com/oaictl/oaictl/internal/cli/look"
	"github.com/oaictl/oaictl/internal/cli/media"
	"github.com/oaictl/oaictl/internal/cli/simulator"
)

// The groups of commands in the help text.
const (
	groupMain    = "main"
	groupLook    = "look"
	groupChange  = "change"
	groupOffline = "offline"
)

// rootCommand is the whole tree.
func rootCommand(a *base.App) *cobra.Command {
	if a.Identity.Name == base.MediaName {
		return agent.NewMediaCommand(a)
	}
	root := &cobra.Command{
		Use:   strings.ReplaceAll(a.Identity.Name, " ", "-"),
		Short: "Install OpenShift on bare metal through the Assisted Installer",
		Long: `Install OpenShift on bare metal through the Assisted Installer.

oaictl reads a cluster.yaml, looks at what the service and the machines have
done already, and does what is still missing. It can be stopped at any time
and continues where things stand, from any machine.`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: a.Identity.Name},
		Args:              cobra.ArbitraryArgs,
		RunE:              base.UnknownSubcommand,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Version:           base.ReadBuildInfo().String(),
		PersistentPreRunE: func(command *cobra.Command, given []string) error {
			if command.HasAvailableSubCommands() && len(given) > 0 {
				return base.UnknownSubcommand(command, given) // whose flags may mean something else
			}
			return a.Prepare(command)
		},
	}
	root.SetFlagErrorFunc(a.BadFlag)
	root.SetUsageTemplate(usageTemplate)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(helpCommand(a))
	a.Globals.Declare(root.PersistentFlags(), a.Identity.Backend)
	root.Flags().Bool("version", false, "print the version of oaictl")
	root.AddGroup(
		&cobra.Group{ID: groupMain, Title: "Install:"},
		&cobra.Group{ID: groupLook, Title: "Look:"},
		&cobra.Group{ID: groupChange, Title: "Change:"},
		&cobra.Group{ID: groupOffline, Title: "Without a service:"},
	)
	for _, add := range commands(a) {
		root.AddCommand(add)
	}
	for _, topic := range helpTopics() {
		root.AddCommand(topic)
	}
	a.Identity.InOwnWords(root)
	registerCompletions(a, root)
	return root
}

// commands is every verb, in groups.
func commands(a *base.App) []*cobra.Command {
	groups := []struct {
		id       string
		commands []*cobra.Command
	}{
		{groupMain, []*cobra.Command{createCommand(a), create.NewAddNode(a), agent.NewCommand(a), create.NewPlan(a), create.NewWait(a)}},
		{groupLook, []*cobra.Command{create.NewWhy(a), look.NewGet(a), look.NewDescribe(a), download.NewLogs(a), download.NewDownload(a)}},
		{groupChange, []*cobra.Command{change.NewCancel(a), change.NewReset(a), change.NewDelete(a)}},
		{groupOffline, []*cobra.Command{
			file.NewValidate(a), file.NewRender(a), file.NewConvert(a), file.NewSchema(a), file.NewExplain(a), isoCommand(a), simulator.NewCommand(a), versionCommand(a), completionCommand(a),
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

func createCommand(a *base.App) *cobra.Command {
	return base.Group("create", "Create a cluster, or the images that its machines boot", create.NewCluster(a), media.NewCreateImages(a))
}

func isoCommand(a *base.App) *cobra.Command {
	command := iso.NewCommand(a)
	command.AddCommand(media.NewServe(a))
	return command
}
