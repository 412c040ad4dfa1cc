package nodes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/names"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type removeOptions struct {
	*base.App
	base.Target
	ToCluster   base.ToCluster
	Drain       install.DrainOptions
	KeepRunning bool
	AcceptLoss  bool
	Yes         bool
	DryRun      bool
	Timeout     time.Duration
	UserTimeout time.Duration
	BMCProxy    string

	nodes []string
	told  map[string]bool // warnings that were shown before
}

// NewRemove is `remove-node`.
func NewRemove(a *base.App) *cobra.Command {
	o := &removeOptions{App: a, told: map[string]bool{}}
	command := &cobra.Command{
		Use:     "remove-node NODE...",
		Aliases: []string{"remove-nodes"},
		Short:   "Drain nodes, and take them out of an installed cluster",
		RunE: func(command *cobra.Command, given []string) error {
			o.nodes = given
			if err := o.check(); err != nil {
				return err
			}
			return o.run(command.Context())
		},
	}
	flags := command.Flags()
	o.Declare(flags)
	o.DeclareOfHost(flags)
	flags.StringVar(&o.ToCluster.Dir, "dir", ".", "`DIR` below which the cluster's results are, as DIR/CLUSTER")
	o.ToCluster.Declare(flags)
	declareDrain(flags, &o.Drain)
	flags.BoolVar(&o.KeepRunning, "keep-running", false, "do not switch machines off; one that still runs comes back as a node when its kubelet starts next")
	flags.BoolVar(&o.AcceptLoss, "accept-data-loss", false, "permit to delete nodes with which LVM Storage deletes the volumes on them")
	flags.BoolVar(&o.Yes, "yes", false, "do not ask")
	flags.BoolVar(&o.DryRun, "dry-run", false, "only show what would be done")
	flags.DurationVar(&o.Timeout, "timeout", 4*time.Hour, "give up watching after this `TIME`")
	flags.DurationVar(&o.UserTimeout, "user-timeout", time.Hour, "give up watching when a person has been needed for this `TIME`")
	base.DeclareBMCProxy(flags, &o.BMCProxy)
	return command
}

// declareDrain declares the flags of kubectl drain, with its meanings and defaults.
func declareDrain(flags *pflag.FlagSet, o *install.DrainOptions) {
	flags.BoolVar(&o.Force, "force", false, "continue even if there are pods that do not declare a controller")
	flags.BoolVar(&o.IgnoreDaemonSets, "ignore-daemonsets", false, "ignore DaemonSet-managed pods")
	flags.BoolVar(&o.DeleteEmptyDirData, "delete-emptydir-data", false, "continue even if there are pods using emptyDir (local data that is deleted when the node is drained)")
	flags.IntVar(&o.GracePeriod, "grace-period", -1, "`SECONDS` given to each pod to terminate gracefully; if negative, what the pod says is used")
	flags.DurationVar(&o.Timeout, "drain-timeout", 0, "give up draining a node after this `TIME`, zero means never")
	flags.StringVar(&o.PodSelector, "pod-selector", "", "label `SELECTOR` to filter pods on the node")
	flags.BoolVar(&o.DisableEviction, "disable-eviction", false, "delete pods instead of evicting them; this bypasses PodDisruptionBudgets, use with caution")
	flags.IntVar(&o.SkipWaitForDelete, "skip-wait-for-delete-timeout", 0, "skip waiting for a pod that is being deleted for more than these `SECONDS`; they must be greater than 0 to skip")
}

func (o *removeOptions) check() error {
	switch {
	case len(o.nodes) == 0:
		return base.Usagef("remove-node needs the NAME of a node, or of its host")
	case o.Cluster != "" && o.File != "":
		return base.Usagef("remove-node takes --cluster or -f FILE, not both")
	case o.Yes && o.Cluster == "" && o.File == "":
		return base.Usagef("--yes goes with --cluster NAME or -f FILE: nobody is asked whether the cluster is the right one")
	case o.Timeout < 0 || o.UserTimeout < 0 || o.Drain.Timeout < 0 || o.Drain.SkipWaitForDelete < 0:
		return base.Usagef("a time is never negative")
	}
	if _, err := labels.Parse(o.Drain.PodSelector); err != nil {
		return base.Usagef("--pod-selector %q: %v", o.Drain.PodSelector, err)
	}
	_, err := base.ProxyURL(o.BMCProxy)
	return err
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
	desired.Options = install.Options{Adopt: found.Ref.ID, Remove: &install.Removal{
		Nodes: o.nodes, Drain: o.Drain, KeepRunning: o.KeepRunning, AcceptDataLoss: o.AcceptLoss,
	}}
	client, err := o.client(service, found)
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
	if plan.Verdict == install.VerdictInstalled {
		return o.gone(plan)
	}
	if err := o.confirm(desired, plan); err != nil {
		return err
	}
	return o.carryOut(ctx, client, desired)
}

