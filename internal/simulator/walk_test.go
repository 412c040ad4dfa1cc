package simulator_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

var update = flag.Bool("update", false, "record the walks in pkg/install/internal/decide/testdata/walks anew")

// step is one look at a cluster and what was done upon it.
type step struct {
	Observed *model.Observed
	Actions  []model.Action
}

// recorder stands between the library and its plane and writes down the walk.
type recorder struct {
	install.Service
	mu    sync.Mutex
	last  string
	steps []step
}

func (r *recorder) Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error) {
	observed, err := r.Service.Observe(ctx, query, prior)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := outline(observed); now != r.last {
		r.last = now
		copied := *observed
		r.steps = append(r.steps, step{Observed: &copied})
	}
	return observed, nil
}

// outline is what decisions turn on: states and settings, not percentages.
func outline(o *model.Observed) string {
	var b strings.Builder
	b.WriteString("seen ")
	if o.Cluster != nil {
		b.WriteString(string(o.Cluster.State))
		data, _ := json.Marshal(o.Cluster.Settings)
		b.Write(data)
	}
	for i := range o.Hosts {
		data, _ := json.Marshal([]any{o.Hosts[i].ID, o.Hosts[i].State, o.Hosts[i].Inventory.Known, o.Hosts[i].Settings})
		b.Write(data)
	}
	for i := range o.InfraEnvs {
		b.WriteString(o.InfraEnvs[i].ID)
	}
	return b.String()
}

func (r *recorder) Act(ctx context.Context, desired *model.Desired, action model.Action) error {
	err := r.Service.Act(ctx, desired, action)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if n := len(r.steps); n > 0 {
			r.steps[n-1].Actions = append(r.steps[n-1].Actions, action)
		}
	}
	return err
}

// TestRecordWalks records walks through installs, with trouble and with runs
// that are broken off and begun again, as states for the property test of
// Decide. Without -update it checks that there are some.
func TestRecordWalks(t *testing.T) {
	folder := filepath.Join("..", "..", "pkg", "install", "internal", "decide", "testdata", "walks")
	if !*update {
		files, err := filepath.Glob(filepath.Join(folder, "*.json.gz"))
		if err != nil || len(files) < 5 {
			t.Fatalf("%d walks in %s (%v); record them with: go test ./internal/simulator -run RecordWalks -update", len(files), folder, err)
		}
		return
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, walk := range []struct{ name, example, trouble string }{
		{"sno", "sno", ""},
		{"compact", "compact", ""},
		{"workers", "ha-workers", ""},
		{"static-network", "static-network", ""},
		{"arbiter", "arbiter", ""},
		{"control-plane-lost", "compact", "control-plane-lost"},
		{"boots-iso-again", "compact", "boots-iso-again"},
		{"image-pull-failure", "compact", "image-pull-failure"},
		{"unknown-host-appears", "compact", "unknown-host-appears"},
		{"worker-lost", "ha-workers", "worker-lost"},
	} {
		steps := record(t, walk.example, walk.trouble)
		var data bytes.Buffer
		zipped := gzip.NewWriter(&data)
		if err := json.NewEncoder(zipped).Encode(map[string]any{"Example": walk.example, "Steps": steps}); err != nil {
			t.Fatal(err)
		}
		if err := zipped.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, walk.name+".json.gz"), data.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d steps, %d bytes", walk.name, len(steps), data.Len())
	}
}

// record walks through an install, broken off at random a few times.
func record(t *testing.T, example, trouble string) []step {
	t.Helper()
	cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "examples", example, "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	var script *scenario.Scenario
	if trouble != "" {
		if script, err = scenario.Load(filepath.Join("..", "..", "examples", "scenarios", trouble+".yaml")); err != nil {
			t.Fatal(err)
		}
	}
	fast := clock.Scaled(300)
	s, err := simulator.Start(t.Context(), simulator.Config{Clock: fast, Seed: 1, Cluster: cluster, Scenario: script})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	random := rand.New(rand.NewPCG(1, uint64(len(example)+len(trouble))))
	writer := &recorder{}
	for try := range 4 {
		plane, err := rest.New(rest.Config{URL: s.URL(), Clock: fast})
		if err != nil {
			t.Fatal(err)
		}
		writer.Service = plane
		ctx, stop := context.WithTimeout(t.Context(), time.Duration(200+random.IntN(1500))*time.Millisecond)
		if try == 3 {
			ctx, stop = context.WithTimeout(t.Context(), 10*time.Second)
		}
		_, _ = install.New(writer, install.Config{Clock: fast, Timeout: 3 * time.Hour, UserTimeout: time.Hour}).Run(ctx, &model.Desired{Spec: cluster, Options: model.Options{Run: "walk"}})
		stop()
	}
	return writer.steps
}
