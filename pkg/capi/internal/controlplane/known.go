package controlplane

import (
	"crypto/sha256"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
)

// copyAgain is how often the service is asked whether it has another kubeconfig of a cluster than before.
const copyAgain = time.Hour

// kubeconfigs remembers what the kubeconfig of each Cluster was found to be, so that a reconcile neither parses it again
// nor reads the service's copy again. The zero value is ready. It is safe for concurrent use.
type kubeconfigs struct {
	mu sync.Mutex
	of map[clusterloop.Key]knownKubeconfig
}

type knownKubeconfig struct {
	sum     [sha256.Size]byte // of the kubeconfig
	problem error             // why no cluster can be reached by it; nil where one can
	ends    time.Time
	hasEnd  bool // the end of its client certificate is known
	// copyOf is the service's kubeconfig that the Secret was last compared with, and compared when that was. Both are
	// zero until then.
	copyOf   string
	compared time.Time
}

// examine parses a kubeconfig, unless it is the known one.
func (k *kubeconfigs) examine(cluster clusterloop.Key, data []byte) knownKubeconfig {
	sum := sha256.Sum256(data)
	k.mu.Lock()
	defer k.mu.Unlock()
	if known, has := k.of[cluster]; has && known.sum == sum {
		return known
	}
	known := knownKubeconfig{sum: sum, problem: clusterspec.CheckKubeconfig(cluster, data)}
	known.ends, known.hasEnd = certificateEnds(data)
	if k.of == nil {
		k.of = map[clusterloop.Key]knownKubeconfig{}
	}
	k.of[cluster] = known
	return known
}

// isCopy records that the Secret has taken the service's kubeconfig with the digest which, or one that replaces it.
func (k *kubeconfigs) isCopy(cluster clusterloop.Key, which string, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known, has := k.of[cluster]; has {
		known.copyOf, known.compared = which, at
		k.of[cluster] = known
	}
}

// forget drops what is known of a Cluster that is gone.
func (k *kubeconfigs) forget(cluster clusterloop.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, cluster)
}

// clusters are the Clusters of control planes, by the names of the control planes. They say what to forget when a control
// plane is gone. The zero value is ready. It is safe for concurrent use.
type clusters struct {
	mu sync.Mutex
	of map[types.NamespacedName]clusterloop.Key
}

// note records the Cluster of a control plane. former is the Cluster that it had before, where that was another one.
func (c *clusters) note(plane types.NamespacedName, cluster clusterloop.Key) (former clusterloop.Key, another bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	former, another = c.of[plane]
	if c.of == nil {
		c.of = map[types.NamespacedName]clusterloop.Key{}
	}
	c.of[plane] = cluster
	return former, another && former != cluster
}

// take is the Cluster of a control plane, and removes that record.
func (c *clusters) take(plane types.NamespacedName) (clusterloop.Key, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cluster, known := c.of[plane]
	delete(c.of, plane)
	return cluster, known
}
