//go:build e2e

package hub_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/simulator"
	simulated "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Hosts that are known by InfraEnvs of their own come from these, are approved for that, and
// installed beside the one that shares the cluster's.
func TestHostsWithInfraEnvsOfTheirOwn(t *testing.T) {
	cluster := exampleOf(t, "compact")
	for i, match := range []spec.Match{{InfraEnv: "second"}, {InfraEnv: "compact-9", MAC: cluster.Spec.Hosts[2].Match.MAC}} {
		cluster.Spec.Hosts[i+1].Match = match
	}
	s, desired := newStage(t, cluster, simulated.Config{Webhooks: true}), &model.Desired{Spec: cluster}
	result, _ := s.run(t, desired, nil)
	if result.Verdict != model.VerdictInstalled || s.done[model.RegisterInfraEnv] != 3 {
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
	desired := &model.Desired{Spec: cluster, Options: model.Options{AddNodes: true}}
	result, _ := s.run(t, desired, nil)
	if result.Verdict != model.VerdictInstalled || !slices.Contains(result.Plan.Added, "w-5") || s.done[model.RegisterInfraEnv] != 2 {
		t.Errorf("verdict %s, added %v, done %v", result.Verdict, result.Plan.Added, s.done)
	}
	if _, writes := s.run(t, desired, nil); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}

// A cluster is installed with a host of a pool that somebody has approved and reserved, beside one that has its image to itself and one that shares the cluster's. Nothing is
// written to the rest of the pool, and a second run writes nothing.
func TestInstallWithAReservedAgent(t *testing.T) {
	const reserved, left = "52540000-0000-4000-8000-000000000701", "52540000-0000-4000-8000-000000000702"
	cluster := exampleOf(t, "compact")
	cluster.Spec.Hosts[1].Match = spec.Match{InfraEnv: "second"}
	cluster.Spec.Hosts[2].Match, cluster.Spec.Hosts[2].Hostname = spec.Match{Agent: "pool/" + reserved}, ""
	s := newStage(t, cluster, simulated.Config{Webhooks: true})
	cluster.Spec.Hosts[2].Match.Agent = s.config.Namespace + "/" + reserved
	s.makePool(t)
	machines, err := (&spec.Nodes{Spec: spec.NodesSpec{Cluster: "compact.example.com", InfraEnv: spec.InfraEnv{Ref: "rack"}, Hosts: []spec.Host{
		{Name: "rack-1", Match: spec.Match{UUID: reserved}}, {Name: "rack-2", Match: spec.Match{UUID: left}},
	}}}).Resolve(t.Context(), ".", spec.Env{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := simulator.Boot(t.Context(), simulator.BootConfig{ServiceURL: s.config.Service, Clock: s.clock, Seed: 2, Cluster: machines}); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	}()
	s.approve(t, reserved)
	desired := &model.Desired{Spec: cluster}
	result, writes := s.run(t, desired, nil)
	if result.Verdict != model.VerdictInstalled || s.done[model.BindHost] != 1 {
		t.Errorf("verdict %s, done %v", result.Verdict, s.done)
	}
	for path := range writes {
		if strings.HasSuffix(path, left) || strings.HasSuffix(path, "/rack") {
			t.Errorf("%s was written", path)
		}
	}
	if spec, _, _ := unstructured.NestedMap(s.get(t, hubapi.Resource(hubapi.KindAgent), reserved).Object, "spec"); spec["approved"] != true || spec["hostname"] != nil || spec["role"] != "master" {
		t.Errorf("the Agent's spec %v", spec)
	}
	if _, writes := s.run(t, desired, nil); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
	// The other one is added: it is what the file says before it is bound, which installs it.
	s.approve(t, left)
	workers := 1
	cluster.Spec.Topology.Workers = &workers
	cluster.Spec.Hosts = append(cluster.Spec.Hosts, spec.Host{Name: "w-0", Hostname: "w-0", Role: spec.Worker, Match: spec.Match{Agent: s.config.Namespace + "/" + left}})
	desired.Options.AddNodes = true
	if result, _ := s.run(t, desired, nil); !slices.Equal(result.Plan.Added, []string{"w-0"}) || s.done[model.InstallHost] > 0 || s.done[model.RegisterInfraEnv] != 2 {
		t.Errorf("added %v, done %v", result.Plan.Added, s.done)
	}
	if _, writes := s.run(t, desired, nil); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}

// approve waits for an Agent, and approves it as a person does.
func (s *stage) approve(t *testing.T, name string) {
	t.Helper()
	agents := s.admin.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(s.config.Namespace)
	for end := s.clock.Now().Add(time.Hour); ; {
		_, err := agents.Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"approved":true}}`), metav1.PatchOptions{FieldManager: "somebody"})
		if err == nil {
			return
		}
		if s.clock.Now().After(end) {
			t.Fatal(err)
		}
		if err := s.clock.Sleep(t.Context(), 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
}
