package hub

import (
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestPreparationsThatNoConditionTells counts those that fail at hosts: the
// condition is about the files of an installation, and says success.
func TestPreparationsThatNoConditionTells(t *testing.T) {
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	c := newClusterMemory(&hubapi.Texts{})
	see := func(state model.ClusterState) int {
		at = at.Add(10 * time.Second)
		o := &model.Observed{At: at, Cluster: &model.Cluster{State: state, Preparation: model.Preparation{Status: "success"}}}
		c.update(o)
		return len(o.Cluster.Preparation.FailedAt)
	}
	for _, step := range []struct {
		state  model.ClusterState
		failed int
	}{
		{model.ClusterReady, 0},
		{model.ClusterPreparing, 0},
		{model.ClusterReady, 1},
		{model.ClusterBlocked, 1},
		{model.ClusterReady, 1},
		{model.ClusterPreparing, 1},
		{model.ClusterBlocked, 2},
		{model.ClusterPreparing, 2},
		{model.ClusterInstalling, 0},
	} {
		if got := see(step.state); got != step.failed {
			t.Errorf("%s: %d failed preparations, want %d", step.state, got, step.failed)
		}
	}
}

// TestHostsThatCouldNotPrepare are kept: their Agents say it for seconds.
func TestHostsThatCouldNotPrepare(t *testing.T) {
	c := newClusterMemory(&hubapi.Texts{})
	see := func(state model.ClusterState, status string) string {
		o := &model.Observed{Cluster: &model.Cluster{State: state}, Hosts: []model.Host{{ID: "h", Status: status, StatusInfo: "why"}}}
		c.update(o)
		return o.Cluster.Preparation.Hosts["h"]
	}
	for _, step := range []struct {
		state  model.ClusterState
		status string
		why    string
	}{
		{model.ClusterPreparing, "preparing-for-installation", ""},
		{model.ClusterPreparing, "preparing-failed", "why"},
		{model.ClusterReady, "known", "why"},
		{model.ClusterPreparing, "preparing-for-installation", "why"},
		{model.ClusterPreparing, "preparing-successful", ""},
		{model.ClusterPreparing, "preparing-failed", "why"},
		{model.ClusterInstalling, "installing", ""},
	} {
		if got := see(step.state, step.status); got != step.why {
			t.Errorf("%s while its cluster is %s: %q, want %q", step.status, step.state, got, step.why)
		}
	}
}
