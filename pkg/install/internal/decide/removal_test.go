package decide_test

import (
	"slices"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestRemovalByTheRecord: a host that the file does not name is known by the service's record of it, unless that is of
// another cluster.
func TestRemovalByTheRecord(t *testing.T) {
	for cluster, actions := range map[string][]string{"cluster-1": {"node/worker-9/record"}, "cluster-2": nil} {
		w := decidetest.NewShrinking(3, 2, false, "extra")
		extra := decidetest.Machine("worker-9", "52:54:00:ff:ff:ff", 60)
		extra.ID, extra.Hostname, extra.State, extra.ClusterID = "extra", "worker-9", model.HostAdded, cluster
		w.Hosts = append(w.Hosts, extra)
		plan := w.Decide()
		if got := decidetest.Keys(plan.Actions); !slices.Equal(got, actions) || decidetest.HasReason(plan, "UnknownNode") != (actions == nil) {
			t.Errorf("of %s: actions %v, blockers %+v", cluster, got, plan.Blockers)
		}
	}
}
