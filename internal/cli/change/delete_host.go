package change

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/document"
)

func newDeleteHost(a *base.App) *cobra.Command {
	o := &changeOptions{App: a}
	command := &cobra.Command{
		Use:     "host NAME|ID",
		Aliases: []string{"hosts"},
		Short:   "Delete a host's record; power the machine off first, or it comes back",
		Long: `Delete a host's record from the service. A machine whose discovery image still runs
comes back: power it off first.

The node of an installed host runs on; only the service forgets it. On a hub,
--remove-node has the service take the node out of its cluster first, of the control
plane, too. What stands in its way is named.`,
		Example: `  oaictl delete host worker-3 --yes
  oaictl delete host 6f1c7d2e-0d8b-4c3b-9d53-5d1d6a3d2f10 --yes
  oaictl delete host worker-3 --backend hub --remove-node --yes`,
		Args: base.OneArgument("the NAME or ID of a host"),
		RunE: func(command *cobra.Command, given []string) error {
			if err := o.Target.Read(command, given, "host"); err != nil {
				return err
			}
			if o.RemoveNode && o.Globals.Backend != base.BackendHub {
				return base.Usagef("--remove-node goes with --backend %s: a REST service does not speak to clusters", base.BackendHub)
			}
			return o.deleteHost(command.Context())
		},
	}
	command.Flags().BoolVar(&o.Yes, "yes", false, "do not ask")
	command.Flags().BoolVar(&o.RemoveNode, "remove-node", false, "have a hub take the node out of its cluster, too")
	o.Target.Declare(command.Flags())
	o.DeclareOfHost(command.Flags())
	return command
}

func (o *changeOptions) deleteHost(ctx context.Context) error {
	service, host, err := base.DialFor(ctx, o.App, o.Target, o.FindHost)
	if err != nil {
		return err
	}
	name := host.DisplayName()
	if text := o.fateOfNode(host, name); text != "" {
		o.Say("%s", text)
	}
	if err := o.confirm(fmt.Sprintf("delete host %s (%s, %s)?", name, host.ID, host.State)); err != nil {
		return err
	}
	if err := service.DeleteHost(ctx, host.InfraEnvID, host.ID, o.deletion()); err != nil {
		return err
	}
	return o.Changed(document.Changed{Kind: "host", Name: name, ID: host.ID, Done: "deleted"})
}
