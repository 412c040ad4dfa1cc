package rest_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestInstallWithAReservedHost installs a cluster with a host of a pool, beside one that has its image to itself, and
// adds another one of the pool. Nothing is done to the pool itself, nor to the host that is not reserved.
func TestInstallWithAReservedHost(t *testing.T) {
	ids := []string{"52540000-0000-4000-8000-000000000701", "52540000-0000-4000-8000-000000000702", "52540000-0000-4000-8000-000000000703"}
	cluster := loadExample(t, "compact")
	cluster.Spec.Hosts[1].Match = spec.Match{InfraEnv: "second"}
	cluster.Spec.Hosts[2].Match, cluster.Spec.Hosts[2].Hostname = spec.Match{Agent: "rack/" + ids[0]}, ""
	fast := clock.Scaled(1200)
	service, err := simulator.Start(t.Context(), simulator.Config{Clock: fast, Seed: 1, Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	wire := &wireCount{}
	newPlane := func() *rest.Plane {
		plane, err := rest.New(rest.Config{URL: service.URL(), HTTPClient: &http.Client{Transport: wire}, Clock: fast})
		if err != nil {
			t.Fatal(err)
		}
		return plane
	}
	if err := newPlane().Act(t.Context(), &model.Desired{Spec: cluster}, model.Action{Kind: model.RegisterInfraEnv, Name: "rack"}); err != nil {
		t.Fatal(err)
	}
	pool := &spec.Nodes{Spec: spec.NodesSpec{Cluster: "compact.example.com", InfraEnv: spec.InfraEnv{Ref: "rack"}}}
	for _, id := range ids {
		pool.Spec.Hosts = append(pool.Spec.Hosts, spec.Host{Name: "rack-" + id[len(id)-1:], Match: spec.Match{UUID: id}})
	}
	machines, err := pool.Resolve(t.Context(), ".", spec.Env{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := simulator.Boot(t.Context(), simulator.BootConfig{ServiceURL: service.URL(), Clock: fast, Seed: 2, Cluster: machines}); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	}()
	run := func(desired *model.Desired) (install.Result, []string) {
		t.Helper()
		wire.take()
		result, err := install.New(newPlane(), install.Config{Clock: fast, Timeout: 4 * time.Hour, UserTimeout: time.Hour}).Run(t.Context(), desired)
		if err != nil || result.Verdict != model.VerdictInstalled {
			t.Fatalf("verdict %s, %v (next: %s)", result.Verdict, err, model.FaultOf(err).Next)
		}
		_, writes, _ := wire.take()
		for _, write := range writes {
			if strings.Contains(write, ids[2]) {
				t.Errorf("%s of a host that nobody has reserved", write)
			}
		}
		return result, writes
	}
	desired := &model.Desired{Spec: cluster, Options: model.Options{Run: "first"}}
	result, _ := run(desired)
	if at := slices.IndexFunc(result.Observed.Hosts, func(h model.Host) bool { return h.ID == ids[0] }); at < 0 || result.Observed.Hosts[at].State != model.HostInstalled || result.Observed.Hosts[at].Hostname == "cp-2" {
		t.Errorf("hosts %+v", result.Observed.Hosts)
	}
	if _, writes := run(desired); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
	workers := 1
	cluster.Spec.Topology.Workers = &workers
	cluster.Spec.Hosts = append(cluster.Spec.Hosts, spec.Host{Name: "w-0", Hostname: "w-0", Role: spec.Worker, Match: spec.Match{Agent: "rack/" + ids[1]}})
	desired.Options.AddNodes = true
	if result, _ := run(desired); !slices.Equal(result.Plan.Added, []string{"w-0"}) {
		t.Errorf("added %v", result.Plan.Added)
	}
	if _, writes := run(desired); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}
