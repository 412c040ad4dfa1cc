package create

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type whyOptions struct {
	*app.App
	app.Target
	BMCProxy  string
	ToCluster app.ToCluster
}

// NewWhy is `why`.
func NewWhy(a *app.App) *cobra.Command {
	o := &whyOptions{App: a}
	command := &cobra.Command{
		Use:   "why [cluster|host|machine] NAME|ID|-f FILE",
		Short: "Show what blocks a cluster or host, with root causes and remedies",
		RunE: o.Then(func(ctx context.Context) error {
			if _, err := app.ProxyURL(o.BMCProxy); err != nil {
				return err
			}
			switch o.Kind {
			case "host":
				return o.host(ctx)
			case "machine":
				return o.machine(ctx)
			}
			return o.cluster(ctx)
		}, "cluster", "host", "machine"),
	}
	o.Declare(command.Flags())
	o.DeclareOfHost(command.Flags())
	app.DeclareBMCProxy(command.Flags(), &o.BMCProxy)
	o.ToCluster.Dir = "."
	o.ToCluster.Declare(command.Flags())
	return command
}

func (o *whyOptions) cluster(ctx context.Context) error {
	service, seen, err := app.DialFor(ctx, o.App, o.Target, o.ObserveCluster)
	if err != nil {
		return err
	}
	plan, err := o.explain(ctx, service, seen, "")
	if err != nil {
		return err
	}
	return o.show(seen, plan, output.OfWhy(seen.FullName(), string(seen.Observed.Cluster.State), plan))
}

// host shows what concerns one host of what blocks its cluster.
func (o *whyOptions) host(ctx context.Context) error {
	if o.Name == "" {
		return app.Usagef("why host needs a NAME or ID")
	}
	service, host, err := app.DialFor(ctx, o.App, o.Target, o.FindHost)
	if errors.Is(err, install.ErrNoHost) && o.OfHost() == (app.Target{}) {
		return o.machineInstead(ctx, service, err)
	}
	if err != nil {
		return err
	}
	in, err := o.ResolveTarget(ctx, o.OfHost())
	if err != nil {
		return err
	}
	seen, plan, err := o.explainHost(ctx, service, host, in)
	if err != nil {
		return err
	}
	return o.show(seen, plan, output.OfWhy(host.DisplayName(), string(host.State), plan))
}

func (o *whyOptions) explainHost(ctx context.Context, service *install.Client, host model.Host,
	in install.Target) (*install.Found, model.Plan, error) {
	seen, err := service.InspectHost(ctx, host, in)
	if err != nil {
		return nil, model.Plan{}, err
	}
	plan, err := o.explain(ctx, service, seen, host.ID)
	return seen, plan, err
}

func (o *whyOptions) explain(ctx context.Context, service *install.Client, seen *install.Found, host string) (model.Plan, error) {
	var booted []*spec.Host
	if seen.Spec != nil {
		booted = seen.Spec.BootedByBMC()
	}
	observing, err := observingClient(o.App, service, location{o.File, "."}, seen.Ref.Name, booted, o.BMCProxy)
	if err != nil {
		return model.Plan{}, err
	}
	observing = observing.With(install.Config{Nodes: o.Nodes(service, o.ToCluster, seen.Spec, o.Tracer(nil))})
	plan, observed, err := observing.Explain(ctx, seen.Desired(), seen.Observed, host)
	if err != nil {
		return model.Plan{}, err
	}
	seen.Observed = observed
	if seen.Spec != nil {
		plan = location{o.File, "."}.completePlan(plan)
	}
	return o.Hinted(plan), nil
}

func (o *whyOptions) show(seen *install.Found, plan model.Plan, doc output.Why) error {
	names := output.Each(doc.Blockers, func(blocker output.Blocker) string { return blocker.Reason })
	return o.Print(printer.Result{Data: doc, Names: names, Text: func() string { return whyText(seen, doc, plan) + o.knowsMore(seen, doc) }})
}

// knowsMore says what is known only from the file. Without it, the service alone says which hosts there are to be.
func (o *whyOptions) knowsMore(seen *install.Found, doc output.Why) string {
	if seen.Spec != nil || doc.Machine != nil {
		return ""
	}
	return "\nWith the cluster's file (why -f), oaictl can show more: which hosts have not registered yet, their names, and their BMCs.\n"
}

func whyText(seen *install.Found, doc output.Why, plan model.Plan) string {
	var text strings.Builder
	escape.Fprintf(&text, "%s is %s: ", whatOf(doc), doc.State)
	switch {
	case len(plan.Blockers) > 0:
		escape.Fprintf(&text, "%s in the way.\n", listtext.CountText(len(plan.Blockers), "thing"))
	case len(plan.Waits) > 0:
		escape.Fprintf(&text, "waiting for: %s.\n", strings.TrimSuffix(plan.Waits[0].For, "."))
	default:
		text.WriteString("nothing stands in the way.\n")
	}
	text.WriteString(hostOfMachine(doc.Machine))
	for i, b := range plan.Blockers {
		escape.Fprintf(&text, "\n%d. %s\n", i+1, b.Message)
		for _, line := range b.Says {
			escape.Fprintf(&text, "   %s\n", line)
		}
		field := b.Field
		if field != "" && seen.Spec != nil {
			field = positionOf(seen.Spec, field)
		}
		for _, line := range [][2]string{
			{"Usually", b.Usual}, {"Check", b.Check.String()}, {"Follows from it", strings.Join(b.Follows, ", ")}, {"Field", field},
			{"Next", b.Remedy.String()},
		} {
			if line[1] != "" {
				escape.Fprintf(&text, "   %s: %s\n", line[0], line[1])
			}
		}
	}
	app.Section(&text, "To wait for", plan.Waits, func(w model.Wait) string { return waitText(w, "") })
	app.Section(&text, "Only warnings", doc.Warnings, func(w output.Warning) string {
		return escape.Sprintf("  ! %s: %s\n", w.Reason, w.Message)
	})
	return text.String()
}

func waitText(w model.Wait, who string) string {
	text := escape.Sprintf("  … %s%s\n", w.For, who)
	if w.Who == model.WhoUser && w.Next != "" {
		text += escape.Sprintf("    Next: %s\n", w.Next)
	}
	return text
}
