// Package look has the commands that show what a service has: get and describe.
package look

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/pkg/install"
)

// NewGet is `get`.
func NewGet(a *base.App) *cobra.Command {
	return base.Group("get", "List clusters, hosts, InfraEnvs, events or validations",
		newGetClusters(a), newGetHosts(a), newGetInfraEnvs(a), newGetEvents(a), newGetValidations(a))
}

func newGetClusters(a *base.App) *cobra.Command {
	t, w := &base.Target{}, &watchOptions{}
	command := &cobra.Command{
		Use:     "clusters [NAME|ID|-f FILE]",
		Aliases: []string{"cluster"},
		Short:   "List clusters, or show one",
		RunE: func(command *cobra.Command, given []string) error {
			if err := t.Optional(command, given); err != nil {
				return err
			}
			return getClusters(command.Context(), a, *t, *w)
		},
	}
	t.Declare(command.Flags())
	w.declare(command.Flags())
	return command
}

func getClusters(ctx context.Context, a *base.App, t base.Target, w watchOptions) error {
	one := &subject{name: t.Name}
	return show(ctx, a, w, listing[document.Cluster]{
		named: t.Name != "" || t.File != "",
		read: func(ctx context.Context, service *install.Client) ([]document.Cluster, error) {
			return clustersOf(ctx, a, service, t, one)
		},
		key:   func(c document.Cluster) string { return c.ID },
		name:  func(c document.Cluster) string { return "cluster/" + c.Name },
		table: func(items []document.Cluster) printer.Table { return clusterTable(a, items) },
		gone:  func(c document.Cluster) document.Cluster { c.State = deleted; return c },
	})
}

