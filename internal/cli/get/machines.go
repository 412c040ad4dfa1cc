package get

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func newGetMachines(a *app.App) *cobra.Command {
	o := &getOptions{App: a}
	command := &cobra.Command{
		Use:     "machines [CLUSTER|ID]",
		Aliases: []string{"machine"},
		Short:   "List the Machines of Cluster API, each with its host and its problem",
		Args:    app.OneArgumentAtMost,
		RunE: func(command *cobra.Command, given []string) error {
			if len(given) == 1 {
				o.Name = given[0]
			}
			return show(command.Context(), o, listing[output.Machine]{
				asked: true,
				read:  o.machines,
				key:   func(m output.Machine) string { return m.ID },
				name:  func(m output.Machine) string { return "machine/" + m.Name },
				table: o.machineTable,
				gone:  func(m output.Machine) output.Machine { m.Phase = deleted; return m },
			})
		},
	}
	o.watchOptions.declare(command.Flags())
	return command
}

func (o *getOptions) machines(ctx context.Context, service *install.Client) ([]output.Machine, error) {
	all, err := app.Machines(ctx, service)
	if err != nil {
		return nil, err
	}
	var clusters []string
	var of []machinecause.Machine
	for _, m := range all {
		if o.Name == "" || o.Name == m.Cluster || strings.HasSuffix(m.Cluster, "/"+o.Name) {
			of = append(of, m)
		}
		if !slices.Contains(clusters, m.Cluster) {
			clusters = append(clusters, m.Cluster)
		}
	}
	if len(of) == 0 && len(all) > 0 {
		return nil, app.NotFound("list Machines of", o.Name,
			fmt.Sprintf("no Machine is of a Cluster of that name or id; there are Machines of %s", listtext.ListText(clusters)), "{get machines}")
	}
	return output.Each(of, output.OfMachine), nil
}

// longWait is how many bytes a cause has that is shown for one Machine alone, where others have the same.
const longWait = 60

// waitsFor is what each Machine waits for. A long text that several have is with the first of them, and the others refer to it.
func waitsFor(items []output.Machine) []string {
	first := map[string]string{}
	return output.Each(items, func(m output.Machine) string {
		if name, again := first[m.WaitsFor]; again {
			return "the same as " + name
		}
		if len(m.WaitsFor) > longWait {
			first[m.WaitsFor] = m.Name
		}
		return m.WaitsFor
	})
}

func (o *getOptions) machineTable(items []output.Machine) printer.Table {
	waits := waitsFor(items)
	rows := output.Each(items, func(m output.Machine) []string {
		return []string{
			m.Name, m.ClusterID, string(m.Role), m.Phase, m.Host, string(m.State), m.Node,
			m.Infrastructure, m.InfraEnvID, m.BareMetalHost, m.HostID, o.FormatTime(m.Created),
		}
	})
	for i := range rows {
		rows[i] = append(rows[i], waits[i])
	}
	return printer.Table{Empty: "no Machines", Columns: []printer.Column{
		{Name: "NAME"}, {Name: "CLUSTER", Wide: o.Name != "", Cut: true}, {Name: "ROLE", Wide: true}, {Name: "PHASE"}, {Name: "HOST", Cut: true},
		{Name: "STATE", Wide: true},
		{Name: "NODE", Wide: true}, {Name: "INFRASTRUCTURE", Wide: true}, {Name: "INFRAENV", Wide: true}, {Name: "BAREMETALHOST", Wide: true},
		{Name: "HOST ID", Wide: true}, {Name: "CREATED", Wide: true}, {Name: "WAITS FOR", Prose: true},
	}, Rows: rows}
}

// nameMachines says which Machine each host is, where the format shows it and there are Machines to be seen. A watch
// leaves that out: it would ask for all of them with each look.
func (o *getOptions) nameMachines(ctx context.Context, service *install.Client, hosts []output.Host) error {
	if o.Watch || o.Globals.Backend != app.BackendHub || o.Globals.Format.Is("table") || o.Globals.Format.Is("name") {
		return nil
	}
	all, err := app.Machines(ctx, service)
	if errors.Is(err, hub.ErrNoClusterAPI) || model.FaultOf(err).Code == model.CodeAuth {
		return nil
	}
	if err != nil {
		return err
	}
	of := map[string]string{}
	for _, m := range all {
		if m.Host != nil {
			of[m.Host.ID] = m.Name
		}
	}
	for i := range hosts {
		hosts[i].Machine = of[hosts[i].ID]
	}
	return nil
}
