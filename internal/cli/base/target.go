package base

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Target is what a verb is about: a thing by NAME or ID, or the cluster of a
// file.
type Target struct {
	Kind string // "cluster", or what else the verb takes
	Name string
	File string
	// Cluster is the name or id of the cluster that a host is looked for in.
	Cluster string
}

func (t *Target) Declare(flags *pflag.FlagSet) {
	flags.StringVarP(&t.File, "file", "f", "", "`FILE` that describes the cluster, instead of its name")
}

// DeclareOfHost declares where a host is looked for.
func (t *Target) DeclareOfHost(flags *pflag.FlagSet) {
	flags.StringVar(&t.Cluster, "cluster", "", "look for the host in the cluster `NAME` or ID, where several have one of its name")
}

// Read takes the target from the arguments: [KIND] NAME, or nothing beside -f.
// The first of the kinds is the one that may be left out.
func (t *Target) Read(command *cobra.Command, given []string, kinds ...string) error {
	t.Kind = kinds[0]
	if len(given) > 0 && slices.Contains(kinds, KindOf(given[0])) {
		t.Kind, given = KindOf(given[0]), given[1:]
	}
	switch {
	case len(given) > 1:
		return Usagef("%s takes one name, not %d: %s", VerbOf(command), len(given), quotedAll(given))
	case t.Cluster != "" && t.Kind != "host":
		return Usagef("--cluster says where a host is looked for: %s host NAME --cluster %s", command.CommandPath(), Quoted(t.Cluster))
	case t.Cluster != "" && t.File != "":
		return Usagef("%s takes --cluster or -f FILE, not both", VerbOf(command))
	case len(given) == 0 && t.Kind == "host":
		return Usagef("%s needs the NAME or ID of a host", VerbOf(command))
	case len(given) == 1 && t.File != "" && t.Kind != "host":
		return Usagef("%s takes a name or -f FILE, not both", VerbOf(command))
	case len(given) == 1 && looksLikeFile(given[0]):
		return Usagef("%q is a file, not a name%s", given[0], didYouMean(command.CommandPath()+" -f "+Quoted(given[0])))
	case len(given) == 0 && t.File == "":
		return Usagef("%s needs a NAME, an ID or -f FILE", VerbOf(command))
	case len(given) == 1:
		t.Name = given[0]
	}
	return nil
}

// Optional is read where no target at all means everything.
func (t *Target) Optional(command *cobra.Command, given []string) error {
	if len(given) == 0 && t.File == "" {
		return nil
	}
	return t.Read(command, given, "cluster")
}

// KindOf is what a person called a kind, in the singular.
func KindOf(word string) string { return strings.TrimSuffix(strings.ToLower(word), "s") }

// Observation is a cluster as it was found, and the file that describes it, if one
// was given.
type Observation struct {
	Ref      install.ClusterRef
	Spec     *spec.Cluster
	Observed *install.Observed
}

// Desired is the cluster of the file; without one, a cluster of which nothing
// but the name is known.
func (s *Observation) Desired() *install.Desired {
	if s.Spec != nil {
		return &install.Desired{Spec: s.Spec}
	}
	if s.Observed != nil && s.Observed.Cluster != nil {
		return install.AsObserved(s.Observed)
	}
	return &install.Desired{Spec: &spec.Cluster{
		Metadata: spec.Metadata{Name: s.Ref.Name}, Spec: spec.ClusterSpec{BaseDomain: s.Ref.BaseDomain, AcceptUnknownHosts: true},
	}}
}

// Name is the cluster's full name.
func (s *Observation) Name() string {
	return strings.TrimSuffix(s.Ref.Name+"."+s.Ref.BaseDomain, ".")
}

// Hosts are the cluster's hosts. With a file they have its names, and those of
// it that have not come stand among them.
func (s *Observation) Hosts() []document.Host {
	matched := install.NewSnapshot(s.Desired(), s.Observed).Hosts()
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
	if s.Spec == nil { // else they are in the order of the file
		ByName(items)
	}
	return items
}

// RefersTo says whether the file only borrows an InfraEnv, which is not to go
// with the cluster.
func (s *Observation) RefersTo(env install.InfraEnv) bool {
	if s.Spec == nil || s.Spec.Spec.InfraEnv.Ref == "" {
		return false
	}
	ref := s.Spec.Spec.InfraEnv.Ref
	return env.Name == ref || env.ID == ref
}

// FindCluster says which cluster the target is.
func (a *App) FindCluster(ctx context.Context, service Remote, t Target) (*Observation, error) {
	if t.File == "" {
		ref, err := service.ClusterByNameOrID(ctx, t.Name)
		if err != nil {
			return nil, err
		}
		return &Observation{Ref: ref}, nil
	}
	cluster, err := a.Load(ctx, t.File)
	if err != nil {
		return nil, err
	}
	seen, err := a.observe(ctx, service, &Observation{Spec: cluster})
	if err != nil {
		return nil, err
	}
	return seen, nil
}

