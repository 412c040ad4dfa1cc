package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Target is what a verb is about: a thing by NAME or ID, or the cluster of a file.
type Target struct {
	Kind string // "cluster", or what else the verb takes
	Name string
	File string
	// Cluster is the name or id of the cluster in which a host is searched for.
	Cluster string
	// named says that --cluster is another way to write the name.
	named bool
	// Whole refuses a file of kind Nodes: the verb changes the whole cluster, and not the hosts of the file.
	Whole bool
}

// Declare declares -f.
func (t *Target) Declare(flags *pflag.FlagSet) {
	text := "`FILE` that describes the cluster, or hosts that are added to it (kind Nodes), instead of its name"
	if t.Whole {
		text = "`FILE` that describes the cluster, instead of its name"
	}
	flags.StringVarP(&t.File, "file", "f", "", text)
}

// DeclareOfHost declares the flag for the cluster in which a host is searched for.
func (t *Target) DeclareOfHost(flags *pflag.FlagSet) {
	flags.StringVar(&t.Cluster, "cluster", "", "look for the host in the cluster `NAME` or ID, where several have one of its name")
}

// DeclareCluster declares --cluster where a cluster's name may stand without it, too.
func (t *Target) DeclareCluster(flags *pflag.FlagSet) {
	t.named = true
	flags.StringVar(&t.Cluster, "cluster", "", "`NAME` or ID of the cluster, as an argument says it, too")
}

// Read takes [KIND] NAME, or nothing beside -f. The first of the kinds may be left out.
func (t *Target) Read(command *cobra.Command, given []string, kinds ...string) error {
	t.Kind = kinds[0]
	if t.named && t.Cluster != "" {
		given, t.Cluster = append(slices.Clone(given), t.Cluster), ""
	}
	if len(given) > 0 && slices.Contains(kinds, KindOf(given[0])) {
		t.Kind, given = KindOf(given[0]), given[1:]
	}
	switch {
	case len(given) > 1:
		return Usagef("%s needs one name, not %d: %s", VerbOf(command), len(given), quotedAll(given))
	case t.Cluster != "" && t.Kind != "host":
		return Usagef("--cluster names the cluster of a host: %s host NAME --cluster %s", command.CommandPath(), listtext.Quoted(t.Cluster))
	case t.Kind == "machine" && t.File != "":
		return Usagef("%s machine needs a name, not a file: a cluster.yaml has no Machines", VerbOf(command))
	case t.Cluster != "" && t.File != "":
		return Usagef("%s accepts --cluster or -f FILE, not both", VerbOf(command))
	case len(given) == 0 && (t.Kind == "host" || t.Kind == "machine"):
		return Usagef("%s needs the NAME or ID of a %s", VerbOf(command), t.Kind)
	case len(given) == 1 && t.File != "" && t.Kind != "host":
		return Usagef("%s accepts a name or -f FILE, not both", VerbOf(command))
	case len(given) == 1 && looksLikeFile(given[0]):
		return Usagef("%q is a file, not a name%s", given[0], didYouMean(command.CommandPath()+" -f "+listtext.Quoted(given[0])))
	case len(given) == 0 && t.File == "":
		return Usagef("%s needs a NAME, an ID or -f FILE", VerbOf(command))
	case len(given) == 1:
		t.Name = given[0]
	}
	return nil
}

// Optional is read where no target at all means everything.
func (t *Target) Optional(command *cobra.Command, given []string) error {
	if len(given) == 0 && t.File == "" && t.Cluster == "" {
		return nil
	}
	return t.Read(command, given, "cluster")
}

// Then is what a command does that reads its target, and then runs.
func (t *Target) Then(run func(context.Context) error, kinds ...string) func(*cobra.Command, []string) error {
	return After(func(command *cobra.Command, given []string) error { return t.Read(command, given, kinds...) }, run)
}

// KindOf is what a person called a kind, in the singular.
func KindOf(word string) string { return strings.TrimSuffix(strings.ToLower(word), "s") }

// HostDocuments are the cluster's hosts; with a file in its words, and with those missing.
func HostDocuments(seen *install.Found) []output.Host {
	matched := (&install.Look{Desired: seen.Desired(), Observed: seen.Observed}).Hosts()
	items := make([]output.Host, 0, len(matched))
	for _, m := range matched {
		host := m.Host
		if host == nil {
			host = &model.Host{State: model.HostAbsent, Role: m.Role}
		}
		item := output.OfHost(*host, m.Name)
		if (host.Role == "" || host.Role == spec.Auto) && m.Role != "" && m.Role != spec.Auto {
			item.Role = m.Role // what the service would choose does not matter
		}
		items = append(items, item)
	}
	if seen.Spec == nil { // else they are in the order of the file
		ByName(items)
	}
	return items
}