func clustersOf(ctx context.Context, a *base.App, service *install.Client, t base.Target, one *subject) ([]document.Cluster, error) {
	var found []install.Cluster
	if t.Name != "" || t.File != "" {
		seen, err := lookAgain(ctx, a, service, t, one)
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
	return document.Each(found, document.OfCluster), nil
}

func clusterTable(a *base.App, items []document.Cluster) printer.Table {
	return printer.Table{Empty: "no clusters", Columns: []printer.Column{
		{Name: "NAME"}, {Name: "DOMAIN"}, {Name: "STATE"}, {Name: "%", Right: true}, {Name: "HOSTS", Right: true}, {Name: "VERSION"}, {Name: "CREATED"}, {Name: "ID"},
		{Name: "OURS", Wide: true}, {Name: "STATUS", Wide: true}, {Name: "INFO", Wide: true},
	}, Rows: document.Each(items, func(c document.Cluster) []string {
		ours := "no"
		if c.Owned {
			ours = "yes"
		}
		return []string{
			c.Name, c.BaseDomain, string(c.State), base.PercentText(c.Percent), strconv.Itoa(c.Hosts), c.Version, a.When(c.Created), c.ID, ours, c.Status, c.StatusInfo,
		}
	})}
}

func newGetHosts(a *base.App) *cobra.Command {
	t, w := &base.Target{}, &watchOptions{}
	infraEnv := ""
	command := &cobra.Command{
		Use:     "hosts [CLUSTER|ID|-f FILE]",
		Aliases: []string{"host"},
		Short:   "List hosts: all, or those of a cluster or an InfraEnv",
		RunE: func(command *cobra.Command, given []string) error {
			if err := t.Optional(command, given); err != nil {
				return err
			}
			if infraEnv != "" && (t.Name != "" || t.File != "") {
				return base.Usagef("--infra-env and a cluster exclude each other")
			}
			return getHosts(command.Context(), a, *t, infraEnv, *w)
		},
	}
	t.Declare(command.Flags())
	w.declare(command.Flags())
	command.Flags().StringVar(&infraEnv, "infra-env", "", "hosts of the InfraEnv `NAME` or ID, bound or not")
	return command
}

func getHosts(ctx context.Context, a *base.App, t base.Target, infraEnv string, w watchOptions) error {
	of, one := &subject{name: cmp.Or(infraEnv, t.Name)}, t.Name != "" || t.File != ""
	return show(ctx, a, w, listing[document.Host]{
		read: func(ctx context.Context, service *install.Client) ([]document.Host, error) {
			return hostsOf(ctx, a, service, t, infraEnv, of)
		},
		key:   func(h document.Host) string { return cmp.Or(h.ID, h.Name) },
		name:  func(h document.Host) string { return "host/" + h.Name },
		table: func(items []document.Host) printer.Table { return a.HostTable(items, !one) },
		gone:  func(h document.Host) document.Host { h.State = deleted; return h },
		// a host of the file has no id until it registers
		standsFor: func(absent, h document.Host) bool { return absent.ID == "" && h.ID != "" && absent.Name == h.Name },
		plain:     func(h document.Host) document.Host { h.CheckedIn = nil; return h }, // every host reports each minute
	})
}

func hostsOf(ctx context.Context, a *base.App, service *install.Client, t base.Target, infraEnv string, of *subject) ([]document.Host, error) {
	var hosts []install.Host
	var err error
	switch {
	case infraEnv != "":
		env, failed := service.InfraEnvByNameOrID(ctx, of.text())
		if gone, failed := of.saw(env.ID, failed); gone || failed != nil {
			return nil, failed
		}
		hosts, err = service.ListHosts(ctx, env.ID)
	case t.Name == "" && t.File == "":
		hosts, err = service.AllHosts(ctx)
	default:
		seen, failed := lookAgain(ctx, a, service, t, of)
		if failed != nil || seen == nil {
			return nil, failed
		}
		return base.HostsSeen(seen), nil
	}
	if err != nil {
		return nil, err
	}
	items := document.Each(hosts, func(host install.Host) document.Host { return document.OfHost(host, "") })
	base.ByName(items)
	return items, nil
}

func newGetInfraEnvs(a *base.App) *cobra.Command {
	cluster, w := "", &watchOptions{}
	command := &cobra.Command{
		Use:     "infraenvs [NAME|ID]",
		Aliases: []string{"infraenv", "infra-envs", "infra-env"},
		Short:   "List InfraEnvs and their discovery images",
		Args:    base.OneArgumentAtMost,
		RunE: func(command *cobra.Command, given []string) error {
			name := ""
			if len(given) == 1 {
				name = given[0]
			}
			if name != "" && cluster != "" {
				return base.Usagef("--cluster and a name exclude each other")
			}
			return getInfraEnvs(command.Context(), a, name, cluster, *w)
		},
	}
	command.Flags().StringVar(&cluster, "cluster", "", "those of the cluster `NAME` or ID")
	w.declare(command.Flags())
	return command
}

func getInfraEnvs(ctx context.Context, a *base.App, name, cluster string, w watchOptions) error {
	by := &subject{name: cmp.Or(name, cluster)}
	return show(ctx, a, w, listing[document.InfraEnv]{
		named: name != "",
		read: func(ctx context.Context, service *install.Client) ([]document.InfraEnv, error) {
			return infraEnvsOf(ctx, service, name, cluster, by)
		},
		key:   func(e document.InfraEnv) string { return e.ID },
		name:  func(e document.InfraEnv) string { return "infraenv/" + e.Name },
		table: func(items []document.InfraEnv) printer.Table { return infraEnvTable(a, items) },
		gone:  func(e document.InfraEnv) document.InfraEnv { e.Image = deleted; return e },
		plain: func(e document.InfraEnv) document.InfraEnv { e.ImageExpires = nil; return e }, // new with every look
	})
}

func infraEnvsOf(ctx context.Context, service *install.Client, name, cluster string, by *subject) ([]document.InfraEnv, error) {
	var found []install.InfraEnv
	switch {
	case name != "":
		one, err := service.InfraEnvByNameOrID(ctx, by.text())
		if gone, err := by.saw(one.ID, err); gone || err != nil {
			return nil, err
		}
		found = append(found, one)
	default:
		id := ""
		if cluster != "" {
			ref, err := service.ClusterByNameOrID(ctx, by.text())
			if gone, err := by.saw(ref.ID, err); gone || err != nil {
				return nil, err
			}
			id = ref.ID
		}
		var err error
		if found, err = service.ListInfraEnvs(ctx, id); err != nil {
			return nil, err
		}
	}
	return document.Each(found, document.OfInfraEnv), nil
}

func infraEnvTable(a *base.App, items []document.InfraEnv) printer.Table {
	return printer.Table{Empty: "no InfraEnvs", Columns: []printer.Column{
		{Name: "NAME"}, {Name: "ARCH"}, {Name: "IMAGE"}, {Name: "TYPE"}, {Name: "MADE"}, {Name: "EXPIRES"}, {Name: "CLUSTER"}, {Name: "ID", Wide: !a.Globals.AllNamespaces},
	}, Rows: document.Each(items, func(e document.InfraEnv) []string {
		return []string{e.Name, e.Arch, string(e.Image), e.ImageType, a.When(e.ImageCreated), a.When(e.ImageExpires), e.ClusterID, e.ID}
	})}
}

func newGetValidations(a *base.App) *cobra.Command {
	t, w := &base.Target{}, &watchOptions{}
	all := false
	command := &cobra.Command{
		Use:     "validations CLUSTER|ID|-f FILE",
		Aliases: []string{"validation"},
		Short:   "List the service's checks of a cluster and its hosts that do not pass",
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
	of := &subject{name: t.Name}
	return show(ctx, a, w, listing[document.Validation]{
		asked: true,
		read: func(ctx context.Context, service *install.Client) ([]document.Validation, error) {
			return validationsOf(ctx, a, service, t, of)
		},
		key:   func(v document.Validation) string { return v.Host + "/" + v.ID },
		name:  func(v document.Validation) string { return "validation/" + v.ID },
		shown: func(v document.Validation) bool { return all || fails(v) },
		table: validationTable,
		gone:  func(v document.Validation) document.Validation { v.Status = deleted; return v },
	})
}

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

func fails(v document.Validation) bool {
	return !strings.HasPrefix(v.Status, "success") && v.Status != "disabled"
}

func validationTable(items []document.Validation) printer.Table {
	return printer.Table{Empty: "every check passes", Columns: []printer.Column{
		{Name: "OF"}, {Name: "VALIDATION"}, {Name: "STATUS"}, {Name: "CATEGORY", Wide: true}, {Name: "MESSAGE"},
	}, Rows: document.Each(items, func(v document.Validation) []string {
		return []string{cmp.Or(v.Host, "cluster"), v.ID, v.Status, v.Category, strings.Join(strings.Fields(v.Message), " ")}
	})}
}
