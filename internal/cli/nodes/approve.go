// Package nodes has the commands that manage the nodes of an installed cluster: approve, import cluster and remove-node.
package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	"github.com/oaictl/oaictl/pkg/install/node"
)

type approveOptions struct {
	*app.App
	app.Target
	ToCluster app.ToCluster
	Approval  app.Approval
	Requests  []string
	Watch     bool

	nodes    []string
	ids      []string // of their hosts
	answered map[string]bool
}

// NewApprove is `approve`.
func NewApprove(a *app.App) *cobra.Command {
	o := &approveOptions{App: a, answered: map[string]bool{}}
	command := &cobra.Command{
		Use:     "approve NODE...",
		Aliases: []string{"approve-node"},
		Short:   "Approve certificate requests of nodes that are proven to be hosts just installed",
		RunE: func(command *cobra.Command, given []string) error {
			if len(given) == 0 {
				return app.Usagef("approve needs the NAME of a node, or of its host")
			}
			if o.Cluster != "" && o.File != "" {
				return app.Usagef("approve accepts --cluster or -f FILE, not both")
			}
			o.nodes = given
			return o.run(command.Context())
		},
	}
	flags := command.Flags()
	o.Declare(flags)
	o.DeclareOfHost(flags)
	flags.StringVar(&o.ToCluster.Dir, "dir", ".", "`DIR` below which the cluster's results are, as DIR/CLUSTER")
	o.ToCluster.Declare(flags)
	o.Approval.DeclareAllow(flags)
	flags.StringSliceVar(&o.Requests, "request", nil,
		"approve the request `NAME`, where only a person can say whether it is the node's (repeat it for more)")
	flags.BoolVar(&o.Watch, "watch", false, "go on as requests come, until stopped")
	return command
}

func (o *approveOptions) run(ctx context.Context) error {
	o.Approval.Mode = string(model.ApproveAuto)
	var options model.Options
	if err := o.Approval.Into(&options); err != nil {
		return err
	}
	service, found, err := o.find(ctx)
	if err != nil {
		return err
	}
	if err := app.CheckAllowed(&options, o.named(found.Observed)); err != nil {
		return err
	}
	desired := found.Desired()
	desired.Options = options
	plane := o.Nodes(service, o.ToCluster, found.Spec, o.Tracer(nil))
	client := service.With(install.Config{Nodes: plane, Files: install.Directory(o.ToCluster.Dir)})
	for {
		done, left, err := o.once(ctx, client, desired, found.Observed)
		if !o.Watch && err == nil {
			return o.report(done, left)
		}
		if err := o.goesOn(ctx, err); err != nil {
			return err
		}
		if err := o.await(ctx, plane); err != nil {
			return app.Stopped(ctx, "approve", err)
		}
		again, err := client.Inspect(ctx, install.Target{Spec: found.Spec, Name: found.Ref.ID})
		if err == nil {
			found = again
		}
		if err := o.goesOn(ctx, err); err != nil {
			return err
		}
	}
}

// goesOn is nil where --watch goes on: a passing error is reported.
func (o *approveOptions) goesOn(ctx context.Context, err error) error {
	fault, is := errors.AsType[*model.Fault](err)
	if err == nil || !o.Watch || ctx.Err() != nil || !is || fault.Permanent || fault.Code == model.CodeAuth || fault.Code == model.CodeInput {
		return err
	}
	o.Warn("%v; trying again", err)
	return nil
}

// find finds the cluster of the nodes: the one that is named, or that of the first.
func (o *approveOptions) find(ctx context.Context) (*install.Client, *install.Found, error) {
	service, err := o.Dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	in, err := o.ResolveTarget(ctx, o.OfHost())
	if err != nil {
		return nil, nil, err
	}
	host, err := service.FindHost(ctx, in, o.nodes[0])
	if err != nil {
		return nil, nil, err
	}
	found, err := service.InspectHost(ctx, host, in)
	if err != nil {
		return nil, nil, err
	}
	o.ids = []string{host.ID}
	for _, name := range o.nodes[1:] {
		host, err := service.FindHost(ctx, install.Target{Spec: found.Spec, Name: found.Ref.ID}, name)
		if err != nil {
			return nil, nil, err
		}
		o.ids = append(o.ids, host.ID)
	}
	return service, found, nil
}

