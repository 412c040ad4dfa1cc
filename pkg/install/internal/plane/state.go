package plane

import (
	"github.com/oaictl/oaictl/internal/vocab"
	"github.com/oaictl/oaictl/pkg/install"
)

// Refined tells apart what the service calls insufficient: a cluster that was
// never evaluated is a draft, one whose hosts are still to come or still being
// discovered waits for them, and only then do its validations count. hosts are
// those of the cluster.
func Refined(state install.ClusterState, validations []install.Validation, hosts []install.Host) install.ClusterState {
	if state != vocab.ClusterBlocked {
		return state
	}
	if len(validations) == 0 {
		return vocab.ClusterDraft
	}
	for i := range hosts {
		switch hosts[i].State {
		case vocab.HostDiscovering, vocab.HostBinding, vocab.HostUnbound:
		default:
			return state
		}
	}
	return vocab.ClusterDiscovering
}
