package hub

import (
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/vocab"
	"github.com/oaictl/oaictl/pkg/install"
)

func TestFailureWaitsForItsHosts(t *testing.T) {
	failed := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		host install.HostState
		of   string
		age  time.Duration
		want install.ClusterState
	}{
		"a host that is still to say it": {vocab.HostInstalling, "lab/lab", hostReportDelay - time.Second, vocab.ClusterInstalling},
		"hosts that have said it":        {vocab.HostFailed, "lab/lab", 0, vocab.ClusterFailed},
		"a host of another cluster":      {vocab.HostInstalling, "lab/other", 0, vocab.ClusterFailed},
		"a host that never says it":      {vocab.HostInstalling, "lab/lab", hostReportDelay, vocab.ClusterFailed},
	} {
		observed := &install.Observed{
			At:      failed.Add(test.age),
			Cluster: &install.Cluster{ClusterRef: install.ClusterRef{ID: "lab/lab"}, State: vocab.ClusterFailed, InstallCompleted: failed},
			Hosts:   []install.Host{{ClusterID: test.of, State: test.host}},
		}
		if delayFailure(observed); observed.Cluster.State != test.want {
			t.Errorf("%s: got %s, want %s", name, observed.Cluster.State, test.want)
		}
	}
}
