package trace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Same runs something in several ways at once, and compares what it was like with what
// it is in the first.
func Same(t *testing.T, ways []string, run func(t *testing.T, way int) Trace) {
	t.Helper()
	made := make([]*Trace, len(ways))
	t.Run("on", func(t *testing.T) {
		for i, way := range ways {
			t.Run(way, func(t *testing.T) {
				t.Parallel()
				got := run(t, i)
				made[i] = &got
			})
		}
	})
	for i := range ways[1:] {
		if made[0] == nil || made[i+1] == nil {
			continue // it has failed, or was skipped, and said why
		}
		want, got := Comparable(*made[0], *made[i+1])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-%s +%s\n%s", ways[0], ways[i+1], diff)
		}
	}
}
