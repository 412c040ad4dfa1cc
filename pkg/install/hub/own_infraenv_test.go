package hub_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/model"
	simulated "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Hosts that are known by InfraEnvs of their own come from these, are approved for that, and
// installed beside the one that shares the cluster's.
func TestHostsWithInfraEnvsOfTheirOwn(t *testing.T) {
	cluster := exampleOf(t, "compact")
	for i, match := range []spec.Match{{InfraEnv: "second"}, {InfraEnv: "compact-9", MAC: cluster.Spec.Hosts[2].Match.MAC}} {
		cluster.Spec.Hosts[i+1].Match = match
	}
	s, desired := newStage(t, cluster, simulated.Config{Webhooks: true}), &install.Desired{Spec: cluster}
	result, _ := s.run(t, desired, nil)
	if result.Verdict != install.VerdictInstalled || s.done[model.RegisterInfraEnv] != 3 {
		t.Errorf("verdict %s, done %v", result.Verdict, s.done)
	}
	from := map[string]string{}
	for _, h := range result.Observed.Hosts {
		from[h.Hostname] = s.get(t, hubapi.Resource(hubapi.KindAgent), h.ID).GetLabels()[hubapi.LabelAgentInfraEnv]
	}
	if want := map[string]string{"cp-0": "compact", "cp-1": "second", "cp-2": "compact-9"}; !maps.Equal(from, want) {
		t.Errorf("hosts came from %v, want %v", from, want)
	}
	if _, writes := s.run(t, desired, nil); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}

// A host that is added to an installed cluster has such an InfraEnv made for it.
func TestAddTheHostOfAnInfraEnv(t *testing.T) {
	cluster := load(t, elsewhere+"  - {name: w-5, role: worker, match: {infraEnv: fifth}}\n")
	s := newStage(t, cluster, simulated.Config{Webhooks: true})
	desired := &install.Desired{Spec: cluster, Options: install.Options{AddNodes: true}}
	result, _ := s.run(t, desired, nil)
	if result.Verdict != install.VerdictInstalled || !slices.Contains(result.Plan.Added, "w-5") || s.done[model.RegisterInfraEnv] != 2 {
		t.Errorf("verdict %s, added %v, done %v", result.Verdict, result.Plan.Added, s.done)
	}
	if _, writes := s.run(t, desired, nil); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}
