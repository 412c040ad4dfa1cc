package hub

import (
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

func TestFailureWaitsForItsHosts(t *testing.T) {
	failed := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		host model.HostState
		of   string
		age  time.Duration
		want model.ClusterState
	}{
		"a host that is still to say it": {model.HostInstalling, "lab/lab", hostReportDelay - time.Second, model.ClusterInstalling},
		"hosts that have said it":        {model.HostFailed, "lab/lab", 0, model.ClusterFailed},
		"a host of another cluster":      {model.HostInstalling, "lab/other", 0, model.ClusterFailed},
		"a host that never says it":      {model.HostInstalling, "lab/lab", hostReportDelay, model.ClusterFailed},
	} {
		observed := &model.Observed{
			At:      failed.Add(test.age),
			Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "lab/lab"}, State: model.ClusterFailed, InstallCompleted: failed},
			Hosts:   []model.Host{{ClusterID: test.of, State: test.host}},
		}
		if delayFailure(observed); observed.Cluster.State != test.want {
			t.Errorf("%s: got %s, want %s", name, observed.Cluster.State, test.want)
		}
	}
}
