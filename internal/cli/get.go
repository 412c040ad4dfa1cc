package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install"
)

func (a *app) getCommand() *cobra.Command {
	return group("get", "List clusters, hosts, InfraEnvs, events or validations",
		a.getClustersCommand(), a.getHostsCommand(), a.getInfraEnvsCommand(), a.getEventsCommand(nil), a.getValidationsCommand())
}

// when is a time for the table: how long ago on a terminal.
func (a *app) when(at *time.Time) string {
	if at == nil {
		return ""
	}
	return printer.Moment(*at, a.clock.Now(), a.io.OutTTY)
}

func (a *app) getClustersCommand() *cobra.Command {
	t, w := &target{}, &watching{}
	command := &cobra.Command{
		Use:     "clusters [NAME|ID|-f FILE]",
		Aliases: []string{"cluster"},
		Short:   "List clusters, or show one",
		Example: `  oaictl get clusters
  oaictl get cluster lab -o jsonpath={.state}
  oaictl get clusters -w`,
		RunE: func(command *cobra.Command, given []string) error {
			if err := t.optional(command, given); err != nil {
				return err
			}
			return a.getClusters(command.Context(), *t, *w)
		},
	}
	t.declare(command.Flags())
	w.declare(command.Flags())
	return command
}

func (a *app) getClusters(ctx context.Context, t target, w watching) error {
	service, err := a.dialToList(ctx, w)
	if err != nil {
		return err
	}
	one := &pin{name: t.Name}
	return show(ctx, a, w, listing[document.Cluster]{
		named: t.Name != "" || t.File != "",
		read:  func(ctx context.Context) ([]document.Cluster, error) { return a.clustersOf(ctx, service, t, one) },
		key:   func(c document.Cluster) string { return c.ID },
		name:  func(c document.Cluster) string { return "cluster/" + c.Name },
		table: a.clusterTable,
		gone:  func(c document.Cluster) document.Cluster { c.State = deleted; return c },
	})
}

// clustersOf are the target's cluster, or all.
func (a *app) clustersOf(ctx context.Context, service *install.Client, t target, one *pin) ([]document.Cluster, error) {
	var found []install.Cluster
	if t.Name != "" || t.File != "" {
		seen, err := a.lookAgain(ctx, service, t, one)
		if err != nil || seen == nil {
			return nil, err
		}
		cluster := *seen.Observed.Cluster
		cluster.Hosts = len(seen.Observed.Hosts)
		found = append(found, cluster)
	} else {
		var err error
		if found, err = service.ListClusters(ctx); err != nil {
			return nil, err
		}
	}
	items := make([]document.Cluster, 0, len(found))
	for _, cluster := range found {
		items = append(items, document.OfCluster(cluster))
	}
	return items, nil
}

func (a *app) clusterTable(items []document.Cluster) printer.Table {
	table := printer.Table{Empty: "no clusters", Columns: []printer.Column{
		{Name: "NAME"}, {Name: "DOMAIN"}, {Name: "STATE"}, {Name: "%", Right: true}, {Name: "HOSTS", Right: true}, {Name: "VERSION"}, {Name: "CREATED"}, {Name: "ID"},
		{Name: "OURS", Wide: true}, {Name: "STATUS", Wide: true}, {Name: "INFO", Wide: true},
	}}
	for _, c := range items {
		ours := "no"
		if c.Owned {
			ours = "yes"
		}
		table.Rows = append(table.Rows, []string{
			c.Name, c.BaseDomain, string(c.State), percentText(c.Percent), number(c.Hosts), c.Version, a.when(c.Created), c.ID, ours, c.Status, c.StatusInfo,
		})
	}
	return table
}

