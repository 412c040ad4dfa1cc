package simulator_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestRecordGrowth records a walk through an install without its second worker,
// and through the adding of that worker, broken off and begun again.
func TestRecordGrowth(t *testing.T) {
	path := filepath.Join("..", "..", "pkg", "install", "internal", "decide", "testdata", "walks", "worker-added.json.gz")
	if !*update {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%v; record it with: go test ./internal/simulator -run RecordGrowth -update", err)
		}
		return
	}
	steps, from := recordGrowth(t)
	var data bytes.Buffer
	zipped := gzip.NewWriter(&data)
	if err := json.NewEncoder(zipped).Encode(map[string]any{"Example": "ha-workers", "Steps": steps, "AddNodesFrom": from}); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d steps, %d of them before nodes are added", len(steps), from)
}

// recordGrowth also says with which step the adding begins.
func recordGrowth(t *testing.T) (steps []step, from int) {
	t.Helper()
	cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "examples", "ha-workers", "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	one := 1
	cluster.Spec.Topology.Required = spec.Required{Workers: &one, Within: spec.Duration(5 * time.Minute)}
	trouble := filepath.Join(t.TempDir(), "late.yaml")
	if err := os.WriteFile(trouble, []byte("apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nmetadata: {name: late}\nspec:\n  hosts:\n  - {match: {name: worker-1}, do: never-boot}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script, err := scenario.Load(trouble)
	if err != nil {
		t.Fatal(err)
	}
	fast := clock.Scaled(300)
	s, err := simulator.Start(t.Context(), simulator.Config{Clock: fast, Seed: 1, Cluster: cluster, Scenario: script})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	writer := &recorder{}
	run := func(limit time.Duration, options model.Options) error {
		if writer.Service, err = rest.New(rest.Config{URL: s.URL(), Clock: fast}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), limit)
		defer stop()
		_, err := install.New(writer, install.Config{Clock: fast, Timeout: 3 * time.Hour, UserTimeout: time.Hour}).Run(ctx, &model.Desired{Spec: cluster, Options: options})
		return err
	}
	if err := run(20*time.Second, model.Options{Run: "walk"}); err != nil {
		t.Fatal(err)
	}
	from = len(writer.steps)
	writer.last = "" // the same state, with another wish
	go func() {
		if err := simulator.Boot(t.Context(), simulator.BootConfig{ServiceURL: s.URL(), Clock: fast, Seed: 1, Cluster: cluster, Day: host.Day2}); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	}()
	random := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		_ = run(time.Duration(100+random.IntN(400))*time.Millisecond, model.Options{AddNodes: true})
	}
	if err := run(20*time.Second, model.Options{AddNodes: true}); err != nil {
		t.Fatal(err)
	}
	return writer.steps, from
}
