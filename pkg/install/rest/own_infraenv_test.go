package rest_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestHostsWithInfraEnvsOfTheirOwn installs a cluster, in which two hosts are known by their InfraEnvs, and adds a
// third such host. Each comes from its own InfraEnv, and is kept apart from the others.
func TestHostsWithInfraEnvsOfTheirOwn(t *testing.T) {
	cluster := loadExample(t, "compact")
	for i, match := range []spec.Match{{InfraEnv: "second"}, {InfraEnv: "compact-9", MAC: cluster.Spec.Hosts[2].Match.MAC}} {
		cluster.Spec.Hosts[i+1].Match = match
	}
	fast := clock.Scaled(1200)
	service, err := simulator.Start(t.Context(), simulator.Config{Clock: fast, Seed: 1, Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	wire := &wireCount{}
	run := func(desired *model.Desired) install.Result {
		t.Helper()
		plane, err := rest.New(rest.Config{URL: service.URL(), HTTPClient: &http.Client{Transport: wire}, Clock: fast})
		if err != nil {
			t.Fatal(err)
		}
		wire.take()
		result, err := install.New(plane, install.Config{Clock: fast, Timeout: 4 * time.Hour, UserTimeout: time.Hour}).Run(t.Context(), desired)
		if err != nil || result.Verdict != model.VerdictInstalled {
			t.Fatalf("verdict %s, %v (next: %s)", result.Verdict, err, model.FaultOf(err).Next)
		}
		for i := range cluster.Spec.Hosts {
			want := &cluster.Spec.Hosts[i]
			at := slices.IndexFunc(result.Observed.Hosts, func(h model.Host) bool { return h.Hostname == want.Name })
			if at < 0 {
				t.Fatalf("there is no host %s", want.Name)
			}
			env := result.Observed.InfraEnvs[slices.IndexFunc(result.Observed.InfraEnvs, func(e model.InfraEnv) bool { return e.ID == result.Observed.Hosts[at].InfraEnvID })]
			if own := want.Match.InfraEnv; own != "" && env.Name != own || own == "" && env.Name != cluster.Metadata.Name || !env.Owned {
				t.Errorf("%s came from the InfraEnv %s, which is ours: %v", want.Name, env.Name, env.Owned)
			}
		}
		return result
	}
	run(&model.Desired{Spec: cluster, Options: model.Options{Run: "first"}})
	if _, _, by := wire.take(); by["POST infra-envs"] != 3 {
		t.Errorf("requests %v", by)
	}
	workers := 1
	cluster.Spec.Topology.Workers = &workers
	cluster.Spec.Hosts = append(cluster.Spec.Hosts, spec.Host{Name: "worker-0", Hostname: "worker-0", Role: spec.Worker, Match: spec.Match{InfraEnv: "fourth"}})
	go func() {
		added := cluster.Adding("worker-0")
		if err := simulator.Boot(t.Context(), simulator.BootConfig{ServiceURL: service.URL(), Clock: fast, Seed: 2, Cluster: added, Day: host.Day2}); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	}()
	desired := &model.Desired{Spec: cluster, Options: model.Options{AddNodes: true}}
	if result := run(desired); !slices.Equal(result.Plan.Added, []string{"worker-0"}) {
		t.Errorf("added %v", result.Plan.Added)
	}
	if _, _, by := wire.take(); by["POST infra-envs"] != 1 {
		t.Errorf("requests %v", by)
	}
	run(desired)
	if _, writes, _ := wire.take(); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}
