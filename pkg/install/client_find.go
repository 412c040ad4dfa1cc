package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Target says which cluster is meant: that of a cluster.yaml, the one that a file of kind Nodes
// adds hosts to, or one by its name or id.
type Target struct {
	Spec *spec.Cluster
	// Name is the name or id. Beside Spec it is the id that a hub has the cluster under.
	Name string
}

// Found is a cluster as it was found.
type Found struct {
	Ref      model.ClusterRef
	Spec     *spec.Cluster   // of the file that describes it; nil without one
	Observed *model.Observed // nil until it is observed
}

// Desired is the cluster of the file. Without a file it is the cluster as it was observed, or one with only its name.
func (f *Found) Desired() *model.Desired {
	switch {
	case f.Spec != nil:
		return &model.Desired{Spec: f.Spec, Options: model.Options{AddNodes: f.Spec.Existing() != ""}}
	case f.Observed != nil && f.Observed.Cluster != nil:
		return asObserved(f.Observed)
	}
	return &model.Desired{Spec: &spec.Cluster{
		Metadata: spec.Metadata{Name: f.Ref.Name}, Spec: spec.ClusterSpec{BaseDomain: f.Ref.BaseDomain, AcceptUnknownHosts: true},
	}}
}

// FullName is the cluster's name with its domain.
func (f *Found) FullName() string {
	return strings.TrimSuffix(f.Ref.Name+"."+f.Ref.BaseDomain, ".")
}

// OwnInfraEnvs are those that were made for the cluster and are to be deleted with it, unlike one that the file only
// refers to.
func (f *Found) OwnInfraEnvs() []model.InfraEnv {
	ref := ""
	if f.Spec != nil {
		ref = f.Spec.Spec.InfraEnv.Ref
	}
	var own []model.InfraEnv
	for _, env := range f.Observed.InfraEnvs {
		if env.Owned && (ref == "" || env.Name != ref && env.ID != ref) {
			own = append(own, env)
		}
	}
	return own
}

// Pool is how many hosts the pool of an InfraEnv has once the cluster is deleted. An InfraEnv that is bound to the
// cluster has no pool: its hosts are deleted with the cluster.
func (f *Found) Pool(env model.InfraEnv) (hosts int) {
	if env.ClusterID != "" {
		return 0
	}
	for i := range f.Observed.Hosts {
		if f.Observed.Hosts[i].InfraEnvID == env.ID {
			hosts++
		}
	}
	for i := range f.Observed.Elsewhere {
		if f.Observed.Elsewhere[i].InfraEnvID == env.ID {
			hosts++
		}
	}
	return hosts
}

// Find finds the cluster that is meant. That of a file is observed, since only so the
// service says whether it is the one.
func (client *Client) Find(ctx context.Context, target Target) (*Found, error) {
	if target.Spec != nil && target.Spec.Existing() != "" {
		return client.findExisting(ctx, target)
	}
	if target.Spec != nil {
		return client.observeFound(ctx, &Found{Spec: target.Spec})
	}
	ref, err := client.ClusterByNameOrID(ctx, target.Name)
	if err != nil {
		return nil, err
	}
	return &Found{Ref: ref}, nil
}

// findExisting finds the installed cluster that a file of kind Nodes names. The file's hosts may be
// of any architecture: whether they can join is checked by what adds them.
func (client *Client) findExisting(ctx context.Context, target Target) (*Found, error) {
	ref, err := client.ClusterByNameOrID(ctx, cmp.Or(target.Name, target.Spec.Existing()))
	if err != nil {
		return nil, err
	}
	named, err := target.Spec.AddedTo(spec.Target{Name: ref.Name, BaseDomain: ref.BaseDomain, Arch: spec.Multi})
	if err != nil {
		return nil, err
	}
	return client.observeFound(ctx, &Found{Ref: ref, Spec: named})
}

// Inspect finds the cluster that is meant, and reads all of it.
func (client *Client) Inspect(ctx context.Context, target Target) (*Found, error) {
	found, err := client.Find(ctx, target)
	if err != nil || found.Observed != nil {
		return found, err
	}
	return client.observeFound(ctx, found)
}

