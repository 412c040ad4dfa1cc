package download

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/document"
)

// logsOptions are what `logs` needs and what its flags say.
type logsOptions struct {
	*base.App
	base.Target
	To string
}

// NewLogs is `logs`.
func NewLogs(a *base.App) *cobra.Command {
	o := &logsOptions{App: a}
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
			if err := o.Read(command, given, "cluster", "host"); err != nil {
				return err
			}
			return o.run(command.Context())
		},
	}
	o.Declare(command.Flags())
	o.DeclareOfHost(command.Flags())
	command.Flags().StringVar(&o.To, "to", "", "`FILE` to write to, - for standard output (default: NAME-logs.tar)")
	return command
}

func (o *logsOptions) run(ctx context.Context) error {
	service, err := o.Dial(ctx)
	if err != nil {
		return err
	}
	cluster, host, name := "", "", ""
	if o.Kind == "host" {
		found, err := o.FindHost(ctx, service, o.Target)
		if err != nil {
			return err
		}
		cluster, host, name = found.ClusterID, found.ID, document.OfHost(found, "").Name
		if cluster == "" {
			return base.NotFound("download logs of host", name, "it belongs to no cluster", "{get hosts}")
		}
	} else {
		seen, err := o.FindCluster(ctx, service, o.Target)
		if err != nil {
			return err
		}
		cluster, name = seen.Ref.ID, seen.Ref.Name
	}
	to := o.To
	if to == "" {
		to = base.FileName(name) + "-logs.tar"
	}
	return o.SaveOne(to, func(w io.Writer) error { return service.Logs(ctx, cluster, host, w) })
}
