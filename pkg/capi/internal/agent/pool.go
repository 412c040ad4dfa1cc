package agent

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
)

// Pool is the hosts that machines are taken from: the Agents of a hub, or the hosts of a service.
type Pool interface {
	// Hosts are those that machines of a namespace may be taken from. cluster is nil for a Cluster
	// that has other infrastructure.
	Hosts(ctx context.Context, namespace string, cluster *agentv1.AgentCluster) ([]pool.Host, error)
	// Host is the one that was reserved by a machine of a namespace; nil where it is gone. Over REST it is errForeign
	// where the host is neither of a pool that is opened to the namespace, nor of the cluster of that id. A cluster of ""
	// has no hosts.
	Host(ctx context.Context, namespace string, host types.NamespacedName, cluster string) (*pool.Host, error)
	// UncachedHost is Host past all caches.
	UncachedHost(ctx context.Context, namespace string, host types.NamespacedName, cluster string) (*pool.Host, error)
	// Opens reports whether machines of a namespace may take a host. What AgentMachines of other namespaces say of it does
	// not count.
	Opens(namespace string, host types.NamespacedName) bool
	// Reserve records on a host for which AgentMachine it is reserved. It is errTaken if the host is reserved for
	// another, or is gone, or is bound to a cluster that isOurs does not accept as the machine's.
	Reserve(ctx context.Context, host, machine types.NamespacedName, isOurs func(*pool.Host) bool) error
	// Release takes the note back. A host that is gone, or another machine's, is left alone.
	Release(ctx context.Context, host, machine types.NamespacedName) error
	// RecordsReservation reports whether hosts record at all for which AgentMachine they are reserved. Otherwise only AgentMachines
	// record which host they have.
	RecordsReservation() bool
	// HostNamespace is the namespace that hosts for machines of a namespace are taken from; "" where hosts are in none.
	HostNamespace(namespace string) string
	// HostKind is what a host is called.
	HostKind() string
}

// errForeign says that a machine has recorded a host that it may not have.
var errForeign = errors.New("it belongs neither to the cluster of the machine nor to a pool that is open for its namespace")

// errTaken says that a host cannot be reserved any more.
var errTaken = errors.New("another owner has the host")
