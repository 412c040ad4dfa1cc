package hub

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	traces "github.com/oaictl/oaictl/test/trace"
)

// same runs something on backends at once, and compares what it was like with what
// it is on the first.
func same(t *testing.T, all []backend, run func(*testing.T, backend) trace) {
	t.Helper()
	made := make([]*trace, len(all))
	t.Run("on", func(t *testing.T) {
		for i, b := range all {
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				got := run(t, b)
				made[i] = &got
			})
		}
	})
	for i := range all[1:] {
		if made[0] == nil || made[i+1] == nil {
			continue // it has failed, and said why
		}
		want, got := traces.Comparable(*made[0], *made[i+1])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-%s +%s\n%s", all[0].name, all[i+1].name, diff)
		}
	}
}
