//go:build e2e

package hub_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	simulated "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// nodesOf is a file of kind Nodes with one host, completed with its cluster.
func nodesOf(t *testing.T, cluster string, host spec.Host) *spec.Cluster {
	t.Helper()
	n := &spec.Nodes{Spec: spec.NodesSpec{Cluster: cluster, Hosts: []spec.Host{host}}}
	c, err := n.Resolve(t.Context(), ".", spec.Env{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at, err := c.AddedTo(spec.Target{Name: cluster, BaseDomain: "example.com"})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestAddNodesOfAFile: a host of a file of kind Nodes joins a cluster whose own file is
// not given. Its objects are left alone, and so is its InfraEnv, which serves; a second run
// writes nothing.
func TestAddNodesOfAFile(t *testing.T) {
	whole := load(t, elsewhere+"  - {name: w-5, role: worker, match: {mac: \"52:54:00:00:01:05\"}}\n")
	s := newStage(t, whole, simulated.Config{Webhooks: true})
	adds := model.Options{AddNodes: true}
	if result, _ := s.run(t, &model.Desired{Spec: load(t, elsewhere), Options: adds}, nil); result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %s", result.Verdict)
	}
	desired := &model.Desired{Options: adds, Spec: nodesOf(t, "old", spec.Host{
		Name: "w-5", Match: spec.Match{MAC: "52:54:00:00:01:05"}, Taints: []spec.Taint{{Key: "slow", Effect: "NoSchedule"}}, ProviderID: "agent://w-5",
	})}
	result, written := s.run(t, desired, nil)
	if result.Verdict != model.VerdictInstalled || !slices.Equal(result.Plan.Added, []string{"w-5"}) {
		t.Errorf("verdict %s, added %v", result.Verdict, result.Plan.Added)
	}
	for path := range written {
		if !strings.Contains(path, "/agents/") {
			t.Errorf("%s was written", path)
		}
	}
	if _, written := s.run(t, desired, nil); len(written) > 0 {
		t.Errorf("a second run writes %v", slices.Collect(maps.Keys(written)))
	}
}
