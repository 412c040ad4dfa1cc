package create

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/names"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/machines"
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
		Short: "Say what stands in the way, by its root causes, and what to do",
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
	return o.show(seen, plan, document.OfWhy(seen.FullName(), string(seen.Observed.Cluster.State), plan))
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
	in, err := o.Meant(ctx, o.OfHost())
	if err != nil {
		return err
	}
	seen, plan, err := o.explainHost(ctx, service, host, in)
	if err != nil {
		return err
	}
	return o.show(seen, plan, document.OfWhy(host.DisplayName(), string(host.State), plan))
}

func (o *whyOptions) explainHost(ctx context.Context, service *install.Client, host model.Host, in install.Target) (*install.Found, model.Plan, error) {
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
	observing = observing.With(install.WithNodes(o.Nodes(service, o.ToCluster, seen.Spec, o.Tracer(nil))))
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

func (o *whyOptions) show(seen *install.Found, plan model.Plan, doc document.Why) error {
	names := document.Each(doc.Blockers, func(blocker document.Blocker) string { return blocker.Reason })
	return o.Print(printer.Result{Data: doc, Names: names, Text: func() string { return whyText(seen, doc, plan) + o.knowsMore(seen, doc) }})
}

// knowsMore says what is known only from the file. Without it, the service alone says which hosts there are to be.
func (o *whyOptions) knowsMore(seen *install.Found, doc document.Why) string {
	if seen.Spec != nil || doc.Machine != nil {
		return ""
	}
	return "\nWith the cluster's file (why -f), more is known: which hosts are still to come, their names, and their BMCs.\n"
}

func whyText(seen *install.Found, doc document.Why, plan model.Plan) string {
	var text strings.Builder
	escape.Fprintf(&text, "%s is %s: ", whatOf(doc), doc.State)
	switch {
	case len(plan.Blockers) > 0:
		escape.Fprintf(&text, "%s in the way.\n", names.Counted(len(plan.Blockers), "thing"))
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
			{"Usually", b.Usual}, {"Check", b.Check.String()}, {"Follows from it", strings.Join(b.Follows, ", ")}, {"Field", field}, {"Next", b.Remedy.String()},
		} {
			if line[1] != "" {
				escape.Fprintf(&text, "   %s: %s\n", line[0], line[1])
			}
		}
	}
	app.Section(&text, "To wait for", plan.Waits, func(w model.Wait) string { return waitText(w, "") })
	app.Section(&text, "Only warnings", doc.Warnings, func(w document.Warning) string {
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

func (o *whyOptions) machine(ctx context.Context) error {
	service, m, err := app.DialFor(ctx, o.App, o.Target, o.FindMachine)
	if err != nil {
		return err
	}
	return o.explainMachine(ctx, service, m)
}

// machineInstead explains the Machine of a name that no host has. If there is no Machine either, the error is that
// there is no host.
func (o *whyOptions) machineInstead(ctx context.Context, service *install.Client, noHost error) error {
	m, err := o.FindMachine(ctx, service, o.Target)
	switch {
	case errors.Is(err, app.ErrSeveralMachines):
		return err
	case err != nil:
		return noHost
	}
	o.Say("No host has the name %s; this is the Machine.", o.Name)
	return o.explainMachine(ctx, service, m)
}

// explainMachine shows what blocks a Machine, and its host if that has registered.
func (o *whyOptions) explainMachine(ctx context.Context, service *install.Client, m machines.Machine) error {
	seen, ofHost := &install.Found{}, model.Plan{}
	if m.Host != nil {
		found, plan, err := o.explainHost(ctx, service, *m.Host, install.Target{})
		switch {
		case err == nil:
			seen, ofHost = found, plan
		case ctx.Err() != nil:
			return err
		default: // what is known of the Machine is worth saying without it
			o.Warn("its host %s cannot be looked at: %v", m.Host.DisplayName(), err)
		}
	}
	plan := o.Hinted(machinePlan(&m, &ofHost))
	plan.Blockers = withoutRepeated(append(plan.Blockers, ofHost.Blockers...), func(b model.Blocker) string { return b.Message })
	plan.Waits = withoutRepeated(append(plan.Waits, ofHost.Waits...), func(w model.Wait) string { return w.For })
	plan.Warnings, plan.Checks = ofHost.Warnings, ofHost.Checks
	doc := document.OfWhy(m.Name, cmp.Or(m.Phase, "not looked at yet"), plan)
	shown := document.OfMachine(m)
	doc.Machine = &shown
	return o.show(seen, plan, doc)
}

// machinePlan has the causes of a Machine as blockers and waits. What the whole cluster is held up by is only waited for
// where it is this host.
func machinePlan(m *machines.Machine, ofHost *model.Plan) model.Plan {
	var plan model.Plan
	scope := model.Scope("machine/" + m.Name)
	for _, c := range m.Causes(len(ofHost.Blockers)+len(ofHost.Waits) > 0) {
		message := c.Of() + ": " + c.Message
		byHost := slices.ContainsFunc(ofHost.Blockers, func(b model.Blocker) bool { return strings.Contains(c.Message, b.Message) })
		if byHost && !c.OfControlPlane() {
			continue // the host says it itself, with what to do
		}
		if c.Passes || byHost {
			plan.Waits = append(plan.Waits, model.Wait{Scope: scope, For: message, Who: model.WhoService})
			continue
		}
		plan.Blockers = append(plan.Blockers, model.Blocker{Scope: scope, Reason: c.Reason, Message: message, Check: c.Look, Remedy: c.Remedy})
	}
	return plan
}

// withoutRepeated are the items without those that say the same as one before.
func withoutRepeated[T any](all []T, text func(T) string) []T {
	said := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(all), func(item T) bool {
		again := said[text(item)]
		said[text(item)] = true
		return again
	})
}

// whatOf is what is explained, for people.
func whatOf(doc document.Why) string {
	if doc.Machine != nil {
		return "Machine " + doc.Machine.ID
	}
	return doc.Cluster
}

// hostOfMachine says which host a Machine has, nothing for none.
func hostOfMachine(m *document.Machine) string {
	switch {
	case m == nil, m.HostID == "" && len(m.Causes) == 0: // a node, whose host may be another service's
		return ""
	case m.HostID == "":
		return "No host has come for it.\n"
	}
	return escape.Sprintf("Its host is %s, which is %s.\n", m.Host, m.State)
}
