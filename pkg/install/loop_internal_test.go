package install

import (
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestLasts: an installed cluster is observed more seldom, but not while hosts are added to it; so is one that is being
// installed by a service that reports changes.
func TestLasts(t *testing.T) {
	for _, c := range []struct {
		state   model.ClusterState
		verdict model.Verdict
		told    bool
		spoke   *model.Spoke
		want    time.Duration
	}{
		{model.ClusterInstalled, model.VerdictInstalled, false, nil, rarely},
		{model.ClusterInstalled, model.VerdictInstalled, true, nil, idly},
		{model.ClusterInstalled, model.VerdictWaiting, true, nil, seldom},
		{model.ClusterFinalizing, model.VerdictWaiting, false, nil, seldom},
		{model.ClusterFinalizing, model.VerdictWaiting, true, nil, rarely},
		{model.ClusterInstalling, model.VerdictWaiting, true, nil, rarely},
		{model.ClusterInstalling, model.VerdictWaiting, true, &model.Spoke{}, seldom},
		{model.ClusterPreparing, model.VerdictWaiting, true, nil, seldom},
		{model.ClusterReady, model.VerdictWaiting, true, nil, seldom},
	} {
		look := Look{Observed: &model.Observed{Cluster: &model.Cluster{State: c.state}, Spoke: c.spoke}, Plan: model.Plan{Verdict: c.verdict}}
		if lasts := look.lasts(c.told); lasts != c.want {
			t.Errorf("%s, %s, told %v: %s", c.state, c.verdict, c.told, lasts)
		}
	}
}
