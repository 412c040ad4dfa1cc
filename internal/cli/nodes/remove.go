package nodes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

type removeOptions struct {
	app.Removing
	app.Target
	Yes    bool
	DryRun bool

	nodes []string
}

// NewRemove is `remove-node`.
func NewRemove(a *app.App) *cobra.Command {
	o := &removeOptions{Removing: app.Removing{App: a}}
	command := &cobra.Command{
		Use:     "remove-node NODE...",
		Aliases: []string{"remove-nodes"},
		Short:   "Drain nodes, and take them out of an installed cluster",
		RunE:    app.After(o.check, o.run),
	}
	flags := command.Flags()
	o.Target.Declare(flags)
	o.DeclareOfHost(flags)
	flags.StringVar(&o.ToCluster.Dir, "dir", ".", "`DIR` below which the cluster's results are, as DIR/CLUSTER")
	o.ToCluster.Declare(flags)
	o.Removing.Declare(flags)
	flags.BoolVar(&o.Yes, "yes", false, "do not ask")
	flags.BoolVar(&o.DryRun, "dry-run", false, "only show what would be done")
	flags.DurationVar(&o.Timeout, "timeout", 4*time.Hour, "give up watching after this `TIME`")
	flags.DurationVar(&o.UserTimeout, "user-timeout", time.Hour, "give up watching when a person has been needed for this `TIME`")
	app.DeclareBMCProxy(flags, &o.BMCProxy)
	return command
}

func (o *removeOptions) check(_ *cobra.Command, given []string) error {
	o.nodes = given
	switch {
	case len(o.nodes) == 0:
		return app.Usagef("remove-node needs the NAME of a node, or of its host")
	case o.Cluster != "" && o.File != "":
		return app.Usagef("remove-node accepts --cluster or -f FILE, not both")
	case o.Yes && o.Cluster == "" && o.File == "":
		return app.Usagef("--yes needs --cluster NAME or -f FILE, because with --yes the command does not ask whether the cluster is correct")
	}
	return o.Check()
}

func (o *removeOptions) run(ctx context.Context) error {
	service, err := o.Dial(ctx)
	if err != nil {
		return err
	}
	found, err := o.find(ctx, service)
	if err != nil {
		return err
	}
	desired := found.Desired()
	if desired.Options, err = o.Of(ctx, found.Ref, o.nodes...); err != nil {
		return err
	}
	client, err := o.Client(service, found)
	if err != nil {
		return err
	}
	plan, observed, err := client.PlanRemoval(ctx, desired)
	switch {
	case err != nil:
		return err
	case o.DryRun:
		return o.show(desired, observed, plan)
	case plan.Fault != nil:
		return plan.Fault
	}
	if plan.Verdict == model.VerdictInstalled {
		return o.gone(plan)
	}
	if err := o.confirm(desired, plan); err != nil {
		return err
	}
	return o.Removing.Run(ctx, client, desired)
}

// find finds the cluster of the nodes: that of the file, the one that is named, or that of the
// first node's host.
func (o *removeOptions) find(ctx context.Context, service *install.Client) (*install.Found, error) {
	switch {
	case o.File != "":
		return o.ofFile(ctx, service)
	case o.Cluster != "":
		return service.Inspect(ctx, install.Target{Name: o.Cluster})
	}
	host, err := service.FindHost(ctx, install.Target{}, o.nodes[0])
	if fault, is := errors.AsType[*model.Fault](err); is && fault.Code == model.CodeNotFound {
		named := *fault
		named.Next = model.Advicef("%s; or, if the service does not know the node, give the name of its cluster: {remove-node "+
			"%s --cluster NAME}",
			fault.Next, listtext.Quoted(o.nodes[0]))
		return nil, &named
	}
	if err != nil {
		return nil, err
	}
	if host.ClusterID == "" {
		return nil, app.NotFound("find the cluster of", o.nodes[0], "in the service, this host belongs to no cluster",
			model.Command("delete host", host.ID))
	}
	return service.InspectHost(ctx, host, install.Target{})
}

// ofFile finds the cluster that a file describes, or that it adds hosts to.
func (o *removeOptions) ofFile(ctx context.Context, service *install.Client) (*install.Found, error) {
	cluster, err := o.LoadAny(ctx, o.File, app.Foreign{AcceptUnknownHosts: true})
	if err != nil {
		return nil, err
	}
	return service.Inspect(ctx, install.Target{Spec: cluster, Name: o.IDOnHub(cluster)})
}

// gone reports that nothing is left to do.
func (o *removeOptions) gone(plan model.Plan) error {
	return o.Changed(output.Each(plan.Removals, func(r model.NodeRemoval) output.Changed {
		return output.Changed{Kind: "node", Name: r.Node, ID: r.Node, Done: "gone already"}
	})...)
}

// confirm says all that will be done, and asks once. What was agreed to is what was shown: a node
// that is created again meanwhile is another.
func (o *removeOptions) confirm(desired *model.Desired, plan model.Plan) error {
	o.Agree(desired, plan)
	o.Say("%s", escape.Text(strings.TrimSuffix(app.RemovalText(desired, o.Hinted(plan)), "\n")))
	nodes := output.Each(plan.Removals, func(r model.NodeRemoval) string { return r.Node })
	return o.Confirm(o.Yes, fmt.Sprintf("remove %s from %s?", listtext.ListText(nodes), desired.FullName()))
}

// show prints what would be done.
func (o *removeOptions) show(desired *model.Desired, observed *model.Observed, plan model.Plan) error {
	then := (&install.Look{Desired: desired, Observed: observed, Plan: plan}).Then()
	plan = o.Hinted(plan)
	keys := output.Each(plan.Actions, func(a model.Action) string { return a.Key })
	return o.Print(printer.Result{Data: output.OfPlan(plan, then), Names: keys, Text: func() string {
		return app.RemovalText(desired, plan)
	}})
}
