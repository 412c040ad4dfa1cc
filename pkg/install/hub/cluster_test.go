package hub

import (
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
)

// TestPreparationsThatNoConditionTells counts those that fail at hosts: the
// condition is about the files of an installation, and says success.
func TestPreparationsThatNoConditionTells(t *testing.T) {
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	c := newCluster()
	see := func(state install.ClusterState) int {
		at = at.Add(10 * time.Second)
		o := &install.Observed{At: at, Cluster: &install.Cluster{State: state, Preparation: install.Preparation{Status: "success"}}}
		c.follow(o)
		return len(o.Cluster.Preparation.FailedAt)
	}
	for _, step := range []struct {
		state  install.ClusterState
		failed int
	}{
		{install.ClusterReady, 0},
		{install.ClusterPreparing, 0},
		{install.ClusterReady, 1},
		{install.ClusterBlocked, 1},
		{install.ClusterReady, 1},
		{install.ClusterPreparing, 1},
		{install.ClusterBlocked, 2},
		{install.ClusterPreparing, 2},
		{install.ClusterInstalling, 0},
	} {
		if got := see(step.state); got != step.failed {
			t.Errorf("%s: %d failed preparations, want %d", step.state, got, step.failed)
		}
	}
}

// TestHostsThatCouldNotPrepare are kept: their Agents say it for seconds.
func TestHostsThatCouldNotPrepare(t *testing.T) {
	c := newCluster()
	see := func(state install.ClusterState, status string) string {
		o := &install.Observed{Cluster: &install.Cluster{State: state}, Hosts: []install.Host{{ID: "h", Status: status, StatusInfo: "why"}}}
		c.follow(o)
		return o.Cluster.Preparation.Hosts["h"]
	}
	for _, step := range []struct {
		state  install.ClusterState
		status string
		why    string
	}{
		{install.ClusterPreparing, "preparing-for-installation", ""},
		{install.ClusterPreparing, "preparing-failed", "why"},
		{install.ClusterReady, "known", "why"},
		{install.ClusterPreparing, "preparing-for-installation", "why"},
		{install.ClusterPreparing, "preparing-successful", ""},
		{install.ClusterPreparing, "preparing-failed", "why"},
		{install.ClusterInstalling, "installing", ""},
	} {
		if got := see(step.state, step.status); got != step.why {
			t.Errorf("%s while its cluster is %s: %q, want %q", step.status, step.state, got, step.why)
		}
	}
}