// named are the names by which the hosts can be spoken of that requests are approved of.
func (o *approveOptions) named(observed *model.Observed) []string {
	named := slices.Clone(o.nodes)
	for _, id := range o.ids {
		if h := observed.HostByID(id); h != nil && h.Hostname != "" && !slices.Contains(named, h.Hostname) {
			named = append(named, h.Hostname)
		}
	}
	return named
}

// watchPause is how long --watch waits where nothing changes.
const watchPause = 30 * time.Second

func (o *approveOptions) await(ctx context.Context, plane *node.Plane) error {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	changed := errors.New("something has changed")
	go func() {
		select {
		case <-plane.Changed():
			cancel(changed)
		case <-within.Done():
		}
	}()
	if err := o.Clock.Sleep(within, watchPause); err != nil && !errors.Is(err, changed) {
		return err
	}
	return ctx.Err()
}

// once judges the requests that are pending, and approves those that are proven.
func (o *approveOptions) once(ctx context.Context, client *install.Client, desired *model.Desired,
	observed *model.Observed) (done, left []output.Request, err error) {
	verdicts, seen, err := client.Requests(ctx, desired, observed, o.ids)
	if err != nil {
		return nil, nil, err
	}
	verdicts, err = o.meant(verdicts, seen)
	if err != nil {
		return nil, nil, err
	}
	given := map[string]bool{} // hosts that got a client certificate: each gets one
	for _, v := range verdicts {
		if v.Kind == model.RequestClient && given[v.Host] {
			continue
		}
		if v.Decision == model.RequestIgnore || v.Decision == model.RequestWait && o.Watch {
			continue
		}
		by := "oaictl"
		if v.Decision == model.RequestAsk {
			yes, err := o.person(v)
			if err != nil {
				return done, left, err
			}
			if yes {
				v.Decision, by = model.RequestApprove, "person"
			}
		}
		if v.Decision != model.RequestApprove {
			if v.Newer == "" && (len(o.Requests) == 0 || o.asksFor(v)) {
				left = append(left, output.OfRequest(v))
			}
			continue
		}
		if err := client.Approve(ctx, desired, seen, v, by); err != nil {
			return done, left, err
		}
		given[v.Host] = given[v.Host] || v.Kind == model.RequestClient
		done = append(done, output.OfRequest(v))
		if o.Watch {
			o.Say("approved %s of %s, for a %s certificate", v.Name, v.Host, v.Kind)
		}
	}
	return done, left, nil
}

func (o *approveOptions) asksFor(v model.RequestVerdict) bool {
	return slices.Contains(o.Requests, v.Name)
}