func (client *Client) observeFound(ctx context.Context, found *Found) (*Found, error) {
	query := found.Desired().Query()
	query.ID, query.Detail = found.Ref.ID, true
	observed, err := client.Backend.Observe(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	if observed.Cluster == nil {
		return nil, notOwned(query.Name+"."+query.BaseDomain, observed.Others)
	}
	return &Found{Ref: observed.Cluster.ClusterRef, Spec: found.Spec, Observed: observed}, nil
}

// ErrNoCluster is in the error of a search for a file's cluster that is not there.
var ErrNoCluster = errors.New("there is none that oaictl made")

// ErrNoHost is in the error of a search for a host that is not there.
var ErrNoHost = errors.New("there is none of that name, id or MAC address")

// notOwned is the fault that a file's cluster is not there, or only one that oaictl did not
// make.
func notOwned(name string, others []model.ClusterRef) error {
	fault := &model.Fault{Code: model.CodeNotFound, Op: "find cluster", On: name, Permanent: true, Err: ErrNoCluster, Next: "{get clusters}"}
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

// FindHost finds a host by its id, its name or the MAC address of an interface: in the
// cluster that is meant, where the names of its file count too, or in all InfraEnvs where
// the target is empty.
func (client *Client) FindHost(ctx context.Context, in Target, name string) (model.Host, error) {
	if in == (Target{}) {
		hosts, err := client.AllHosts(ctx)
		if err != nil {
			return model.Host{}, err
		}
		return pickHost(hosts, name)
	}
	found, err := client.Inspect(ctx, in)
	if err != nil {
		return model.Host{}, err
	}
	if found.Spec != nil {
		for _, named := range decide.NewSnapshot(found.Desired(), found.Observed).Hosts() {
			if named.Host != nil && named.Name == name {
				return *named.Host, nil
			}
		}
	}
	return pickHost(found.Observed.Hosts, name)
}

// InspectHost reads all of the cluster that a host was found in: the one that is meant, or
// the host's own where the target is empty. A host that has none, or has outlived it, is
// found alone.
func (client *Client) InspectHost(ctx context.Context, host model.Host, in Target) (*Found, error) {
	alone := &Found{Ref: model.ClusterRef{ID: host.ClusterID}, Observed: &model.Observed{At: client.clock.Now(), Hosts: []model.Host{host}}}
	if host.ClusterID == "" {
		return alone, nil
	}
	if in == (Target{}) {
		in.Name = host.ClusterID
	}
	found, err := client.Inspect(ctx, in)
	if model.FaultOf(err).Code == model.CodeNotFound {
		return alone, nil
	}
	return found, err
}

// AllHosts are the hosts that the user may see, of all InfraEnvs.
func (client *Client) AllHosts(ctx context.Context) ([]model.Host, error) {
	infraEnvs, err := client.ListInfraEnvs(ctx, "")
	if err != nil {
		return nil, err
	}
	var all []model.Host
	for _, env := range infraEnvs {
		hosts, err := client.ListHosts(ctx, env.ID)
		if model.FaultOf(err).Code == model.CodeNotFound {
			continue // the InfraEnv has gone since they were listed
		}
		if err != nil {
			return nil, err
		}
		all = append(all, hosts...)
	}
	return all, nil
}

// pickHost is the one host of that id or name. Names are compared as a whole: node-1 is not
// node-10.
func pickHost(hosts []model.Host, name string) (model.Host, error) {
	var found []model.Host
	for _, host := range hosts {
		switch {
		case strings.EqualFold(host.ID, name):
			return host, nil
		case host.Hostname == name, model.NodeName(host.Hostname) == name && name != "", slices.ContainsFunc(host.Inventory.Interfaces,
			func(i model.Interface) bool { return strings.EqualFold(i.MAC, name) }):
			found = append(found, host)
		}
	}
	fault := &model.Fault{Code: model.CodeNotFound, Op: "find host", On: name, Permanent: true, Next: "{get hosts}"}
	switch len(found) {
	case 0:
		fault.Err = ErrNoHost
		return model.Host{}, fault
	case 1:
		return found[0], nil
	}
	ids := make([]string, 0, len(found))
	for _, host := range found {
		ids = append(ids, host.ID)
	}
	fault.Err = fmt.Errorf("there are several: %s", strings.Join(ids, ", "))
	fault.Next = "use the id, or name the cluster with --cluster"
	return model.Host{}, fault
}
