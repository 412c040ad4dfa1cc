package create

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
)

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
	o.Say("No host has the name %s; this is the Machine with this name.", o.Name)
	return o.explainMachine(ctx, service, m)
}

// explainMachine shows what blocks a Machine, and its host if that has registered.
func (o *whyOptions) explainMachine(ctx context.Context, service *install.Client, m machinecause.Machine) error {
	seen, ofHost := &install.Found{}, model.Plan{}
	if m.Host != nil {
		found, plan, err := o.explainHost(ctx, service, *m.Host, install.Target{})
		switch {
		case err == nil:
			seen, ofHost = found, plan
		case ctx.Err() != nil:
			return err
		default: // what is known of the Machine is worth saying without it
			o.Warn("its host %s cannot be read: %v", m.Host.DisplayName(), err)
		}
	}
	plan := o.Hinted(machinePlan(&m, &ofHost))
	plan.Blockers = withoutRepeated(append(plan.Blockers, ofHost.Blockers...), func(b model.Blocker) string { return b.Message })
	plan.Waits = withoutRepeated(append(plan.Waits, ofHost.Waits...), func(w model.Wait) string { return w.For })
	plan.Warnings, plan.Checks = ofHost.Warnings, ofHost.Checks
	doc := output.OfWhy(m.Name, cmp.Or(m.Phase, "not read yet"), plan)
	shown := output.OfMachine(m)
	doc.Machine = &shown
	return o.show(seen, plan, doc)
}

// machinePlan has the causes of a Machine as blockers and waits. What the whole cluster is held up by is only waited for
// where it is this host.
func machinePlan(m *machinecause.Machine, ofHost *model.Plan) model.Plan {
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
func whatOf(doc output.Why) string {
	if doc.Machine != nil {
		return "Machine " + doc.Machine.ID
	}
	return doc.Cluster
}

// hostOfMachine says which host a Machine has, nothing for none.
func hostOfMachine(m *output.Machine) string {
	switch {
	case m == nil, m.HostID == "" && len(m.Causes) == 0: // a node, whose host may be another service's
		return ""
	case m.HostID == "":
		return "It has no host yet.\n"
	}
	return escape.Sprintf("Its host is %s, which is %s.\n", m.Host, m.State)
}