// meant are the verdicts on requests of the nodes that are asked about. It refuses what cannot be the answer to any: a
// request that is not there, that is of another node, or that a newer one of the same kubelet has replaced.
func (o *approveOptions) meant(all []model.RequestVerdict, seen *model.Observed) ([]model.RequestVerdict, error) {
	hosts := map[string]bool{} // by the names that their nodes have
	for _, id := range o.ids {
		if h := seen.HostByID(id); h != nil {
			hosts[model.NodeName(h.Hostname)] = true
		}
	}
	of := slices.DeleteFunc(slices.Clone(all), func(v model.RequestVerdict) bool { return v.Host == "" || !hosts[v.Node] })
	if o.Watch { // which goes on until they come
		return of, nil
	}
	for _, name := range o.Requests {
		i := slices.IndexFunc(all, func(v model.RequestVerdict) bool { return v.Name == name })
		switch {
		case i < 0:
			return nil, app.NotFound("approve", name, "no kubelet has made a certificate request with that name",
				model.Command("get nodes", listtext.Quoted(seen.Cluster.Name)))
		case all[i].Reason == model.ReasonApproved:
			o.Say("the request %s is %s", name, all[i].Message)
		case all[i].Decision == model.RequestIgnore:
			return nil, o.refusal(all[i].Host, fmt.Errorf("the request %s is not pending: %s", name, all[i].Message),
				model.Command("get nodes", listtext.Quoted(seen.Cluster.Name)))
		case !slices.ContainsFunc(of, func(v model.RequestVerdict) bool { return v.Name == name }):
			return nil, o.refusal("", fmt.Errorf("the request %s does not belong to %s, but to %s: %s", name, listtext.ListText(o.nodes),
				cmp.Or(all[i].Node, "an unknown node"), all[i].Message), "give the name of that node")
		case all[i].Newer != "" && all[i].Decision != model.RequestApprove:
			newest := all[slices.IndexFunc(all, func(v model.RequestVerdict) bool { return v.Name == all[i].Newer })]
			return nil, o.refusal(newest.Host,
				fmt.Errorf("the request %s is not approved: %s is the newest request of that node, and its kubelet does not wait for older requests",
					name, newest.Name),
				nextOf(output.OfRequest(newest)))
		}
	}
	return of, nil
}

func (o *approveOptions) refusal(on string, why error, next model.Advice) error {
	return &model.Fault{Code: model.CodeFailure, Op: "approve", On: cmp.Or(on, listtext.ListText(o.nodes)), Permanent: true, Err: why,
		Next: next}
}

// person asks a person whether a request is approved, once.
func (o *approveOptions) person(v model.RequestVerdict) (bool, error) {
	if o.asksFor(v) {
		return true, nil
	}
	if !o.CanAsk() || o.answered[v.UID] || len(o.Requests) > 0 && !o.Watch {
		return false, nil
	}
	o.answered[v.UID] = true
	o.Say("%s", v.Message)
	return o.Ask(fmt.Sprintf("approve the request %s of %s for a %s certificate?", v.Name, v.Host, v.Kind))
}

func (o *approveOptions) report(done, left []output.Request) error {
	all := slices.Concat(done, left)
	approved := output.Each(done, func(r output.Request) string { return "csr/" + r.Name })
	err := o.Print(printer.Result{Data: all, Names: approved, Text: func() string {
		var text strings.Builder
		if len(all) == 0 {
			escape.Fprintf(&text, "no request of %s is pending\n", listtext.ListText(o.nodes))
		}
		for _, r := range done {
			escape.Fprintf(&text, "approved %s of %s, for a %s certificate\n", r.Name, r.Host, r.Kind)
		}
		for _, r := range left {
			escape.Fprintf(&text, "left pending %s: %s\n", r.Name, r.Message)
		}
		return text.String()
	}})
	if err != nil || len(left) == 0 {
		return err
	}
	first := left[0]
	fault := &model.Fault{Code: model.CodeFailure, Op: "approve", On: first.Host, Permanent: true,
		Err: fmt.Errorf("the request %s stays pending: %s", first.Name, first.Message)}
	fault.Next = nextOf(first)
	if model.RequestDecision(first.Decision) == model.RequestAsk {
		fault.Code = model.CodeNeedsUser
	}
	return fault
}

// nextOf is what a person can do about a request that is left pending.
func nextOf(r output.Request) model.Advice {
	switch model.RequestDecision(r.Decision) {
	case model.RequestAsk:
		words := []string{"approve", listtext.Quoted(r.Host)}
		for _, address := range r.Addresses {
			words = append(words, "--allow-address", listtext.Quoted(r.Host+"="+address))
		}
		if len(r.Addresses) == 0 {
			words = append(words, "--request", listtext.Quoted(r.Name))
		}
		return "if it is the node's: " + model.Command(words...)
	case model.RequestWait:
		return model.Command("approve", listtext.Quoted(r.Host), "--watch")
	}
	return model.Advicef("find out who asks for it; to approve it nevertheless: kubectl certificate approve %s", listtext.Quoted(r.Name))
}