func (a *app) getHostsCommand() *cobra.Command {
	t, w := &target{}, &watching{}
	infraEnv := ""
	command := &cobra.Command{
		Use:     "hosts [CLUSTER|ID|-f FILE]",
		Aliases: []string{"host"},
		Short:   "List hosts: all, or those of a cluster or an InfraEnv",
		Long: `List hosts: all, or those of a cluster or an InfraEnv. With -f hosts have the
names of the file, and those of the file that have not come are Absent.`,
		Example: `  oaictl get hosts
  oaictl get hosts lab -o wide
  oaictl get hosts lab -w
  oaictl get hosts --infra-env pool -o name`,
		RunE: func(command *cobra.Command, given []string) error {
			if err := t.optional(command, given); err != nil {
				return err
			}
			if infraEnv != "" && (t.Name != "" || t.File != "") {
				return usagef("--infra-env and a cluster exclude each other")
			}
			return a.getHosts(command.Context(), *t, infraEnv, *w)
		},
	}
	t.declare(command.Flags())
	w.declare(command.Flags())
	command.Flags().StringVar(&infraEnv, "infra-env", "", "hosts of the InfraEnv `NAME` or ID, bound or not")
	return command
}

func (a *app) getHosts(ctx context.Context, t target, infraEnv string, w watching) error {
	service, err := a.dialToList(ctx, w)
	if err != nil {
		return err
	}
	of, one := &pin{name: cmp.Or(infraEnv, t.Name)}, t.Name != "" || t.File != ""
	return show(ctx, a, w, listing[document.Host]{
		read:  func(ctx context.Context) ([]document.Host, error) { return a.hostsOf(ctx, service, t, infraEnv, of) },
		key:   func(h document.Host) string { return cmp.Or(h.ID, h.Name) },
		name:  func(h document.Host) string { return "host/" + h.Name },
		table: func(items []document.Host) printer.Table { return a.hostTable(items, !one) },
		gone:  func(h document.Host) document.Host { h.State = deleted; return h },
		// a host of the file has no id until it registers
		standsFor: func(absent, h document.Host) bool { return absent.ID == "" && h.ID != "" && absent.Name == h.Name },
		plain:     func(h document.Host) document.Host { h.CheckedIn = nil; return h }, // every host reports each minute
	})
}

// hostsOf are the hosts of a cluster, of an InfraEnv, or all.
func (a *app) hostsOf(ctx context.Context, service *install.Client, t target, infraEnv string, of *pin) ([]document.Host, error) {
	var hosts []install.Host
	var err error
	switch {
	case infraEnv != "":
		env, failed := service.InfraEnvByNameOrID(ctx, of.text())
		if gone, failed := of.note(env.ID, failed); gone || failed != nil {
			return nil, failed
		}
		hosts, err = service.ListHosts(ctx, env.ID)
	case t.Name == "" && t.File == "":
		hosts, err = service.AllHosts(ctx)
	default:
		seen, failed := a.lookAgain(ctx, service, t, of)
		if failed != nil || seen == nil {
			return nil, failed
		}
		return hostsSeen(seen), nil
	}
	if err != nil {
		return nil, err
	}
	items := make([]document.Host, 0, len(hosts))
	for _, host := range hosts {
		items = append(items, document.OfHost(host, ""))
	}
	byName(items)
	return items, nil
}

