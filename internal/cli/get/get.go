// Package get has the commands that show what a service has: get and describe.
package get

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// NewGet is `get`.
func NewGet(a *app.App) *cobra.Command {
	return app.Group("get", "List clusters, hosts, nodes, Machines, InfraEnvs, events or validations",
		newGetClusters(a), newGetHosts(a), newGetNodes(a), newGetMachines(a), newGetInfraEnvs(a), newGetEvents(a), newGetValidations(a))
}

// getOptions are of the lists that can be watched.
type getOptions struct {
	*app.App
	app.Target
	watchOptions
	InfraEnv string
	of       subject
	named    map[string]string // clusters, by their ids
}

func (o *getOptions) declare(flags *pflag.FlagSet) {
	o.Target.Declare(flags)
	o.watchOptions.declare(flags)
}

// one reports whether a single cluster was asked for.
func (o *getOptions) one() bool { return o.Name != "" || o.File != "" }

func newGetClusters(a *app.App) *cobra.Command {
	o := &getOptions{App: a}
	command := &cobra.Command{
		Use:     "clusters [NAME|ID|-f FILE]",
		Aliases: []string{"cluster"},
		Short:   "List clusters, or show one",
		RunE: app.After(o.Optional, func(ctx context.Context) error {
			return show(ctx, o, listing[output.Cluster]{
				named: o.one(),
				read:  o.clusters,
				key:   func(c output.Cluster) string { return c.ID },
				name:  func(c output.Cluster) string { return "cluster/" + c.Name },
				table: o.clusterTable,
				gone:  func(c output.Cluster) output.Cluster { c.State = deleted; return c },
			})
		}),
	}
	o.declare(command.Flags())
	return command
}

func (o *getOptions) clusters(ctx context.Context, service *install.Client) ([]output.Cluster, error) {
	if !o.one() {
		found, err := service.ListClusters(ctx)
		if err != nil {
			return nil, err
		}
		return output.Each(found, output.OfCluster), nil
	}
	seen, err := o.readAgain(ctx, service)
	if err != nil || seen == nil {
		return nil, err
	}
	cluster := output.OfCluster(*seen.Observed.Cluster)
	cluster.Hosts = len(seen.Observed.Hosts)
	return []output.Cluster{cluster}, nil
}

func (o *getOptions) clusterTable(items []output.Cluster) printer.Table {
	return printer.Table{Empty: "no clusters", Columns: []printer.Column{
		{Name: "NAME"}, {Name: "DOMAIN", Wide: o.Globals.AllNamespaces, Cut: true}, {Name: "STATE"}, {Name: "%", Right: true},
		{Name: "HOSTS", Right: true},
		{Name: "VERSION", Cut: true}, {Name: "CREATED", Wide: true}, {Name: "ID", Wide: !o.Globals.AllNamespaces, Cut: true},
		{Name: "OURS", Wide: true},
		{Name: "STATUS", Wide: true}, {Name: "INFO", Wide: true},
	}, Rows: output.Each(items, func(c output.Cluster) []string {
		ours := "no"
		if c.Owned {
			ours = "yes"
		}
		return []string{
			c.Name, c.BaseDomain, string(c.State), app.PercentText(c.Percent), strconv.Itoa(c.Hosts), c.Version, o.FormatTime(c.Created), c.ID, ours,
			c.Status, c.StatusInfo,
		}
	})}
}

func newGetHosts(a *app.App) *cobra.Command {
	o := &getOptions{App: a}
	command := &cobra.Command{
		Use:     "hosts [CLUSTER|ID|-f FILE]",
		Aliases: []string{"host"},
		Short:   "List hosts: all, or those of a cluster or an InfraEnv",
		RunE: app.After(o.Optional, func(ctx context.Context) error {
			if o.InfraEnv != "" && o.one() {
				return app.Usagef("--infra-env and a cluster cannot be used together")
			}
			return show(ctx, o, listing[output.Host]{
				read:  o.hosts,
				key:   func(h output.Host) string { return cmp.Or(h.ID, h.Name) },
				name:  func(h output.Host) string { return "host/" + h.Name },
				table: func(items []output.Host) printer.Table { return o.HostTable(items, !o.one(), o.named) },
				gone:  func(h output.Host) output.Host { h.State = deleted; return h },
				// a host of the file has no id until it registers
				standsFor: func(absent, h output.Host) bool { return absent.ID == "" && h.ID != "" && absent.Name == h.Name },
				plain:     func(h output.Host) output.Host { h.CheckedIn = nil; return h }, // every host reports each minute
			})
		}),
	}
	o.declare(command.Flags())
	o.DeclareCluster(command.Flags())
	command.Flags().StringVar(&o.InfraEnv, "infra-env", "", "hosts of the InfraEnv `NAME` or ID, bound or not")
	return command
}

