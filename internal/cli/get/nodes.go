package get

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type nodesOptions struct {
	*getOptions
	ToCluster app.ToCluster
	client    *install.Client
	warned    string // that the cluster cannot be seen, and why
}

func newGetNodes(a *app.App) *cobra.Command {
	o := &nodesOptions{getOptions: &getOptions{App: a}}
	command := &cobra.Command{
		Use:     "nodes CLUSTER|ID|-f FILE",
		Aliases: []string{"node"},
		Short:   "List the machines of an installed cluster, each as host, machine and node in one row",
		RunE: o.Then(func(ctx context.Context) error {
			return show(ctx, o.getOptions, listing[output.Node]{
				asked: true,
				read:  o.nodes,
				key:   func(n output.Node) string { return cmp.Or(n.HostID, n.Node, n.Name) },
				name:  func(n output.Node) string { return "node/" + n.Name },
				table: o.nodeTable,
				gone:  func(n output.Node) output.Node { n.State = deleted; return n },
			})
		}, "cluster"),
	}
	o.declare(command.Flags())
	o.DeclareCluster(command.Flags())
	command.Flags().StringVar(&o.ToCluster.Dir, "dir", ".", "`DIR` below which the cluster's results are, as DIR/CLUSTER")
	o.ToCluster.Declare(command.Flags())
	return command
}

func (o *nodesOptions) nodes(ctx context.Context, service *install.Client) ([]output.Node, error) {
	seen, err := o.readAgain(ctx, service)
	if err != nil || seen == nil {
		return nil, err
	}
	if o.client == nil {
		o.client = service.With(install.Config{Nodes: o.Nodes(service, o.ToCluster, seen.Spec, o.Tracer(nil))})
	}
	rows, observed, err := o.client.InspectNodes(ctx, seen.Desired(), seen.Observed)
	if err != nil {
		return nil, err
	}
	o.warnUnseen(observed)
	slices.SortStableFunc(rows, byRole)
	return output.Each(rows, output.OfNode), nil
}

// byRole orders machines: the control plane first, machines that are not known last, then by name.
func byRole(a, b install.NodeView) int {
	rank := func(v install.NodeView) int {
		switch {
		case v.Stranger:
			return 2
		case v.Node != nil && v.Node.Votes(), v.Node == nil && v.Host != nil && (v.Host.Role == spec.ControlPlane || v.Host.Role == spec.Arbiter):
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
}

// warnUnseen says, once, that the rows have nothing of the cluster itself.
func (o *nodesOptions) warnUnseen(observed *model.Observed) {
	why := ""
	switch {
	case observed.Cluster != nil && !observed.Cluster.State.Installed():
		why = "it is not installed yet"
	case observed.Spoke != nil:
		why = observed.Spoke.Trouble
	}
	if why != "" && why != o.warned {
		o.Warn("the cluster itself cannot be read: %s", why)
	}
	o.warned = why
}

func (o *nodesOptions) nodeTable(items []output.Node) printer.Table {
	return printer.Table{Empty: "no machines", Columns: []printer.Column{
		{Name: "NAME"}, {Name: "ROLE"}, {Name: "HOST", Cut: true}, {Name: "NODE"}, {Name: "CONFIG", Wide: true}, {Name: "REQUESTS", Wide: true},
		{Name: "VERSION", Wide: true}, {Name: "CREATED", Wide: true}, {Name: "MACHINE", Wide: true}, {Name: "BAREMETALHOST", Wide: true},
		{Name: "HOST ID", Wide: true}, {Name: "WAITS FOR", Prose: true},
	}, Rows: output.Each(items, func(n output.Node) []string {
		host := string(n.State)
		switch {
		case n.Stranger:
			host = "unknown"
		case n.HostID == "" && n.Node != "":
			host = "-" // the service never knew it
		}
		if n.Stage != "" && n.State != model.HostAdded && n.State != model.HostInstalled {
			host += ", " + n.Stage
		}
		metal := n.BareMetalHost
		if n.Metal != "" {
			metal += " (" + n.Metal + ")"
		}
		return []string{n.Name, n.Role, host, nodeText(n), n.Config, requestsText(n.Requests), n.Version, o.FormatTime(n.Created), n.Machine,
			metal,
			n.HostID, n.WaitsFor}
	})}
}

func nodeText(n output.Node) string {
	text := "Ready"
	switch {
	case n.Node == "":
		return "-"
	case !n.Ready:
		text = "NotReady"
	}
	if n.Cordoned {
		text += ",SchedulingDisabled"
	}
	return text
}

// requestsText are the requests that are pending, and what became of them: of each kind the
// newest.
func requestsText(requests []output.Request) string {
	requests = slices.DeleteFunc(slices.Clone(requests), func(r output.Request) bool { return r.Newer != "" })
	texts := output.Each(requests, func(r output.Request) string { return fmt.Sprintf("%s: %s", r.Kind, r.Decision) })
	return strings.Join(texts, ", ")
}
