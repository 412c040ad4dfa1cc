package create

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/cli/runlog"
	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/bmc"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type planOptions struct {
	runOptions
	simulation
	ToCluster     app.ToCluster
	ResendSecrets bool
}

// NewPlan is `plan`.
func NewPlan(a *app.App) *cobra.Command {
	o := &planOptions{runOptions: runOptions{App: a}}
	command := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what create cluster or add-node would do, and do nothing",
		Args:  app.NoArguments,
		RunE:  app.Run(o.run),
	}
	flags := command.Flags()
	flags.StringVarP(&o.File, "file", "f", "",
		"`FILE` with the cluster, or with hosts that are added to one (kind Nodes), - for standard input")
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` below which results would be written")
	o.ToCluster.Declare(flags)
	flags.BoolVar(&o.Reimage, "reimage", false, "plan with changes that make a new image")
	flags.StringVar(&o.Adopt, "adopt", "", "plan with taking over the cluster `ID`")
	flags.BoolVar(&o.ResendSecrets, "resend-secrets", false, "plan with sending the secrets again")
	flags.BoolVar(&o.boot.RebootRunning, "reboot-running", false, "plan with rebooting machines that are on and have not registered")
	flags.StringVar(&o.boot.MediaURL, "media-url", "", "plan with telling BMCs this `URL` for their machines' images")
	o.foreign.Declare(flags)
	app.DeclareBMCProxy(flags, &o.boot.BMCProxy)
	o.boot.flags = flags
	o.simulation.declare(flags, "plan with a simulated service and simulated machines: a cluster that nothing has been done about yet")
	return command
}

func (o *planOptions) run(ctx context.Context) error {
	if o.File == "" {
		return app.Usagef("plan needs -f FILE")
	}
	if err := o.boot.check(false); err != nil {
		return err
	}
	if err := o.simulation.check(&o.runOptions); err != nil {
		return err
	}
	cluster, err := o.LoadAny(ctx, o.File, o.foreign)
	if err != nil {
		return err
	}
	if err := o.CheckBackend(cluster); err != nil {
		return err
	}
	if o.Simulate && cluster.Existing() != "" {
		return app.Usagef("plan --simulate needs a file of kind Cluster: a simulated service has no cluster to which hosts can be added")
	}
	if cluster, err = o.known(ctx, cluster); err != nil {
		return err
	}
	dial := o.dial
	if o.Simulate {
		dial = func(ctx context.Context, log *runlog.Log) (*install.Client, func(), error) {
			return o.simulate(ctx, o.simulation, cluster, log)
		}
	}
	service, stop, err := dial(ctx, nil)
	if err != nil {
		return err
	}
	defer stop()
	desired := &model.Desired{Spec: cluster, Options: model.Options{
		Reimage: o.Reimage, Adopt: o.Adopt, ResendSecrets: o.ResendSecrets, RebootRunning: o.boot.RebootRunning,
	}}
	if cluster.Existing() != "" {
		o.addNodes(desired)
	}
	return o.show(ctx, service, desired)
}

// addNodes plans what add-node does.
func (o *planOptions) addNodes(desired *model.Desired) {
	desired.Options.AddNodes, desired.Options.ClusterKubeconfig = true, o.ToCluster.Kubeconfig
	o.ToCluster.Dir = o.Dir
	o.withNodes = func(service *install.Client, trace func(install.Call)) []install.Config {
		return []install.Config{{Nodes: o.Nodes(service, o.ToCluster, desired.Spec, trace)}}
	}
}

func (o *runOptions) show(ctx context.Context, service *install.Client, desired *model.Desired) error {
	booted := desired.ToBoot().BootedByBMC()
	installer, err := observingClient(o.App, service, location{o.File, o.Dir}, desired.Spec.Metadata.Name, booted, o.boot.BMCProxy)
	if err != nil {
		return err
	}
	if o.withNodes != nil {
		installer = installer.With(o.withNodes(service, o.Tracer(nil))...)
	}
	plan, observed, err := installer.Plan(ctx, desired)
	if err != nil {
		return err
	}
	then := (&install.Look{Desired: desired, Observed: observed, Plan: plan}).Then()
	if warning := o.unserved(ctx, booted); warning != nil {
		plan.Warnings = append(plan.Warnings, *warning)
	}
	plan = o.Hinted(location{o.File, o.Dir}.completePlan(plan))
	names := output.Each(plan.Actions, func(action model.Action) string { return action.Key })
	return o.Print(printer.Result{
		Data:  output.OfPlan(plan, then),
		Names: names,
		Text:  func() string { return planText(desired, plan, then, o.Globals.Format.Is("wide")) },
	})
}

// unserved warns that create cluster would not know where BMCs find their images.
func (o *runOptions) unserved(ctx context.Context, booted []*spec.Host) *model.Warning {
	if len(booted) == 0 {
		return nil
	}
	// A name or a missing host means any address, as with net.Listen.
	at, err := netip.ParseAddrPort(cmp.Or(o.boot.MediaListen, app.MediaListen))
	if err != nil {
		at = netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
	}
	if _, err = o.boot.mediaURL(ctx, at, booted, bmc.Route); err == nil {
		return nil
	}
	return &model.Warning{
		Key: "machines/media-url", Scope: model.ScopeCluster, Reason: "MediaURLUnknown",
		Message: "create cluster would not start: " + err.Error(), Next: "give --media-url",
	}
}

func planText(desired *model.Desired, plan model.Plan, then []model.Step, wide bool) string {
	var text strings.Builder
	name := desired.Spec.Metadata.Name + "." + desired.Spec.Spec.BaseDomain
	says := plan.Message
	switch verdict := string(plan.Verdict); {
	case len(plan.Actions) > 0:
		says = listtext.CountText(len(plan.Actions), "change") + " to make"
	case says == "":
		says = verdict
	case !strings.HasPrefix(says, verdict): // the message may well begin with that word
		says = verdict + ", " + says
	}
	escape.Fprintf(&text, "%s: %s\n", name, says)
	app.Section(&text, "To do", plan.Actions, func(a model.Action) string { return actionText(a, wide) })
	app.Section(&text, "Disks that the install will write over", plan.Wipes, wipeText)
	app.Section(&text, "In the way", plan.Blockers, func(b model.Blocker) string { return blockerText(desired.Spec, b) })
	app.Section(&text, "To wait for", plan.Waits, func(w model.Wait) string { return waitText(w, fmt.Sprintf(" (%s)", w.Who)) })
	app.Section(&text, "Then", then, stepText)
	app.Section(&text, "To know", plan.Warnings, func(w model.Warning) string {
		line := escape.Sprintf("  ! %s\n", w.Message)
		if w.Next != "" {
			line += escape.Sprintf("    Next: %s\n", w.Next)
		}
		return line
	})
	if missing := missingOf(plan); len(missing) > 0 {
		escape.Fprintf(&text, "\nNot there yet: %s\n", strings.Join(missing, ", "))
	}
	if plan.Next != "" && len(plan.Blockers) == 0 {
		escape.Fprintf(&text, "\nNext: %s\n", plan.Next)
	}
	return text.String()
}

// missingOf are the hosts of the file that have not come: what is done to one says itself how far it is.
func missingOf(plan model.Plan) []string {
	return slices.DeleteFunc(slices.Clone(plan.Missing), func(host string) bool {
		return slices.ContainsFunc(plan.Actions, func(a model.Action) bool { return a.Name == host })
	})
}

// stepText has a point before what is done, and dots before what is waited for.
func stepText(s model.Step) string {
	if s.Kind == "" {
		return escape.Sprintf("  … %s\n", s.Message)
	}
	return escape.Sprintf("  · %s\n", s.Message)
}

// actionText has a plus for what is new, a tilde for a change, a minus for what is cleared.
func actionText(a model.Action, wide bool) string {
	sign := "+"
	switch {
	case a.Destructive:
		sign = "-"
	case a.Target != "":
		sign = "~"
	}
	head := fmt.Sprintf("  %s %s", sign, a.Kind)
	if a.Name != "" {
		head += " " + a.Name
	}
	if a.Scope != model.ScopeCluster {
		head += fmt.Sprintf(" (%s)", a.Scope)
	}
	if a.Destructive {
		head += " DESTRUCTIVE"
	}
	if a.Reason != "" {
		head += ": " + a.Reason
	}
	var text strings.Builder
	text.WriteString(escape.Word(head) + "\n")
	longest := 0
	for _, c := range a.Changes {
		longest = max(longest, len(c.Field))
	}
	for _, c := range a.Changes {
		pad := strings.Repeat(" ", longest-len(c.Field))
		switch {
		case c.From == "":
			escape.Fprintf(&text, "      + %s%s  %s\n", c.Field, pad, app.Shortened(c.To, wide))
		case c.To == "":
			escape.Fprintf(&text, "      - %s%s  %s\n", c.Field, pad, app.Shortened(c.From, wide))
		default:
			escape.Fprintf(&text, "      ~ %s%s  %s → %s\n", c.Field, pad, app.Shortened(c.From, wide), app.Shortened(c.To, wide))
		}
	}
	return text.String()
}

func wipeText(w model.Wipe) string {
	what := "formatted"
	if w.Install {
		what = "installed on"
	}
	return escape.Sprintf("  ! %s: %s, %s, will be %s\n", w.Host, w.Disk, bytesize.Text(w.Size), what)
}

func positionOf(c *spec.Cluster, field string) string {
	if file, line, column := c.Position(field); line > 0 {
		return fmt.Sprintf("%s:%d:%d: %s", file, line, column, field)
	}
	return field
}

func blockerText(c *spec.Cluster, b model.Blocker) string {
	text := escape.Sprintf("  ! %s\n", b.Message)
	if b.Field != "" {
		text += escape.Sprintf("    at %s\n", positionOf(c, b.Field))
	}
	if b.Remedy != "" {
		text += escape.Sprintf("    Next: %s\n", b.Remedy)
	}
	return text
}

// location completes what the library advises: it knows neither file nor results.
type location struct{ file, dir string }

func (p location) complete(next model.Advice) model.Advice {
	if p.file == "" {
		return next
	}
	return next.Map(func(command string) string {
		file := " -f " + listtext.Quoted(p.file)
		if rest, is := strings.CutPrefix(command, "add-node -f FILE"); is && p.dir != "." {
			return "add-node" + file + " --dir " + listtext.Quoted(p.dir) + rest
		}
		return strings.Replace(command, " -f FILE", file, 1)
	})
}

// observingClient is a client that also reads a cluster's results and its machines' BMCs.
func observingClient(a *app.App, service *install.Client, at location, cluster string, booted []*spec.Host,
	proxy string) (*install.Client, error) {
	options := []install.Config{{Files: install.Directory(at.dir)}}
	if len(booted) > 0 {
		machines, err := a.WatchMachines(filepath.Join(at.dir, cluster), proxy)
		if err != nil {
			return nil, err
		}
		options = append(options, install.Config{Machines: machines})
	}
	return service.With(options...), nil
}

func (o *runOptions) completeAdvice(next model.Advice) model.Advice {
	return location{o.File, o.Dir}.complete(next)
}

func (p location) completePlan(plan model.Plan) model.Plan {
	plan.Next = p.complete(plan.Next)
	for i := range plan.Blockers {
		plan.Blockers[i].Remedy = p.complete(plan.Blockers[i].Remedy)
	}
	for i := range plan.Warnings {
		plan.Warnings[i].Next = p.complete(plan.Warnings[i].Next)
	}
	for i := range plan.Waits {
		plan.Waits[i].Next = p.complete(plan.Waits[i].Next)
	}
	return plan
}