func (o *getOptions) hosts(ctx context.Context, service *install.Client) ([]output.Host, error) {
	var hosts []model.Host
	var err error
	switch {
	case o.InfraEnv != "":
		env, failed := service.InfraEnvByNameOrID(ctx, cmp.Or(o.of.id, o.InfraEnv))
		if gone, failed := o.of.saw(env.ID, failed); gone || failed != nil {
			return nil, failed
		}
		hosts, err = service.ListHosts(ctx, env.ID)
	case !o.one():
		hosts, err = service.AllHosts(ctx)
	default:
		seen, failed := o.readAgain(ctx, service)
		if failed != nil || seen == nil {
			return nil, o.notHost(ctx, service, failed)
		}
		items := app.HostDocuments(seen)
		return items, o.nameMachines(ctx, service, items)
	}
	if err != nil {
		return nil, err
	}
	items := output.Each(hosts, func(host model.Host) output.Host { return output.OfHost(host, "") })
	app.ByName(items)
	if err := o.nameClusters(ctx, service, output.Each(items, func(h output.Host) string { return h.ClusterID })); err != nil {
		return nil, err
	}
	return items, o.nameMachines(ctx, service, items)
}

// notHost is the fault that there is no cluster of a name, where it is that of a host: those are described.
func (o *getOptions) notHost(ctx context.Context, service *install.Client, failed error) error {
	fault, is := errors.AsType[*model.Fault](failed)
	if !is || fault.Code != model.CodeNotFound || o.Name == "" {
		return failed
	}
	if _, err := service.FindHost(ctx, install.Target{}, o.Name); err != nil {
		return failed
	}
	named := *fault
	named.Err = fmt.Errorf("%w; a host has the name", fault.Err)
	named.Next = model.Command("describe host", listtext.Quoted(o.Name))
	return &named
}

// nameClusters finds the names of clusters, for a table. It asks only where one is not known yet.
func (o *getOptions) nameClusters(ctx context.Context, service *install.Client, ids []string) error {
	unknown := func(id string) bool { return id != "" && o.named[id] == "" }
	if !o.Globals.Format.Is("table") || o.Globals.AllNamespaces || !slices.ContainsFunc(ids, unknown) {
		return nil
	}
	all, err := service.ListClusters(ctx)
	if err != nil {
		return err
	}
	o.named = map[string]string{}
	for _, c := range all {
		o.named[c.ID] = c.Name
	}
	return nil
}

func newGetInfraEnvs(a *app.App) *cobra.Command {
	o := &getOptions{App: a}
	command := &cobra.Command{
		Use:     "infraenvs [NAME|ID]",
		Aliases: []string{"infraenv", "infra-envs", "infra-env"},
		Short:   "List InfraEnvs and their discovery images",
		Args:    app.OneArgumentAtMost,
		RunE: func(command *cobra.Command, given []string) error {
			if len(given) == 1 {
				o.Name = given[0]
			}
			if o.Name != "" && o.Cluster != "" {
				return app.Usagef("--cluster and a name cannot be used together")
			}
			return show(command.Context(), o, listing[output.InfraEnv]{
				named: o.Name != "",
				read:  o.infraEnvs,
				key:   func(e output.InfraEnv) string { return e.ID },
				name:  func(e output.InfraEnv) string { return "infraenv/" + e.Name },
				table: o.infraEnvTable,
				gone:  func(e output.InfraEnv) output.InfraEnv { e.Image = deleted; return e },
				plain: func(e output.InfraEnv) output.InfraEnv { e.ImageExpires = nil; return e }, // new with every look
			})
		},
	}
	command.Flags().StringVar(&o.Cluster, "cluster", "", "those of the cluster `NAME` or ID")
	o.watchOptions.declare(command.Flags())
	return command
}

