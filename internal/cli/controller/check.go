package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/capi"
	"github.com/oaictl/oaictl/pkg/install/model"
	installrest "github.com/oaictl/oaictl/pkg/install/rest"
)

type checkOptions struct {
	*app.App
	shared
	check func(ctx context.Context, connection *rest.Config, options capi.Options) (*capi.Report, error)
}

func newCheck(o *checkOptions) *cobra.Command {
	command := &cobra.Command{
		Use:   "check",
		Short: "Look whether the providers can be installed in a management cluster",
		Args:  app.NoArguments,
		RunE:  app.Run(o.run),
	}
	o.shared.declare(command)
	return command
}

// found is what was found, for -o json.
type found struct {
	Running []obstacle `json:"running"`
	Foreign []obstacle `json:"foreign"`
	Missing []string   `json:"missing"`
	Unknown []string   `json:"unknown"`
}

type obstacle struct {
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

func (o *checkOptions) run(ctx context.Context) error {
	providers, err := o.providers()
	if err != nil {
		return err
	}
	if err := app.OneOf("--backend", o.Backend, app.BackendHub, app.BackendREST); err != nil {
		return err
	}
	connection, err := o.Globals.Kube.Config()
	if err != nil {
		return err
	}
	of := capi.Options{Providers: providers, Clock: o.Clock}
	if o.Backend == app.BackendREST {
		of.Service = (*installrest.Plane)(nil) // nothing is asked of it
	}
	report, err := o.check(ctx, connection, of)
	if err != nil {
		return err
	}
	if err := o.Print(printer.Result{Data: documentOf(report), Names: namesOf(report),
		Text: func() string { return o.text(report) }}); err != nil {
		return err
	}
	fault := &model.Fault{
		Code: model.CodeNotFound, Op: "install the providers in", On: strings.TrimSuffix(connection.Host, "/"), Permanent: true,
	}
	missing := report.MissingHub()
	switch {
	case len(report.Running) > 0:
		fault.Err = errors.New("another project with the same kinds is there, and two would install the same hosts")
		fault.Next = "do what is said above, as " + capi.Migration + " says; then {controller check}"
	case o.Backend == app.BackendHub && len(missing) > 0:
		fault.Err = fmt.Errorf("it is no hub: these kinds of the assisted-service and of Hive are not there: %s", strings.Join(missing, ", "))
		fault.Next = "install their operators first, or give the kubeconfig of a hub; " +
			"providers for a service without a hub: {controller check --backend rest}"
	default:
		return nil
	}
	return fault
}

func documentOf(r *capi.Report) found {
	list := func(of []capi.Obstacle) []obstacle {
		out := []obstacle{}
		for _, each := range of {
			out = append(out, obstacle(each))
		}
		return out
	}
	return found{Running: list(r.Running), Foreign: list(r.Foreign), Missing: append([]string{}, r.Missing...),
		Unknown: append([]string{}, r.Unknown...)}
}

func namesOf(r *capi.Report) []string {
	var names []string
	for _, each := range slices.Concat(r.Running, r.Foreign) {
		names = append(names, each.What)
	}
	return names
}

func (o *checkOptions) text(r *capi.Report) string {
	var text strings.Builder
	for _, each := range r.Running {
		text.WriteString(escape.Sprintf("in the way: %s\n  do: %s\n", each.What, each.Remedy))
	}
	for _, each := range r.Foreign {
		text.WriteString(escape.Sprintf("replaced: %s\n  %s\n", each.What, each.Remedy))
	}
	for _, each := range r.Unknown {
		text.WriteString(escape.Sprintf("not known: %s\n", each))
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(&text, "not there yet: %s\n", strings.Join(r.Missing, ", "))
	}
	if len(r.Running) == 0 && (o.Backend != app.BackendHub || len(r.MissingHub()) == 0) {
		text.WriteString("Nothing is in the way of the providers.\n")
	}
	return text.String()
}
