package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/document"
)

// logsOptions are what `logs` needs and what its flags say.
type logsOptions struct {
	*app
	target
	To string
}

func (a *app) logsCommand() *cobra.Command {
	o := &logsOptions{app: a}
	command := &cobra.Command{
		Use:   "logs [cluster|host] NAME|ID|-f FILE",
		Short: "Download the logs of an install, or of one host",
		Long: `Download the logs that the service has of a cluster and its hosts, or of one
host, as a tar archive. They hold the events even before an install, and the
hosts' own logs once an install has failed or ended.`,
		Example: `  oaictl logs lab
  oaictl logs host cp-0 --to cp-0.tar
  oaictl logs host cp-0 --cluster lab
  oaictl logs lab --to - | tar t`,
		RunE: func(command *cobra.Command, given []string) error {
			if err := o.read(command, given, "cluster", "host"); err != nil {
				return err
			}
			return o.run(command.Context())
		},
	}
	o.declare(command.Flags())
	o.declareOfHost(command.Flags())
	command.Flags().StringVar(&o.To, "to", "", "`FILE` to write to, - for standard output (default: NAME-logs.tar)")
	return command
}

func (o *logsOptions) run(ctx context.Context) error {
	service, err := o.dial(ctx)
	if err != nil {
		return err
	}
	cluster, host, name := "", "", ""
	if o.Kind == "host" {
		found, err := o.findHost(ctx, service, o.target)
		if err != nil {
			return err
		}
		cluster, host, name = found.ClusterID, found.ID, document.OfHost(found, "").Name
		if cluster == "" {
			return notFound("download logs of host", name, "it belongs to no cluster", "oaictl get hosts")
		}
	} else {
		seen, err := o.find(ctx, service, o.target)
		if err != nil {
			return err
		}
		cluster, name = seen.Ref.ID, seen.Ref.Name
	}
	to := o.To
	if to == "" {
		to = fileName(name) + "-logs.tar"
	}
	file, err := o.saveTo(to, func(w io.Writer) error { return service.Logs(ctx, cluster, host, w) })
	if err != nil {
		return err
	}
	return o.saved([]document.Download{file})
}
