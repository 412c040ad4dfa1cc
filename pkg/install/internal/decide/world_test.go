package decide_test

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestMain has garbage collected seldom. The worlds of these tests are small and many, so that a third of the time goes
// into that otherwise.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// addingWorld is an installed cluster that takes more hosts: worker-1 has
// registered to be added, and is ready.
func addingWorld(t *testing.T) *decidetest.World {
	t.Helper()
	w := decidetest.InstalledWithout(t, decidetest.Sample(3, 2), false)
	w.Absent, w.Desired.Options.AddNodes = "", true
	for range 10 {
		plan := w.Decide()
		if decidetest.HasKind(plan, model.InstallHost) {
			w.Writes = nil
			return w
		}
		w.Do(t, plan.Actions...)
		if len(plan.Actions) == 0 {
			w.Pass()
		}
	}
	t.Fatalf("never ready to be added: %+v", w.Decide())
	return nil
}

// laterEnv is an InfraEnv that was made once the cluster was installed.
func laterEnv(w *decidetest.World) model.InfraEnv {
	env := w.Observed.InfraEnvs[0]
	env.ID, env.Name, env.Created = "infraenv-lab-2", "lab-2", w.Observed.Cluster.InstallCompleted.Add(time.Minute)
	return env
}

// installedElsewhere is a file of a cluster that something else installed, to which
// two hosts are added.
func installedElsewhere() *spec.Cluster {
	c := decidetest.Sample(0, 2)
	c.Spec.Import = &spec.Import{ClusterID: "11111111-2222-3333-4444-555555555555"}
	c.Spec.Discovery.OSVersion = "4.21"
	return c
}

// anyRack is some state in which a crash, or a user, may have left
// service and machines.
func anyRack(random *rand.Rand) *decidetest.Rack {
	w := decidetest.NewWorld(&model.Desired{Spec: decidetest.AnyCluster(random),
		Options: model.Options{Run: "run1", Reimage: random.IntN(2) == 0}})
	r := &decidetest.Rack{World: w, Boxes: map[string]*decidetest.Box{}, Asked: map[string]int{}}
	r.Wire()
	r.Desired.Options.RebootRunning = random.IntN(3) == 0
	for i := range r.Desired.Spec.Spec.Hosts {
		h := &r.Desired.Spec.Spec.Hosts[i]
		h.BMC.RebootRunning = random.IntN(4) == 0
		if random.IntN(8) == 0 {
			h.BMC, r.Boxes[h.Name].Booted = nil, true // booted by a person
			r.Desired.Spec.Spec.Boot.Method = spec.BootRedfish
			continue
		}
		r.Boxes[h.Name].Stays = random.IntN(4) == 0
		r.Boxes[h.Name].Disturb(random, h.Name)
	}
	for range random.IntN(12) {
		plan, _, _ := r.Plan()
		for _, a := range plan.Actions {
			if random.IntN(4) == 0 {
				continue
			}
			if a.Kind.ByBMC() {
				_ = r.Tell(a)
			} else {
				_ = r.Apply(a)
			}
		}
		r.Pass()
	}
	r.Disturb(random)
	for name, x := range r.Boxes {
		x.Again = false
		if !x.Booted {
			x.Disturb(random, name)
		}
	}
	r.Writes = nil
	return r
}

// follow is what follows on the world's plan, a line a step.
func follow(w *decidetest.World) (plan model.Plan, lines []string) {
	plan = w.Decide()
	observed := w.Observed
	for _, step := range decide.NewSnapshot(w.Desired, &observed).Then(plan) {
		lines = append(lines, strings.TrimSpace(string(step.Kind)+" "+step.Message))
	}
	return plan, lines
}

// fenced is a cluster of two that power each other off.
func fenced() *spec.Cluster {
	c, token := decidetest.Sample(2, 0), spec.NewSecret("t0ken").Source()
	for i := range c.Spec.Hosts {
		h := &c.Spec.Hosts[i]
		h.Fencing = &spec.Fencing{Address: fmt.Sprintf("https://10.0.0.%d/redfish/v1/Systems/1", i+1)}
		h.IgnitionEndpoint = &spec.HostIgnitionEndpoint{Token: &token, Headers: map[string]string{"X-Machine": "hidden"}}
	}
	c.Spec.Overrides.Host = map[string]any{"new_field": "hidden"}
	return c
}

func signature(a model.Action) string { return fmt.Sprint(a.Key, a.Target, values(a.Settings)) }

// values are settings with their values, which a Settings does not print.
func values(s model.Settings) string { return fmt.Sprint(map[model.Setting]model.Value(s)) }
