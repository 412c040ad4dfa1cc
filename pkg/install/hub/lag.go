package hub

import (
	"time"

	"github.com/oaictl/oaictl/internal/vocab"
	"github.com/oaictl/oaictl/pkg/install"
)

// lag is how much later than its cluster a host may be told to have failed: the
// service writes each object by itself.
const lag = 30 * time.Second

// awaitHosts puts the failure of an installation off for as long as its hosts may
// still be about to say which of them it was, and why.
func awaitHosts(observed *install.Observed) {
	cluster := observed.Cluster
	if cluster.State != vocab.ClusterFailed || observed.At.Sub(cluster.InstallCompleted) >= lag {
		return
	}
	for i := range observed.Hosts {
		if host := &observed.Hosts[i]; host.State == vocab.HostInstalling && host.ClusterID == cluster.ID {
			cluster.State, cluster.InstallCompleted = vocab.ClusterInstalling, time.Time{}
			return
		}
	}
}
