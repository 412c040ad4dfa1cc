//go:build e2e

package hub_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	simulated "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install/internal/planetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

// Whole installs against a simulated service behind a real API server: they end
// installed, write each object twice at most, and a second run writes nothing.
func TestInstallOnASimulatedHub(t *testing.T) {
	for name, test := range map[string]struct {
		example string
		config  simulated.Config
		kinds   []model.Kind
	}{
		"workers, without Hive": {"ha-workers", simulated.Config{}, []model.Kind{model.RecordInstalled}},
		"a service that stalls, with errors of its backend": {
			"sno", simulated.Config{Hive: true, Webhooks: true, Trouble: simulated.Trouble{UnsyncedAgents: true, BackendErrors: 2}}, []model.Kind{model.NudgeCluster},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			installSimulated(t, sample.Example(t, test.example), test.config, test.kinds)
		})
	}
}

// installSimulated installs a cluster and looks at how: kinds of actions have to
// be among those that were done. Then another run, without the results of the
// first, finds nothing to do.
func installSimulated(t *testing.T, cluster *spec.Cluster, config simulated.Config, kinds []model.Kind) {
	t.Helper()
	s, desired := newStage(t, cluster, config), &model.Desired{Spec: cluster}
	result, writes := s.run(t, desired, &planetest.Files{})
	check.Equal(t, result.Verdict, model.VerdictInstalled, "verdict")
	for _, kind := range kinds {
		if s.done[kind] == 0 {
			t.Errorf("no %s in %v", kind, s.done)
		}
	}
	for path, n := range writes {
		if strings.Contains(path, "/agentclusterinstalls/") {
			n -= s.done[model.NudgeCluster] // a touch is a write as well
		}
		if n > 2 {
			t.Errorf("%s was written %d times", path, n)
		}
	}
	if !slices.Contains(s.states, string(model.ClusterPreparing)) || !slices.Contains(s.states, string(model.ClusterFinalizing)) {
		t.Errorf("states %v", s.states)
	}
	t.Logf("writes of %s: %v; states %s", cluster.Metadata.Name, slices.Sorted(maps.Values(writes)), strings.Join(s.states, " "))
	if _, writes := s.run(t, desired, nil); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}
