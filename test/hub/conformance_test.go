package hub

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install"
)

// TestExamples installs every example on every backend: with the same verdict,
// the same states of the cluster one after the other, the same stages and end of
// every host, and the same kinds of actions. A second run writes nothing.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "cluster.yaml"))
	if err != nil || len(files) < 8 {
		t.Fatalf("examples: %v (%v)", files, err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := backends()
			if name == "compact" {
				all = append(all, bare())
			}
			same(t, all, func(t *testing.T, b backend) trace {
				x := b.open(t, setup{cluster: example(t, name)})
				dir := t.TempDir()
				first := x.run(t, dir)
				if first.err != nil || first.result.Verdict != install.VerdictInstalled {
					t.Fatalf("verdict %q: %v\n%s", first.result.Verdict, first.err, first.story())
				}
				if !slices.Contains(first.trace.Cluster, string(install.ClusterPreparing)) {
					t.Errorf("it was not seen to be prepared: %v", first.trace.Cluster)
				}
				x.forget()
				if again := x.run(t, dir); again.err != nil || len(x.written()) > 0 || len(again.actions()) > 0 {
					t.Errorf("the second run: %v; writes %v; does %v", again.err, x.written(), again.actions())
				}
				return first.trace
			})
		})
	}
}

// same runs something on backends at once, and compares what it was like with what
// it is on the first.
func same(t *testing.T, all []backend, run func(*testing.T, backend) trace) {
	t.Helper()
	traces := make([]*trace, len(all))
	t.Run("on", func(t *testing.T) {
		for i, b := range all {
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				got := run(t, b)
				traces[i] = &got
			})
		}
	})
	for i := range all[1:] {
		if traces[0] == nil || traces[i+1] == nil {
			continue // it has failed, and said why
		}
		want, got := comparable(*traces[0], *traces[i+1])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-%s +%s\n%s", all[0].name, all[i+1].name, diff)
		}
	}
}
