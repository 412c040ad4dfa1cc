package look

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install"
)

func newGetValidations(a *base.App) *cobra.Command {
	t, w := &base.Target{}, &watchOptions{}
	all := false
	command := &cobra.Command{
		Use:     "validations CLUSTER|ID|-f FILE",
		Aliases: []string{"validation"},
		Short:   "List the service's checks of a cluster and its hosts that do not pass",
		Example: `  oaictl get validations lab
  oaictl get validations -f cluster.yaml --all -o wide
  oaictl get validations lab -w`,
		RunE: func(command *cobra.Command, given []string) error {
			if err := t.Read(command, given, "cluster"); err != nil {
				return err
			}
			return getValidations(command.Context(), a, *t, all, *w)
		},
	}
	t.Declare(command.Flags())
	w.declare(command.Flags())
	command.Flags().BoolVar(&all, "all", false, "those that pass, too")
	return command
}

func getValidations(ctx context.Context, a *base.App, t base.Target, all bool, w watchOptions) error {
	service, err := a.Dial(ctx)
	if err != nil {
		return err
	}
	of := &subject{name: t.Name}
	return show(ctx, a, w, listing[document.Validation]{
		read:  func(ctx context.Context) ([]document.Validation, error) { return validationsOf(ctx, a, service, t, of) },
		key:   func(v document.Validation) string { return v.Host + "/" + v.ID },
		name:  func(v document.Validation) string { return "validation/" + v.ID },
		shown: func(v document.Validation) bool { return all || fails(v) },
		table: validationTable,
		gone:  func(v document.Validation) document.Validation { v.Status = deleted; return v },
	})
}

// validationsOf are the checks of a cluster, and behind them those of its hosts.
func validationsOf(ctx context.Context, a *base.App, service *install.Client, t base.Target, of *subject) ([]document.Validation, error) {
	seen, err := lookAgain(ctx, a, service, t, of)
	if err != nil || seen == nil {
		return nil, err
	}
	items := document.OfValidations("", seen.Observed.Cluster.Validations)
	for _, m := range install.NewSnapshot(seen.Desired(), seen.Observed).Hosts() {
		if m.Host != nil {
			items = append(items, document.OfValidations(document.OfHost(*m.Host, m.Name).Name, m.Host.Validations)...)
		}
	}
	return items, nil
}

// fails says whether a check stands in the way, or may.
func fails(v document.Validation) bool {
	return !strings.HasPrefix(v.Status, "success") && v.Status != "disabled"
}

func validationTable(items []document.Validation) printer.Table {
	table := printer.Table{Empty: "every check passes", Columns: []printer.Column{
		{Name: "OF"}, {Name: "VALIDATION"}, {Name: "STATUS"}, {Name: "CATEGORY", Wide: true}, {Name: "MESSAGE"},
	}}
	for _, v := range items {
		table.Rows = append(table.Rows, []string{cmp.Or(v.Host, "cluster"), v.ID, v.Status, v.Category, strings.Join(strings.Fields(v.Message), " ")})
	}
	return table
}
