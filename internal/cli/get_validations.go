package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install"
)

func (a *app) getValidationsCommand() *cobra.Command {
	t := &target{}
	all := false
	command := &cobra.Command{
		Use:     "validations CLUSTER|ID|-f FILE",
		Aliases: []string{"validation"},
		Short:   "List the service's checks of a cluster and its hosts that do not pass",
		Example: `  oaictl get validations lab
  oaictl get validations -f cluster.yaml --all -o wide`,
		RunE: func(command *cobra.Command, given []string) error {
			if err := t.read(command, given, "cluster"); err != nil {
				return err
			}
			return a.getValidations(command.Context(), *t, all)
		},
	}
	t.declare(command.Flags())
	command.Flags().BoolVar(&all, "all", false, "those that pass, too")
	return command
}

func (a *app) getValidations(ctx context.Context, t target, all bool) error {
	service, err := a.dial(ctx)
	if err != nil {
		return err
	}
	seen, err := a.look(ctx, service, t)
	if err != nil {
		return err
	}
	items := document.OfValidations("", seen.observed.Cluster.Validations)
	for _, m := range install.Match(seen.desired().Spec, seen.observed) {
		if m.Host != nil {
			items = append(items, document.OfValidations(document.OfHost(*m.Host, m.Name).Name, m.Host.Validations)...)
		}
	}
	shown := items[:0:0]
	var names []string
	for _, item := range items {
		if !all && (strings.HasPrefix(item.Status, "success") || item.Status == "disabled") {
			continue
		}
		shown = append(shown, item)
		names = append(names, "validation/"+item.ID)
	}
	return a.print(printer.Result{Data: document.List(shown), Names: names, Table: func() printer.Table {
		table := printer.Table{Empty: "every check passes", Columns: []printer.Column{
			{Name: "OF"}, {Name: "VALIDATION"}, {Name: "STATUS"}, {Name: "CATEGORY", Wide: true}, {Name: "MESSAGE"},
		}}
		for _, v := range shown {
			of := "cluster"
			if v.Host != "" {
				of = v.Host
			}
			table.Rows = append(table.Rows, []string{of, v.ID, v.Status, v.Category, strings.Join(strings.Fields(v.Message), " ")})
		}
		return table
	}})
}
