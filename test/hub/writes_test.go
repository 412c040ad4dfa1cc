//go:build e2e

package hub

import (
	"context"
	"strings"
	"testing"
	"time"

	hubsim "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

// TestWrites counts what an install of five hosts costs: no object is written more than twice, and beside what begins
// the watches hardly anything is asked. A service that stands still for half a minute of its own time is touched. A
// busy machine is enough for that, and a touch does not count as a write; it hardly ever happens.
func TestWrites(t *testing.T) {
	for _, b := range []backend{onHub(), bare()} {
		t.Run(strings.ReplaceAll(b.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			x := b.open(t, setup{cluster: fixture.Example(t, "ha-workers")})
			w := &wire{}
			x.installs(t, w)
			for place, times := range w.written {
				if times > 2 {
					t.Errorf("%s: %d times", place, times)
				}
			}
			if sum(w.touched) > 2 {
				t.Errorf("touched %v", w.touched)
			}
			kinds := map[string]int{}
			for _, c := range x.Noted() {
				kinds[c.Method]++
			}
			calls := len(x.Noted())
			t.Logf("%d calls for %d hosts: %v; %d objects written, touched %v", calls, len(x.cluster.Spec.Hosts), kinds, len(w.written), w.touched)
			if most := 60 + sum(w.touched); calls > most {
				t.Errorf("%d calls, where %d are allowed: %v", calls, most, x.Noted())
			}
		})
	}
}

func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// TestStalledServiceIsTouched: a touch is not one of the writes that are counted.
func TestStalledServiceIsTouched(t *testing.T) {
	t.Parallel()
	x := onHub().open(t, setup{cluster: fixture.Example(t, "sno"), operator: hubsim.Config{Trouble: hubsim.Trouble{UnsyncedAgents: true}}})
	w := &wire{}
	x.installs(t, w)
	if sum(w.touched) == 0 {
		t.Errorf("nothing was touched; written %v", w.written)
	}
	for place, times := range w.written {
		if times > 2 {
			t.Errorf("%s: %d times", place, times)
		}
	}
}

// TestQuietHub waits for machines that never boot. While nothing changes nothing is written, and nothing is read: only
// the watches report changes.
func TestQuietHub(t *testing.T) {
	t.Parallel()
	dark := &scenario.Scenario{Name: "dark", Hosts: []scenario.Rule{{Do: scenario.DoNeverBoot}}}
	x := onHub().open(t, setup{cluster: fixture.Example(t, "static-network"), speed: 4 * speed, scenario: dark})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		_ = x.time.Sleep(ctx, 20*time.Minute)
		x.Forget()
		_ = x.time.Sleep(ctx, time.Hour)
		stop()
	}()
	a := x.runIn(ctx, t, x.plane(t), &model.Desired{Spec: x.cluster, Options: model.Options{Run: "run-1"}}, t.TempDir())
	if model.FaultOf(a.err).Code != model.CodeInterrupted {
		t.Fatalf("ends with %v\n%s", a.err, a.story())
	}
	for _, c := range x.Noted() {
		if c.Method != "WATCH" {
			t.Errorf("%s %s, though nothing changes", c.Method, c.Path)
		}
	}
}
