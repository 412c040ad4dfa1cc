package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/pkg/install"
)

// target is what a verb is about: a thing by NAME or ID, or the cluster of a
// file.
type target struct {
	Kind string // "cluster", or what else the verb takes
	Name string
	File string
	// Cluster is the name or id of the cluster that a host is looked for in.
	Cluster string
}

func (t *target) declare(flags *pflag.FlagSet) {
	flags.StringVarP(&t.File, "file", "f", "", "`FILE` that describes the cluster, instead of its name")
}

// declareOfHost declares where a host is looked for.
func (t *target) declareOfHost(flags *pflag.FlagSet) {
	flags.StringVar(&t.Cluster, "cluster", "", "look for the host in the cluster `NAME` or ID, where several have one of its name")
}

// read takes the target from the arguments: [KIND] NAME, or nothing beside -f.
// The first of the kinds is the one that may be left out.
func (t *target) read(command *cobra.Command, given []string, kinds ...string) error {
	t.Kind = kinds[0]
	if len(given) > 0 && slices.Contains(kinds, kindOf(given[0])) {
		t.Kind, given = kindOf(given[0]), given[1:]
	}
	switch {
	case len(given) > 1:
		return usagef("%s takes one name, not %d: %s", verbOf(command), len(given), quotedAll(given))
	case t.Cluster != "" && t.Kind != "host":
		return usagef("--cluster says where a host is looked for: %s host NAME --cluster %s", command.CommandPath(), quoted(t.Cluster))
	case t.Cluster != "" && t.File != "":
		return usagef("%s takes --cluster or -f FILE, not both", verbOf(command))
	case len(given) == 0 && t.Kind == "host":
		return usagef("%s needs the NAME or ID of a host", verbOf(command))
	case len(given) == 1 && t.File != "" && t.Kind != "host":
		return usagef("%s takes a name or -f FILE, not both", verbOf(command))
	case len(given) == 1 && looksLikeFile(given[0]):
		return usagef("%q is a file, not a name%s", given[0], didYouMean(command.CommandPath()+" -f "+quoted(given[0])))
	case len(given) == 0 && t.File == "":
		return usagef("%s needs a NAME, an ID or -f FILE", verbOf(command))
	case len(given) == 1:
		t.Name = given[0]
	}
	return nil
}

// optional is read where no target at all means everything.
func (t *target) optional(command *cobra.Command, given []string) error {
	if len(given) == 0 && t.File == "" {
		return nil
	}
	return t.read(command, given, "cluster")
}

// kindOf is what a person called a kind, in the singular.
func kindOf(word string) string { return strings.TrimSuffix(strings.ToLower(word), "s") }

// hostsSeen are the cluster's hosts. With a file they have its names, and those of
// it that have not come stand among them.
func hostsSeen(seen *install.Found) []document.Host {
	matched := install.NewSnapshot(seen.Desired(), seen.Observed).Hosts()
	items := make([]document.Host, 0, len(matched))
	for _, m := range matched {
		host := m.Host
		if host == nil {
			host = &install.Host{State: install.HostAbsent, Role: m.Role}
		}
		item := document.OfHost(*host, m.Name)
		if (host.Role == "" || host.Role == install.RoleAuto) && m.Role != "" && m.Role != install.RoleAuto {
			item.Role = m.Role // what the service would choose does not matter
		}
		items = append(items, item)
	}
	if seen.Spec == nil { // else they are in the order of the file
		byName(items)
	}
	return items
}

// meant is the cluster that the target names, read from its file where it has one.
func (a *app) meant(ctx context.Context, t target) (install.Target, error) {
	if t.File == "" {
		return install.Target{Name: t.Name}, nil
	}
	cluster, err := a.load(ctx, t.File)
	if err != nil {
		return install.Target{}, err
	}
	return install.Target{Spec: cluster, Name: a.idOnHub(cluster)}, nil
}

// find says which cluster the target is.
func (a *app) find(ctx context.Context, service *install.Client, t target) (*install.Found, error) {
	meant, err := a.meant(ctx, t)
	if err != nil {
		return nil, err
	}
	return service.Find(ctx, meant)
}

// look finds the target's cluster and reads all of it.
func (a *app) look(ctx context.Context, service *install.Client, t target) (*install.Found, error) {
	meant, err := a.meant(ctx, t)
	if err != nil {
		return nil, err
	}
	return service.Look(ctx, meant)
}

// ofHost is the cluster that a target looks for a host in: that of its file, or the one that
// --cluster names.
func (a *app) ofHost(ctx context.Context, t target) (install.Target, error) {
	return a.meant(ctx, target{Name: t.Cluster, File: t.File})
}

// findHost finds the host that a target names.
func (a *app) findHost(ctx context.Context, service *install.Client, t target) (install.Host, error) {
	in, err := a.ofHost(ctx, t)
	if err != nil {
		return install.Host{}, err
	}
	return service.FindHost(ctx, in, t.Name)
}
