package get

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install"
)

type eventsOptions struct {
	*app.App
	app.Target
	Host       string
	InfraEnv   string
	Severities []string
	Message    string
	Watch      bool
	Every      time.Duration
}

func newGetEvents(a *app.App) *cobra.Command {
	o := &eventsOptions{App: a}
	command := &cobra.Command{
		Use:     "events [CLUSTER|ID|-f FILE]",
		Aliases: []string{"event"},
		Short:   "List the service's own events, oldest first, or follow them",
		RunE: func(command *cobra.Command, given []string) error {
			if o.Host+o.InfraEnv+o.File+o.Cluster == "" && len(given) == 0 {
				return app.Usagef("get events needs a cluster (NAME, ID or -f FILE), --host or --infra-env")
			}
			if o.Host == "" && o.InfraEnv == "" {
				if err := o.Read(command, given, "cluster"); err != nil {
					return err
				}
			} else if len(given) > 0 || o.File+o.Cluster != "" {
				return app.Usagef("--host, --infra-env and a cluster cannot be used together")
			}
			for _, severity := range o.Severities {
				if err := app.OneOf("--severity", severity, "info", "warning", "error", "critical"); err != nil {
					return err
				}
			}
			return o.run(command.Context())
		},
	}
	flags := command.Flags()
	o.Declare(flags)
	o.DeclareCluster(flags)
	flags.StringVar(&o.Host, "host", "", "events of the host `NAME` or ID")
	flags.StringVar(&o.InfraEnv, "infra-env", "", "events of the InfraEnv `NAME` or ID")
	flags.StringSliceVar(&o.Severities, "severity", nil, "only these: `info|warning|error|critical`")
	flags.StringVar(&o.Message, "message", "", "only those whose message holds `TEXT`")
	flags.BoolVarP(&o.Watch, "watch", "w", false, "go on with those that come, until stopped")
	flags.DurationVar(&o.Every, "poll-interval", 5*time.Second, "`TIME` between looks, with -w")
	return command
}

func (o *eventsOptions) run(ctx context.Context) error {
	service, err := o.Dial(ctx)
	if err != nil {
		return err
	}
	filter, err := o.filter(ctx, service)
	if err != nil {
		return err
	}
	seen, first := 0, true
	var all []output.Event
	var of subject
	var lasting silence
	for {
		page, err := service.Events(ctx, filter, seen)
		if o.Watch {
			gone, failed := of.saw("", err)
			if gone && seen > 0 {
				o.Say("%v", err)
				seen = 0 // another object now has that id, with events of its own
			}
			err = lasting.tolerate(ctx, o.App, failed)
		}
		if err != nil {
			return err
		}
		seen += len(page.Events)
		for _, event := range page.Events {
			item := output.OfEvent(event)
			if !o.Watch {
				all = append(all, item)
				continue
			}
			if err := o.Globals.Format.PrintLine(o.IO.Out, o.result([]output.Event{item}, item), first); err != nil {
				return app.Printed(err)
			}
			first = false
		}
		if len(page.Events) > 0 && seen < page.Total {
			continue
		}
		if !o.Watch {
			return o.Print(o.result(all, output.List(all)))
		}
		if err := o.Clock.Sleep(ctx, max(o.Every, time.Second)); err != nil {
			return app.Stopped(ctx, "watch", err)
		}
	}
}

func (o *eventsOptions) filter(ctx context.Context, service *install.Client) (install.EventFilter, error) {
	filter := install.EventFilter{Severities: o.Severities, Message: o.Message}
	switch {
	case o.Host != "":
		host, err := service.FindHost(ctx, install.Target{}, o.Host)
		filter.HostID, filter.InfraEnvID = host.ID, host.InfraEnvID
		return filter, err
	case o.InfraEnv != "":
		env, err := service.InfraEnvByNameOrID(ctx, o.InfraEnv)
		filter.InfraEnvID = env.ID
		return filter, err
	}
	seen, err := o.FindCluster(ctx, service, o.Target)
	if err != nil {
		return filter, err
	}
	filter.ClusterID = seen.Ref.ID
	return filter, nil
}

func (o *eventsOptions) result(items []output.Event, data any) printer.Result {
	names := output.Each(items, func(item output.Event) string { return "event/" + item.Name })
	return printer.Result{Data: data, Names: names, Table: func() printer.Table {
		return printer.Table{Empty: "no events", Columns: []printer.Column{
			{Name: "TIME                "}, {Name: "SEVERITY"}, {Name: "NAME", Wide: true}, {Name: "HOST", Wide: true},
			{Name: "MESSAGE", Prose: true},
		}, Rows: output.Each(items, func(e output.Event) []string {
			at := ""
			if e.Time != nil {
				at = e.Time.Format(time.RFC3339)
			}
			return []string{at, e.Severity, e.Name, e.HostID, e.Message}
		})}
	}}
}
