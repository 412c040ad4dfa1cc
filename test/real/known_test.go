//go:build e2e

package real

import (
	"slices"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/fixture"
)

// difference is what is known to end otherwise on some backend, and waits for a later
// design. Each is named here, and nowhere skipped in silence.
type difference struct {
	name string
	hub  bool
	why  string
}

func known() []difference {
	return []difference{
		{"hyperthreading", true, "where some pools are named, a hub's service takes the others for disabled, and oaictl reads them otherwise, so that a second run can find a difference"},
		{"write-that-did-not-take", true, "oaictl calls a write to a hub done whose field the hub has dropped"},
	}
}

// differs skips a case that is among the known differences, with why.
func (b backend) differs(t testing.TB, name string) {
	t.Helper()
	for _, d := range known() {
		if d.name == name && d.hub == b.hub {
			t.Skipf("a known difference: %s", d.why)
		}
	}
}

// TestKnownDifferences installs what is known to end otherwise where it does not.
func TestKnownDifferences(t *testing.T) {
	begins(t)
	same(t, backends(t), func(t *testing.T, b backend) fixture.Trace {
		return b.installs(t, "hyperthreading", hyperthreadedControlPlane(t), false)
	})
	names := []string{}
	for _, d := range known() {
		if d.why == "" || slices.Contains(names, d.name) {
			t.Errorf("the difference %q has no reason, or is named twice", d.name)
		}
		names = append(names, d.name)
	}
}

// hyperthreadedControlPlane is a cluster in which only the control plane uses hyperthreading.
func hyperthreadedControlPlane(t testing.TB) *spec.Cluster {
	t.Helper()
	return fixture.Example(t, "sno", "  hosts:  ", "  hyperthreading: [control-plane]\n  hosts:  ")
}
