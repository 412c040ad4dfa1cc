package create

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/runlog"
	"github.com/oaictl/oaictl/pkg/install"
)

// addNodeOptions are what `add-node` needs and what its flags say.
type addNodeOptions struct {
	runOptions
	AcceptControlPlane bool
}

// NewAddNode is `add-node`.
func NewAddNode(a *base.App) *cobra.Command {
	o := &addNodeOptions{runOptions: runOptions{App: a}}
	command := &cobra.Command{
		Use:     "add-node -f FILE",
		Aliases: []string{"add-nodes"},
		Short:   "Add the hosts of a file to its installed cluster that it does not have yet",
		Long: `Add the hosts of a file to its cluster, which is installed, that it does not have
yet: workers that did not come to the install or were lost in it, and hosts that
were written into the file since.

The service is told that the cluster takes more hosts. They boot the discovery image
that the cluster was installed with; where that cannot serve (deleted, full, of another
architecture or version, or a host was lost in the install) one is made for them. Each
host is installed as soon as it is ready, and waits for no other. A machine that the
file does not name is left alone, and so is every node that runs. A cluster that something else installed (spec.import)
is made known to the service first. Where the service has lost records of the control
plane, its machines are not installed again without --accept-control-plane: that would
wipe members of the cluster. The same command goes on where things stand, and
does nothing at all once every host was added.

The service's knowledge ends with the reboot of a host. Whether it has joined as a
node, the cluster knows: its certificate requests may have to be approved there.`,
		Example: `  oaictl add-node -f cluster.yaml --service-url https://assisted.example.com
  oaictl add-node -f cluster.yaml --service-url https://assisted.example.com --dry-run
  oaictl add-node -f cluster.yaml --service-url https://assisted.example.com --detach`,
		Args: base.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			o.explicit = command.Flags().Changed("output")
			if err := o.check("add-node"); err != nil {
				return err
			}
			return o.run(command.Context())
		},
	}
	o.declare(command.Flags())
	command.Flags().BoolVar(&o.AcceptControlPlane, "accept-control-plane", false, "permit to install control plane machines that the cluster may have already")
	return command
}

func (o *addNodeOptions) run(ctx context.Context) error {
	cluster, err := o.LoadToInstall(ctx, o.File, o.foreign)
	if err != nil {
		return err
	}
	desired := &install.Desired{Spec: cluster, Options: install.Options{
		Reimage: o.Reimage, Adopt: o.Adopt, AddNodes: true, AcceptControlPlane: o.AcceptControlPlane, RebootRunning: o.boot.RebootRunning,
	}}
	o.Say("Nodes that are part of %s are left alone; only the machines that it lacks are installed.", cluster.Metadata.Name)
	return o.carryOut(ctx, desired, func(ctx context.Context, log *runlog.Log) (*install.Client, func(), error) {
		service, err := o.DialWith(ctx, base.ClientConfig{Connection: o.Globals.Connection, Clock: o.Clock, Trace: o.Tracer(log.Exchange)})
		o.clusterClock = o.Clock
		return service, func() {}, err
	})
}
