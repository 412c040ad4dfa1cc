package plane

import (
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// Refined tells apart what the service calls insufficient: a cluster that was
// never evaluated is a draft, one whose hosts are still to come or still being
// discovered waits for them, and only then do its validations count. hosts are
// those of the cluster.
func Refined(state install.ClusterState, validations []install.Validation, hosts []install.Host) install.ClusterState {
	if state != model.ClusterBlocked {
		return state
	}
	if len(validations) == 0 {
		return model.ClusterDraft
	}
	for i := range hosts {
		switch hosts[i].State {
		case model.HostDiscovering, model.HostBinding, model.HostUnbound:
		default:
			return state
		}
	}
	return model.ClusterDiscovering
}