// ResolveTarget is the cluster that the target names, read from its file where it has one: a file of kind Nodes names the
// cluster that it adds hosts to.
func (a *App) ResolveTarget(ctx context.Context, t Target) (install.Target, error) {
	if t.File == "" {
		return install.Target{Name: t.Name}, nil
	}
	load := a.LoadMachines
	if t.Whole {
		load = a.Load
	}
	cluster, err := load(ctx, t.File)
	if err != nil {
		return install.Target{}, err
	}
	return install.Target{Spec: cluster, Name: a.IDOnHub(cluster)}, nil
}

// FindCluster says which cluster the target is.
func (a *App) FindCluster(ctx context.Context, service *install.Client, t Target) (*install.Found, error) {
	return findMeant(ctx, a, t, service.Find)
}

// ObserveCluster finds the target's cluster and reads all of it.
func (a *App) ObserveCluster(ctx context.Context, service *install.Client, t Target) (*install.Found, error) {
	return findMeant(ctx, a, t, service.Inspect)
}

func findMeant[T any](ctx context.Context, a *App, t Target, find func(context.Context, install.Target) (T, error)) (found T, err error) {
	meant, err := a.ResolveTarget(ctx, t)
	if err != nil {
		return found, err
	}
	return find(ctx, meant)
}

// OfHost is the cluster in which a target's host is searched for.
func (t Target) OfHost() Target { return Target{Name: t.Cluster, File: t.File} }

// FindHost finds the host that a target names.
func (a *App) FindHost(ctx context.Context, service *install.Client, t Target) (model.Host, error) {
	return findMeant(ctx, a, t.OfHost(), func(ctx context.Context, in install.Target) (model.Host, error) {
		return service.FindHost(ctx, in, t.Name)
	})
}

// DialFor connects, and finds what a command is about.
func DialFor[T any](ctx context.Context, a *App, t Target,
	find func(context.Context, *install.Client, Target) (T, error)) (service *install.Client, found T, err error) {
	service, err = a.Dial(ctx)
	if err != nil {
		return nil, found, err
	}
	found, err = find(ctx, service, t)
	return service, found, err
}

// ByName sorts hosts by their names, those of a cluster side by side.
func ByName(items []output.Host) {
	slices.SortFunc(items, func(a, b output.Host) int {
		return cmp.Or(cmp.Compare(a.ClusterID, b.ClusterID), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}

// IDOnHub is the id of a file's cluster on a hub, "" elsewhere, and for a file of kind Nodes, which names its cluster.
func (a *App) IDOnHub(cluster *spec.Cluster) string {
	if a.Globals.Backend != BackendHub || cluster.Existing() != "" {
		return ""
	}
	return cmp.Or(a.Globals.Kube.Scope(), cluster.HubNamespace()) + "/" + cluster.Metadata.Name
}

// machineReader is a service that has Machines of Cluster API beside it: a hub may.
type machineReader interface {
	Machines(ctx context.Context) ([]machinecause.Machine, error)
}

// Machines are the Machines of Cluster API that the user may see. A REST service has none.
func Machines(ctx context.Context, service *install.Client) ([]machinecause.Machine, error) {
	reader, is := service.Backend.(machineReader)
	if !is {
		return nil, &model.Fault{
			Code: model.CodeUsage, Op: "list Machines", Permanent: true, Err: errors.New("a REST service has no Machines of Cluster API"),
			Next: "give --backend hub, and the --kubeconfig of the management cluster; over REST, the hosts have the names of their " +
				"Machines: {why host NAME}",
		}
	}
	return reader.Machines(ctx)
}

// ErrSeveralMachines is in the error of a search for a Machine by a name that several have.
var ErrSeveralMachines = errors.New("there are several")

// FindMachine finds the Machine that a target names.
func (a *App) FindMachine(ctx context.Context, service *install.Client, t Target) (machinecause.Machine, error) {
	all, err := Machines(ctx, service)
	if fault, is := errors.AsType[*model.Fault](err); is {
		fault.Next = fault.Next.Map(func(command string) string {
			return strings.Replace(command, "why host NAME", "why host "+listtext.Quoted(path.Base(t.Name)), 1)
		})
	}
	if err != nil {
		return machinecause.Machine{}, err
	}
	var same []machinecause.Machine
	var others, ids []string
	for i := range all {
		switch m := &all[i]; t.Name {
		case m.ID():
			return *m, nil
		case m.Name:
			same, ids = append(same, *m), append(ids, m.ID())
		default:
			others = append(others, m.Name)
		}
	}
	fault := &model.Fault{Code: model.CodeNotFound, Op: "find Machine", On: t.Name, Permanent: true, Next: "{get machines}"}
	switch {
	case len(same) == 1:
		return same[0], nil
	case len(same) > 1:
		fault.Err, fault.Next = fmt.Errorf("%w: %s", ErrSeveralMachines, listtext.ListText(ids)), "use the id, NAMESPACE/NAME"
	case len(others) == 0:
		fault.Err = errors.New("there are no Machines at all")
	default:
		fault.Err = fmt.Errorf("there is no Machine with that name; there are %s", listtext.ListText(others))
	}
	return machinecause.Machine{}, fault
}
