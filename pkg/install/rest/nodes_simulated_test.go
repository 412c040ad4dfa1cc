package rest_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
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

// TestAddNodesOfAFile adds the hosts of the example of kind Nodes to the cluster that it
// names, once that was installed by its own file: by its discovery image, and without a
// word about the cluster. A second run writes nothing.
func TestAddNodesOfAFile(t *testing.T) {
	cluster := loadExample(t, "ha-workers")
	env := spec.OSEnv()
	env.Nodes = true
	nodes, err := spec.Load(t.Context(), filepath.Join("..", "..", "..", "examples", "nodes.yaml"), env)
	if err != nil {
		t.Fatal(err)
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
		result, err := install.New(plane, install.Config{Clock: fast, Timeout: 4 * time.Hour, UserTimeout: time.Hour}).Run(t.Context(), desired)
		if err != nil || result.Verdict != model.VerdictInstalled {
			t.Fatalf("verdict %s, %v (next: %s)", result.Verdict, err, model.FaultOf(err).Next)
		}
		return result
	}
	found := run(&model.Desired{Spec: cluster, Options: model.Options{Run: "first"}}).Observed.Cluster
	if full := found.Name + "." + found.BaseDomain; full != nodes.Existing() {
		t.Fatalf("the cluster is %s, and the example adds to %s", full, nodes.Existing())
	}
	at, err := nodes.AddedTo(spec.Target{Name: found.Name, BaseDomain: found.BaseDomain, Version: found.Version, Arch: spec.Arch(found.Settings[model.SettingArch].Text())})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := simulator.Boot(t.Context(), simulator.BootConfig{ServiceURL: service.URL(), Clock: fast, Seed: 2, Cluster: at, Day: host.Day2}); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	}()
	wire.take()
	desired := &model.Desired{Spec: at, Options: model.Options{AddNodes: true}}
	result := run(desired)
	slices.Sort(result.Plan.Added)
	if got := strings.Join(result.Plan.Added, " "); got != "worker-2 worker-3" || len(result.Plan.Warnings) > 0 {
		t.Errorf("added %s, with %+v", got, result.Plan.Warnings)
	}
	_, _, by := wire.take()
	if by["POST clusters"]+by["PATCH clusters/*"]+by["POST infra-envs"]+by["PATCH infra-envs/*"] > 0 || by["POST infra-envs/*/hosts/*/actions/install"] != 2 {
		t.Errorf("requests %v", by)
	}
	run(desired)
	if _, writes, _ := wire.take(); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
	if end := run(&model.Desired{Spec: cluster, Options: model.Options{AddNodes: true}}); len(end.Plan.Added) > 0 {
		t.Errorf("a file that does not name %v says that they were added", end.Plan.Added)
	}
}
