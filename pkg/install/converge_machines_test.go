package install_test

import (
	"math/rand/v2"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestConvergenceOfMachines holds the promise of convergence for machines with
// BMCs: from any state it comes to rest, nothing is switched off that was not
// allowed to be, no image is ejected before its host reboots, and a second run
// writes nothing. The model refuses what must not be asked for.
func TestConvergenceOfMachines(t *testing.T) {
	exercised := map[model.Kind]int{}
	for seed := range uint64(750) {
		r := anyRack(rand.New(rand.NewPCG(seed, 3)))
		if err := r.settle(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for range 20 {
			r.pass()
			if err := r.settle(); err != nil {
				t.Fatalf("seed %d, later: %v", seed, err)
			}
		}
		for name, x := range r.boxes {
			if x.again {
				t.Fatalf("seed %d: %s boots the image once more, and not its disk", seed, name)
			}
		}
		for _, a := range r.writes {
			exercised[a.Kind]++
		}
		r.writes = nil
		if err := r.settle(); err != nil || len(r.writes) > 0 {
			t.Fatalf("seed %d: a second run writes %v (%v)", seed, keys(r.writes), err)
		}
		if state := r.observed.Cluster; state == nil || state.State != model.ClusterInstalled {
			continue
		}
		for name, x := range r.boxes {
			if x.media == imageOf(name) {
				t.Fatalf("seed %d: the image of %s is in its drive after the installation", seed, name)
			}
		}
	}
	for _, kind := range []model.Kind{
		model.InsertMedia, model.SetBootOnce, model.PowerOn, model.PowerOff, model.EjectMedia, model.RestoreBoot, model.StartInstall,
	} {
		if exercised[kind] == 0 {
			t.Errorf("no state led to %s: the property says nothing of it", kind)
		}
	}
}