func (o *getOptions) infraEnvs(ctx context.Context, service *install.Client) ([]output.InfraEnv, error) {
	if o.Name != "" {
		one, err := service.InfraEnvByNameOrID(ctx, cmp.Or(o.of.id, o.Name))
		if gone, err := o.of.saw(one.ID, err); gone || err != nil {
			return nil, err
		}
		return []output.InfraEnv{output.OfInfraEnv(one)}, o.nameClusters(ctx, service, []string{one.ClusterID})
	}
	id := ""
	if o.Cluster != "" {
		ref, err := service.ClusterByNameOrID(ctx, cmp.Or(o.of.id, o.Cluster))
		if gone, err := o.of.saw(ref.ID, err); gone || err != nil {
			return nil, err
		}
		id = ref.ID
	}
	found, err := service.ListInfraEnvs(ctx, id)
	if err != nil {
		return nil, err
	}
	items := output.Each(found, output.OfInfraEnv)
	return items, o.nameClusters(ctx, service, output.Each(items, func(e output.InfraEnv) string { return e.ClusterID }))
}

func (o *getOptions) infraEnvTable(items []output.InfraEnv) printer.Table {
	everywhere := o.Globals.AllNamespaces
	return printer.Table{Empty: "no InfraEnvs", Columns: []printer.Column{
		{Name: "NAME"}, {Name: "ARCH", Wide: true}, {Name: "IMAGE"}, {Name: "TYPE", Wide: everywhere}, {Name: "MADE", Wide: true},
		{Name: "EXPIRES", Wide: everywhere},
		{Name: "CLUSTER", Cut: true}, {Name: "ID", Wide: !everywhere, Cut: true},
	}, Rows: output.Each(items, func(e output.InfraEnv) []string {
		return []string{
			e.Name, e.Arch, string(e.Image), e.ImageType, o.FormatTime(e.ImageCreated), o.FormatTime(e.ImageExpires),
			cmp.Or(o.named[e.ClusterID], e.ClusterID),
			e.ID,
		}
	})}
}

func newGetValidations(a *app.App) *cobra.Command {
	o := &getOptions{App: a}
	all := false
	command := &cobra.Command{
		Use:     "validations CLUSTER|ID|-f FILE",
		Aliases: []string{"validation"},
		Short:   "List the service's checks of a cluster and its hosts that do not pass",
		RunE: o.Then(func(ctx context.Context) error {
			return show(ctx, o, listing[output.Validation]{
				asked: true,
				read:  o.validations,
				key:   func(v output.Validation) string { return v.Host + "/" + v.ID },
				name:  func(v output.Validation) string { return "validation/" + v.ID },
				shown: func(v output.Validation) bool { return all || fails(v) },
				table: validationTable,
				gone:  func(v output.Validation) output.Validation { v.Status = deleted; return v },
			})
		}, "cluster"),
	}
	o.declare(command.Flags())
	o.DeclareCluster(command.Flags())
	command.Flags().BoolVar(&all, "all", false, "those that pass, too")
	return command
}

func (o *getOptions) validations(ctx context.Context, service *install.Client) ([]output.Validation, error) {
	seen, err := o.readAgain(ctx, service)
	if err != nil || seen == nil {
		return nil, err
	}
	items := output.OfValidations("", seen.Observed.Cluster.Validations)
	for _, m := range (&install.Look{Desired: seen.Desired(), Observed: seen.Observed}).Hosts() {
		if m.Host != nil {
			items = append(items, output.OfValidations(output.OfHost(*m.Host, m.Name).Name, m.Host.Validations)...)
		}
	}
	return items, nil
}

func fails(v output.Validation) bool {
	return !strings.HasPrefix(v.Status, "success") && v.Status != "disabled"
}

func validationTable(items []output.Validation) printer.Table {
	return printer.Table{Empty: "every check passes", Columns: []printer.Column{
		{Name: "OF"}, {Name: "VALIDATION"}, {Name: "STATUS"}, {Name: "CATEGORY", Wide: true}, {Name: "MESSAGE", Prose: true},
	}, Rows: output.Each(items, func(v output.Validation) []string {
		return []string{cmp.Or(v.Host, "cluster"), v.ID, v.Status, v.Category, strings.Join(strings.Fields(v.Message), " ")}
	})}
}