// byName sorts hosts by their names, those of a cluster side by side.
func byName(items []document.Host) {
	slices.SortFunc(items, func(a, b document.Host) int {
		return cmp.Or(cmp.Compare(a.ClusterID, b.ClusterID), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}

// hostTable says whose a host is only where those of several clusters are listed.
func (a *app) hostTable(items []document.Host, several bool) printer.Table {
	table := printer.Table{Empty: "no hosts", Columns: []printer.Column{
		{Name: "NAME"}, {Name: "ROLE"}, {Name: "STATE"}, {Name: "STAGE"}, {Name: "%", Right: true}, {Name: "SINCE"},
		{Name: "CLUSTER", Wide: !several}, {Name: "INFRAENV", Wide: !a.globals.AllNamespaces},
		{Name: "ADDRESSES", Wide: true}, {Name: "MACS", Wide: true}, {Name: "SERIAL", Wide: true}, {Name: "BMC", Wide: true}, {Name: "ID", Wide: true}, {Name: "INFO", Wide: true},
	}}
	for _, h := range items {
		role := string(h.Role)
		if h.Bootstrap {
			role += " (bootstrap)"
		}
		table.Rows = append(table.Rows, []string{
			h.Name, role, string(h.State), stageText(h), percentText(h.Percent), a.when(h.Since), h.ClusterID, h.InfraEnvID,
			listText(h.Addresses), listText(h.MACs), h.Serial, h.BMC, h.ID, h.StatusInfo,
		})
	}
	return table
}

func stageText(h document.Host) string {
	text := h.Stage
	switch {
	case h.StageInfo == "", h.StageInfo == h.Stage:
	case strings.HasSuffix(h.StageInfo, "%"):
		text += " " + h.StageInfo
	default:
		text += ", " + h.StageInfo
	}
	if h.TimedOut {
		text += " (too long)"
	}
	return text
}

func (a *app) getInfraEnvsCommand() *cobra.Command {
	cluster, w := "", &watching{}
	command := &cobra.Command{
		Use:     "infraenvs [NAME|ID]",
		Aliases: []string{"infraenv", "infra-envs", "infra-env"},
		Short:   "List InfraEnvs and their discovery images",
		Example: `  oaictl get infraenvs
  oaictl get infraenvs --cluster lab -o wide`,
		Args: oneArgumentAtMost,
		RunE: func(command *cobra.Command, given []string) error {
			name := ""
			if len(given) == 1 {
				name = given[0]
			}
			if name != "" && cluster != "" {
				return usagef("--cluster and a name exclude each other")
			}
			return a.getInfraEnvs(command.Context(), name, cluster, *w)
		},
	}
	command.Flags().StringVar(&cluster, "cluster", "", "those of the cluster `NAME` or ID")
	w.declare(command.Flags())
	return command
}

func (a *app) getInfraEnvs(ctx context.Context, name, cluster string, w watching) error {
	service, err := a.dialToList(ctx, w)
	if err != nil {
		return err
	}
	by := &pin{name: cmp.Or(name, cluster)}
	return show(ctx, a, w, listing[document.InfraEnv]{
		named: name != "",
		read: func(ctx context.Context) ([]document.InfraEnv, error) {
			return infraEnvsOf(ctx, service, name, cluster, by)
		},
		key:   func(e document.InfraEnv) string { return e.ID },
		name:  func(e document.InfraEnv) string { return "infraenv/" + e.Name },
		table: a.infraEnvTable,
		gone:  func(e document.InfraEnv) document.InfraEnv { e.Image = deleted; return e },
		plain: func(e document.InfraEnv) document.InfraEnv { e.ImageExpires = nil; return e }, // new with every look
	})
}

// infraEnvsOf are the one of a name, those of a cluster, or all. by is the one or the
// cluster.
func infraEnvsOf(ctx context.Context, service *install.Client, name, cluster string, by *pin) ([]document.InfraEnv, error) {
	var found []install.InfraEnv
	switch {
	case name != "":
		one, err := service.InfraEnvByNameOrID(ctx, by.text())
		if gone, err := by.note(one.ID, err); gone || err != nil {
			return nil, err
		}
		found = append(found, one)
	default:
		id := ""
		if cluster != "" {
			ref, err := service.ClusterByNameOrID(ctx, by.text())
			if gone, err := by.note(ref.ID, err); gone || err != nil {
				return nil, err
			}
			id = ref.ID
		}
		var err error
		if found, err = service.ListInfraEnvs(ctx, id); err != nil {
			return nil, err
		}
	}
	items := make([]document.InfraEnv, 0, len(found))
	for _, env := range found {
		items = append(items, document.OfInfraEnv(env))
	}
	return items, nil
}

func (a *app) infraEnvTable(items []document.InfraEnv) printer.Table {
	table := printer.Table{Empty: "no InfraEnvs", Columns: []printer.Column{
		{Name: "NAME"}, {Name: "ARCH"}, {Name: "IMAGE"}, {Name: "TYPE"}, {Name: "MADE"}, {Name: "EXPIRES"}, {Name: "CLUSTER"}, {Name: "ID", Wide: !a.globals.AllNamespaces},
	}}
	for _, e := range items {
		table.Rows = append(table.Rows, []string{e.Name, e.Arch, string(e.Image), e.ImageType, a.when(e.ImageCreated), a.when(e.ImageExpires), e.ClusterID, e.ID})
	}
	return table
}
