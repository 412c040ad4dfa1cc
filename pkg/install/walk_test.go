package install_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// walk is a series of looks at a simulated service, with what was done upon
// each. internal/simulator records them.
type walk struct {
	Example string
	// AddNodesFrom is the step with which nodes are added, 0 for none.
	AddNodesFrom int
	Steps        []struct {
		Observed *model.Observed
		Actions  []model.Action
	}
}

func readWalk(t *testing.T, path string) (walk, *spec.Cluster) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var w walk
	if err := json.NewDecoder(unzipped).Decode(&w); err != nil {
		t.Fatal(err)
	}
	cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "examples", w.Example, "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	return w, cluster
}

// TestConvergenceFromRecordedStates holds the promise of convergence for states
// that a service was really in, and the model of each action's effect to what
// the service made of it: what the model calls done, the next look calls done.
func TestConvergenceFromRecordedStates(t *testing.T) {
	paths, err := filepath.Glob("testdata/walks/*.json.gz")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no walks (%v)", err)
	}
	compared := map[model.Kind]int{}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			walk, cluster := readWalk(t, path)
			desired := &model.Desired{Spec: cluster, Options: model.Options{Run: "walk"}}
			for i, step := range walk.Steps {
				desired.Options.AddNodes = walk.AddNodesFrom > 0 && i >= walk.AddNodesFrom
				w := newWorld(desired)
				w.observed = *step.Observed
				if err := comeToRest(w); err != nil {
					t.Errorf("step %d: %v", i, err)
				}
				if i+1 == len(walk.Steps) {
					continue
				}
				after := walk.Steps[i+1].Observed
				asked := map[string]bool{}
				for _, a := range install.Decide(desired, after, model.Memory{}, after.At).Actions {
					asked[signature(a)] = true
				}
				for _, a := range step.Actions {
					compared[a.Kind]++
					again := a.Kind == model.StartInstall && len(after.Cluster.Preparation.FailedAt) > 0
					if asked[signature(a)] && !again {
						t.Errorf("step %d: the model calls %s done, the service does not", i, a.Key)
					}
				}
			}
		})
	}
	for _, kind := range []model.Kind{model.RegisterCluster, model.RegisterInfraEnv, model.UpdateHost, model.StartInstall, model.AllowAddHosts, model.InstallHost} {
		if compared[kind] == 0 {
			t.Errorf("no walk has %s in it", kind)
		}
	}
}

func signature(a model.Action) string { return fmt.Sprint(a.Key, a.Target, values(a.Settings)) }

// comeToRest decides and acts on the model until there is nothing left to do.
func comeToRest(w *world) error {
	asked := map[string]bool{}
	for range 40 {
		plan := w.decide()
		if err := wellFormed(plan); err != nil {
			return err
		}
		if len(plan.Actions) == 0 {
			return nil
		}
		for _, a := range plan.Actions {
			if asked[signature(a)] {
				return fmt.Errorf("%s is asked for again after it was carried out", a.Key)
			}
			asked[signature(a)] = true
			if err := w.apply(a); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("does not come to rest")
}
