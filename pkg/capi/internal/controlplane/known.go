package controlplane

import (
	"sync"
	"time"

	"github.com/oaictl/oaictl/pkg/capi/internal/desired"
	"github.com/oaictl/oaictl/pkg/capi/internal/installation"
)

// copyAgain is how often the service is asked whether it has another kubeconfig of a cluster than before.
const copyAgain = time.Hour

// kubeconfigs remembers what the kubeconfig of each Cluster was found to be, so that a reconcile neither parses it again
// nor reads the service's copy again. The zero value is ready. It is safe for concurrent use.
type kubeconfigs struct {
	mu sync.Mutex
	of map[installation.Key]knownKubeconfig
}

type knownKubeconfig struct {
	data    string
	problem error // why no cluster can be reached by it; nil where one can
	ends    time.Time
	hasEnd  bool // the end of its client certificate is known
	// copyOf is the service's kubeconfig that the Secret was last compared with, and compared when that was. Both are
	// zero until then.
	copyOf   string
	compared time.Time
}

// examine parses a kubeconfig, unless it is the one that is known.
func (k *kubeconfigs) examine(cluster installation.Key, data []byte) knownKubeconfig {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known, has := k.of[cluster]; has && known.data == string(data) {
		return known
	}
	known := knownKubeconfig{data: string(data), problem: desired.CheckKubeconfig(cluster, data)}
	known.ends, known.hasEnd = certificateEnds(data)
	if k.of == nil {
		k.of = map[installation.Key]knownKubeconfig{}
	}
	k.of[cluster] = known
	return known
}

// isCopy notes that the Secret has taken the service's kubeconfig which, or one that replaces it.
func (k *kubeconfigs) isCopy(cluster installation.Key, which string, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known, has := k.of[cluster]; has {
		known.copyOf, known.compared = which, at
		k.of[cluster] = known
	}
}

// forget drops what is known of a Cluster that is gone.
func (k *kubeconfigs) forget(cluster installation.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, cluster)
}
