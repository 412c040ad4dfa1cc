package agent

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/install"
)

// ServicePool is the hosts of an assisted-service without a hub: those of the InfraEnvs that the
// AgentCluster names. There is nothing on a host that says whose it is before it is bound.
type ServicePool struct {
	// Service is the one that installs the clusters of a namespace.
	Service func(namespace string) (install.Backend, error)
}

var _ Pool = (*ServicePool)(nil)

// Thing is what a host is called.
func (p *ServicePool) Thing() string { return "host" }

// Notes reports that hosts do not say whose they are.
func (p *ServicePool) Notes() bool { return false }

// Within reports that hosts are in no namespace.
func (p *ServicePool) Within(string) string { return "" }

// Hosts are those of the InfraEnvs that the AgentCluster names, and none without.
func (p *ServicePool) Hosts(ctx context.Context, namespace string, cluster *agentv1.AgentCluster) ([]pool.Host, error) {
	if cluster == nil || len(cluster.Spec.InfraEnvRefs) == 0 {
		return nil, nil
	}
	service, err := p.Service(namespace)
	if err != nil {
		return nil, err
	}
	var hosts []pool.Host
	for _, ref := range cluster.Spec.InfraEnvRefs {
		env, err := service.InfraEnvByNameOrID(ctx, ref.Name)
		if err != nil {
			return nil, fmt.Errorf("find the InfraEnv %s of AgentCluster %s: %w", ref.Name, cluster.Name, err)
		}
		of, err := hostsOf(ctx, service, env.ID)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, of...)
	}
	pool.Sort(hosts)
	return hosts, nil
}

func hostsOf(ctx context.Context, service install.Backend, infraEnv string) ([]pool.Host, error) {
	list, err := service.ListHosts(ctx, infraEnv)
	if err != nil && install.CodeOf(err) != install.CodeNotFound { // one that is gone has no hosts
		return nil, fmt.Errorf("list the hosts of InfraEnv %s: %w", infraEnv, err)
	}
	hosts := make([]pool.Host, 0, len(list))
	for i := range list {
		hosts = append(hosts, pool.OfHost(&list[i]))
	}
	return hosts, nil
}

// Host is a host of an InfraEnv.
func (p *ServicePool) Host(ctx context.Context, namespace string, host types.NamespacedName) (*pool.Host, error) {
	return p.Now(ctx, namespace, host)
}

// Now is Host: nothing is kept.
func (p *ServicePool) Now(ctx context.Context, namespace string, host types.NamespacedName) (*pool.Host, error) {
	service, err := p.Service(namespace)
	if err != nil {
		return nil, err
	}
	hosts, err := hostsOf(ctx, service, host.Namespace)
	return pool.Find(hosts, host), err
}

// Reserve has nothing to write.
func (p *ServicePool) Reserve(context.Context, types.NamespacedName, types.NamespacedName, func(*pool.Host) bool) error {
	return nil
}

// Release has nothing to take back.
func (p *ServicePool) Release(context.Context, types.NamespacedName, types.NamespacedName) error {
	return nil
}