// client looks at the installed cluster, and at the BMCs that the file names.
func (o *removeOptions) client(service *install.Client, found *install.Found) (*install.Client, error) {
	options := []install.Option{
		install.WithNodes(o.Nodes(service, o.ToCluster, found.Spec, o.Tracer(nil))), install.WithClock(o.Clock), install.WithTimeouts(o.Timeout, o.UserTimeout),
	}
	if found.Spec != nil && !o.KeepRunning {
		machines, err := o.WatchMachines(filepath.Join(o.ToCluster.Dir, found.Ref.Name), o.BMCProxy)
		if err != nil {
			return nil, err
		}
		options = append(options, install.WithMachines(machines))
	}
	return service.With(options...), nil
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
	if fault, is := errors.AsType[*install.Fault](err); is && fault.Code == install.CodeNotFound {
		named := *fault
		named.Next = advice.Sprintf("%s; or name the cluster of a node that the service has no record of: {remove-node %s --cluster NAME}", fault.Next, names.Quoted(o.nodes[0]))
		return nil, &named
	}
	if err != nil {
		return nil, err
	}
	if host.ClusterID == "" {
		return nil, base.NotFound("find the cluster of", o.nodes[0], "the service has that host in no cluster", advice.Command("delete host", host.ID))
	}
	return service.InspectHost(ctx, host, install.Target{})
}

// ofFile finds the cluster that a file describes, or that it adds hosts to.
func (o *removeOptions) ofFile(ctx context.Context, service *install.Client) (*install.Found, error) {
	cluster, err := o.LoadAny(ctx, o.File, base.Foreign{AcceptUnknownHosts: true})
	if err != nil {
		return nil, err
	}
	if cluster.Existing() == "" {
		return service.Inspect(ctx, install.Target{Spec: cluster, Name: o.IDOnHub(cluster)})
	}
	found, err := service.Inspect(ctx, install.Target{Name: cluster.Existing()})
	if err != nil {
		return nil, err
	}
	found.Spec, err = cluster.AddedTo(spec.Target{Name: found.Ref.Name, BaseDomain: found.Ref.BaseDomain, Arch: spec.Multi})
	return found, err
}

// gone says that nothing is left to do.
func (o *removeOptions) gone(plan install.Plan) error {
	return o.Changed(document.Each(plan.Removals, func(r install.NodeRemoval) document.Changed {
		return document.Changed{Kind: "node", Name: r.Node, ID: r.Node, Done: "gone already"}
	})...)
}

// confirm says all that will be done, and asks once. What was agreed to is what was shown: a node
// that is made anew meanwhile is another.
func (o *removeOptions) confirm(desired *install.Desired, plan install.Plan) error {
	desired.Options.Remove.UIDs = map[string]string{}
	for _, r := range plan.Removals {
		desired.Options.Remove.UIDs[r.Node] = r.UID
	}
	o.Say("%s", escape.Text(strings.TrimSuffix(outline(desired, o.Hinted(plan)), "\n")))
	for _, w := range plan.Warnings {
		o.told[w.Key] = true
	}
	nodes := document.Each(plan.Removals, func(r install.NodeRemoval) string { return r.Node })
	return o.Confirm(o.Yes, fmt.Sprintf("remove %s from %s?", names.Few(nodes), desired.FullName()))
}

// outline is what will be done to each node, and what a person should know before.
func outline(desired *install.Desired, plan install.Plan) string {
	var text strings.Builder
	for _, r := range plan.Removals {
		if len(r.Left) == 0 {
			escape.Fprintf(&text, "%s is gone from %s already.\n", r.Node, desired.FullName())
			continue
		}
		escape.Fprintf(&text, "DESTRUCTIVE: %s leaves %s:\n", r.Node, desired.FullName())
		for _, s := range r.Left {
			sign := "-"
			if s.Kind == "" {
				sign = "…"
			}
			escape.Fprintf(&text, "  %s %s\n", sign, s.Message)
		}
	}
	base.Section(&text, "To know", plan.Warnings, func(w install.Warning) string {
		line := escape.Sprintf("  ! %s\n", w.Message)
		if w.Next != "" {
			line += escape.Sprintf("    Next: %s\n", w.Next)
		}
		return line
	})
	base.Section(&text, "In the way", plan.Blockers, func(b install.Blocker) string {
		return escape.Sprintf("  ! %s\n    Next: %s\n", b.Message, b.Remedy)
	})
	return text.String()
}

// show prints what would be done.
func (o *removeOptions) show(desired *install.Desired, observed *install.Observed, plan install.Plan) error {
	then := install.NewSnapshot(desired, observed).Then(plan)
	plan = o.Hinted(plan)
	keys := document.Each(plan.Actions, func(a install.Action) string { return a.Key })
	return o.Print(printer.Result{Data: document.OfPlan(plan, then), Names: keys, Text: func() string {
		return outline(desired, plan)
	}})
}

// carryOut removes the nodes, and prints which.
func (o *removeOptions) carryOut(ctx context.Context, client *install.Client, desired *install.Desired) error {
	shown := o.Progress(ctx, o.Clock)
	result, failed := client.With(install.WithEvents(func(e install.Event) {
		if e.Type != model.EventWarning || !o.told[e.Key] || o.Globals.Progress == base.ProgressJSON {
			shown.Event(e)
		}
	})).Run(ctx, desired)
	shown.Close()
	var done []document.Changed
	for _, r := range result.Plan.Removals {
		if len(r.Left) == 0 && r.Found {
			done = append(done, document.Changed{Kind: "node", Name: r.Node, ID: r.Node, Done: "removed"})
		}
	}
	if o.Globals.Progress != base.ProgressJSON && (failed == nil || len(done) > 0) {
		if err := o.Changed(done...); err != nil {
			return errors.Join(failed, err)
		}
	}
	if failed == nil && result.Plan.Next != "" {
		o.Say("Next: %s", o.Hint(result.Plan.Next))
	}
	return failed
}
