package agent

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// ServicePool is the hosts of an assisted-service without a hub: those of the InfraEnvs that the AgentCluster names.
// Before a host is bound, nothing on it records which machine has it.
type ServicePool struct {
	// Service is the one that installs the clusters of a namespace.
	Service func(namespace string) (install.Backend, error)
	// Pools are the InfraEnvs that are opened to namespaces.
	Pools machines.Pools
}

var _ Pool = (*ServicePool)(nil)

// HostKind is what a host is called.
func (p *ServicePool) HostKind() string { return "host" }

// RecordsReservation reports that hosts do not record which machine they are reserved for.
func (p *ServicePool) RecordsReservation() bool { return false }

// HostNamespace reports that hosts are in no namespace.
func (p *ServicePool) HostNamespace(string) string { return "" }

// Hosts are those of the InfraEnvs that the AgentCluster names, and none without. It is an error that one of them is not
// opened to the namespace.
func (p *ServicePool) Hosts(ctx context.Context, namespace string, cluster *agentv1.AgentCluster) ([]pool.Host, error) {
	if cluster == nil || len(cluster.Spec.InfraEnvRefs) == 0 {
		return nil, nil
	}
	service, err := p.Service(namespace)
	if err != nil {
		return nil, err
	}
	ids, err := p.opened(ctx, service, namespace, cluster.Spec.InfraEnvRefs)
	if err != nil {
		return nil, fmt.Errorf("AgentCluster %s: %w", cluster.Name, err)
	}
	var hosts []pool.Host
	for _, id := range ids {
		of, err := hostsOf(ctx, service, id)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, of...)
	}
	pool.Sort(hosts)
	return hosts, nil
}

// opened are the ids of the InfraEnvs that are named, by their ids or, among those that are opened to the namespace, by
// their names.
func (p *ServicePool) opened(ctx context.Context, service install.Backend, namespace string,
	refs []agentv1.InfraEnvReference) ([]string, error) {
	var ids []string
	var named []model.InfraEnv
	for _, ref := range refs {
		if p.Pools.Has(namespace, ref.Name) {
			ids = append(ids, ref.Name)
			continue
		}
		if named == nil && len(p.Pools[namespace]) > 0 {
			all, err := service.ListInfraEnvs(ctx, "")
			if err != nil {
				return nil, fmt.Errorf("find the InfraEnv %s: %w", ref.Name, err)
			}
			named = slices.DeleteFunc(all, func(e model.InfraEnv) bool { return !p.Pools.Has(namespace, e.ID) })
		}
		at := slices.IndexFunc(named, func(e model.InfraEnv) bool { return e.Name == ref.Name })
		if at < 0 {
			return nil, fmt.Errorf("the InfraEnv %s is not a pool that is open for namespace %s: the administrator of the providers "+
				"can open it with "+
				"--pool %[2]s=ID (variable OAICTL_POOL of the component files)", ref.Name, namespace)
		}
		ids = append(ids, named[at].ID)
	}
	return ids, nil
}

func hostsOf(ctx context.Context, service install.Backend, infraEnv string) ([]pool.Host, error) {
	list, err := service.ListHosts(ctx, infraEnv)
	if err != nil && model.FaultOf(err).Code != model.CodeNotFound { // a pool that is gone has no hosts
		return nil, fmt.Errorf("list the hosts of InfraEnv %s: %w", infraEnv, err)
	}
	hosts := make([]pool.Host, 0, len(list))
	for i := range list {
		hosts = append(hosts, pool.OfHost(&list[i]))
	}
	return hosts, nil
}

// Host is a host of an InfraEnv that is opened to the namespace, or of the cluster of an id.
func (p *ServicePool) Host(ctx context.Context, namespace string, host types.NamespacedName, cluster string) (*pool.Host, error) {
	return p.UncachedHost(ctx, namespace, host, cluster)
}

// UncachedHost is Host: nothing is kept.
func (p *ServicePool) UncachedHost(ctx context.Context, namespace string, host types.NamespacedName, cluster string) (*pool.Host, error) {
	service, err := p.Service(namespace)
	if err != nil {
		return nil, err
	}
	hosts, err := hostsOf(ctx, service, host.Namespace)
	found := pool.Find(hosts, host)
	if found != nil && !p.Opens(namespace, host) && (cluster == "" || found.Cluster != cluster) {
		return nil, errForeign
	}
	return found, err
}

// Opens reports whether the InfraEnv of a host is opened to the namespace.
func (p *ServicePool) Opens(namespace string, host types.NamespacedName) bool {
	return p.Pools.Has(namespace, host.Namespace)
}

// Reserve has nothing to write.
func (p *ServicePool) Reserve(context.Context, types.NamespacedName, types.NamespacedName, func(*pool.Host) bool) error {
	return nil
}

// Release has nothing to take back.
func (p *ServicePool) Release(context.Context, types.NamespacedName, types.NamespacedName) error {
	return nil
}