// ObserveCluster finds the target's cluster and reads all of it.
func (a *App) ObserveCluster(ctx context.Context, service Remote, t Target) (*Observation, error) {
	seen, err := a.FindCluster(ctx, service, t)
	if err != nil || seen.Observed != nil {
		return seen, err
	}
	return a.observe(ctx, service, seen)
}

func (a *App) observe(ctx context.Context, service Remote, s *Observation) (*Observation, error) {
	query := s.Desired().Query()
	query.ID, query.Detail = s.Ref.ID, true
	observed, err := service.Observe(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	if observed.Cluster == nil {
		return nil, notOurs(query.Name+"."+query.BaseDomain, observed.Others)
	}
	return &Observation{Ref: observed.Cluster.ClusterRef, Spec: s.Spec, Observed: observed}, nil
}

// ErrGone is that a file's cluster is not there under any marks.
var ErrGone = errors.New("the service has none that oaictl made")

// notOurs is the fault that a file's cluster is not there, or only under marks
// that are not ours.
func notOurs(name string, others []install.ClusterRef) error {
	fault := &install.Fault{
		Code: install.CodeNotFound, Op: "find cluster", On: name, Permanent: true,
		Err: ErrGone, Next: "oaictl get clusters",
	}
	if len(others) > 0 {
		ids := make([]string, 0, len(others))
		for _, other := range others {
			ids = append(ids, fmt.Sprintf("%s (%s)", other.ID, other.Status))
		}
		fault.Err = fmt.Errorf("oaictl did not make the one that the service has: %s", strings.Join(ids, ", "))
		fault.Next = "use the id instead of -f"
	}
	return fault
}

// FindHostIn finds the host that a target names, in the cluster of its file, or in
// the one that --cluster names. In a file's cluster the file's names count too.
func (a *App) FindHostIn(ctx context.Context, service Remote, t Target) (install.Host, error) {
	if t.Cluster == "" && t.File == "" {
		return a.FindHost(ctx, service, t.Name)
	}
	seen, err := a.ObserveCluster(ctx, service, Target{Kind: "cluster", Name: t.Cluster, File: t.File})
	if err != nil {
		return install.Host{}, err
	}
	if seen.Spec != nil {
		for _, m := range install.NewSnapshot(seen.Desired(), seen.Observed).Hosts() {
			if m.Host != nil && m.Name == t.Name {
				return *m.Host, nil
			}
		}
	}
	return pickHost(seen.Observed.Hosts, t.Name)
}

// FindHost finds a host by its id or name in all InfraEnvs.
func (a *App) FindHost(ctx context.Context, service Remote, name string) (install.Host, error) {
	hosts, err := AllHosts(ctx, service)
	if err != nil {
		return install.Host{}, err
	}
	return pickHost(hosts, name)
}

// AllHosts is every host that the user may see.
func AllHosts(ctx context.Context, service Remote) ([]install.Host, error) {
	infraEnvs, err := service.ListInfraEnvs(ctx, "")
	if err != nil {
		return nil, err
	}
	var all []install.Host
	for _, env := range infraEnvs {
		hosts, err := service.ListHosts(ctx, env.ID)
		if install.CodeOf(err) == install.CodeNotFound {
			continue // the InfraEnv has gone since they were listed
		}
		if err != nil {
			return nil, err
		}
		all = append(all, hosts...)
	}
	return all, nil
}

// pickHost is the one host of that id or name. Names are compared as a whole:
// node-1 is not node-10.
func pickHost(hosts []install.Host, name string) (install.Host, error) {
	var found []install.Host
	for _, host := range hosts {
		switch {
		case strings.EqualFold(host.ID, name):
			return host, nil
		case host.Hostname == name, slices.ContainsFunc(host.Inventory.Interfaces, func(i install.Interface) bool { return strings.EqualFold(i.MAC, name) }):
			found = append(found, host)
		}
	}
	fault := &install.Fault{Code: install.CodeNotFound, Op: "find host", On: name, Permanent: true, Next: "oaictl get hosts"}
	switch len(found) {
	case 0:
		fault.Err = errors.New("the service has none of that name, id or MAC address")
		return install.Host{}, fault
	case 1:
		return found[0], nil
	}
	ids := make([]string, 0, len(found))
	for _, host := range found {
		ids = append(ids, host.ID)
	}
	fault.Err = fmt.Errorf("there are several: %s", strings.Join(ids, ", "))
	fault.Next = "use the id, or name the cluster with --cluster"
	return install.Host{}, fault
}

// ByName sorts hosts by their names, those of a cluster side by side.
func ByName(items []document.Host) {
	slices.SortFunc(items, func(a, b document.Host) int {
		return cmp.Or(cmp.Compare(a.ClusterID, b.ClusterID), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}
