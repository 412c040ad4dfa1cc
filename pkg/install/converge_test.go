package install_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestConvergence holds the promise for every action: from any state, deciding
// and acting comes to rest, no action is asked for again once it was carried
// out, and a machine that the file does not name is never installed.
func TestConvergence(t *testing.T) {
	exercised := map[model.Kind]int{}
	for seed := range uint64(1500) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := anyWorld(random)
		if err := settle(w); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for range 20 { // a second run, and time, must not bring a write back
			w.pass()
			if err := settle(w); err != nil {
				t.Fatalf("seed %d, later: %v", seed, err)
			}
		}
		for _, a := range w.writes {
			exercised[a.Kind]++
		}
		w.writes = nil
		if err := settle(w); err != nil || len(w.writes) > 0 {
			t.Fatalf("seed %d: a second run writes %v (%v)", seed, keys(w.writes), err)
		}
	}
	for _, kind := range []model.Kind{
		model.RegisterCluster, model.WithdrawCluster, model.UpdateCluster, model.SetOverrides, model.IgnoreValidations,
		model.RegisterInfraEnv, model.UpdateInfraEnv, model.WithdrawInfraEnv, model.RenewImage, model.UpdateHost, model.BindHost, model.StartInstall,
		model.SaveNoIngress, model.SaveKubeconfig, model.SavePassword, model.NudgeCluster, model.RecordInstalled,
	} {
		if exercised[kind] == 0 {
			t.Errorf("no state led to %s: the property says nothing of it", kind)
		}
	}
}

// settle decides and acts until there is nothing left to do at this moment.
func settle(w *world) error {
	asked := map[string]int{}
	for range 40 {
		plan := w.decide()
		if err := wellFormed(plan); err != nil {
			return err
		}
		if len(plan.Actions) == 0 {
			return nil
		}
		for _, a := range plan.Actions {
			key := fmt.Sprint(a.Key, a.Settings, a.Target)
			if asked[key]++; asked[key] > 1 {
				return fmt.Errorf("%s is asked for again after it was carried out", a.Key)
			}
			if a.Kind == model.StartInstall {
				if err := onlyNamed(w); err != nil {
					return err
				}
			}
			if err := w.apply(a); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("does not come to rest")
}

// onlyNamed says whether every machine that would be installed is one that
// the file names or counts.
func onlyNamed(w *world) error {
	unnamed, file := 0, w.desired.Spec
	for _, h := range w.observed.Hosts {
		named := slices.ContainsFunc(w.desired.Spec.Spec.Hosts, func(s spec.Host) bool { return h.ID == "host-"+s.Name })
		if !named && !w.desired.Spec.Spec.AcceptUnknownHosts {
			return fmt.Errorf("the install is started with %s, which the file does not name", h.ID)
		}
		if !named && h.ClusterID != "" {
			unnamed++
		}
	}
	if counted := file.ControlPlaneCount() + file.WorkerCount() + file.ArbiterCount() - len(file.Spec.Hosts); unnamed > max(0, counted) {
		return fmt.Errorf("the install is started with %d machines that the file does not name; it counts %d", unnamed, counted)
	}
	return nil
}

// wellFormed checks what every plan has to have.
func wellFormed(plan model.Plan) error {
	if plan.Verdict == "" {
		return fmt.Errorf("a plan without a verdict")
	}
	if plan.Verdict == model.VerdictWaiting && len(plan.Waits) == 0 {
		return fmt.Errorf("a plan that waits and does not say for what: %+v", plan)
	}
	seen := map[string]bool{}
	for _, a := range plan.Actions {
		if a.Key == "" || a.Scope == "" || a.Kind == "" || a.Reason == "" || seen[a.Key] {
			return fmt.Errorf("action %+v lacks something or stands twice", a)
		}
		seen[a.Key] = true
	}
	for _, b := range plan.Blockers {
		if b.Key == "" || b.Message == "" || b.Remedy == "" || b.Cure == "" || b.Reason == "" {
			return fmt.Errorf("blocker %+v lacks something", b)
		}
	}
	for _, x := range plan.Waits {
		if x.Key == "" || x.For == "" || x.Who == "" {
			return fmt.Errorf("wait %+v lacks something", x)
		}
	}
	return nil
}

func keys(actions []model.Action) []string {
	var out []string
	for _, a := range actions {
		out = append(out, a.Key)
	}
	return out
}

// TestHappyWay walks an empty world to an installed cluster.
func TestHappyWay(t *testing.T) {
	for _, size := range [][2]int{{1, 0}, {3, 0}, {3, 2}, {5, 1}} {
		for way := range 8 {
			bind := []spec.BindMode{spec.BindEarly, spec.BindLate}[way%2]
			c := sample(size[0], size[1])
			c.Spec.InfraEnv.Bind = bind
			w := newWorld(&model.Desired{Spec: c})
			w.hub, w.stalls = way&2 != 0, way&4 != 0
			for range 40 {
				if err := settle(w); err != nil {
					t.Fatal(err)
				}
				w.pass()
			}
			plan := w.decide()
			if plan.Verdict != model.VerdictInstalled {
				t.Errorf("%v %s, hub %v: verdict %s (%s), waits %v, blockers %v", size, bind, w.hub, plan.Verdict, plan.Message, plan.Waits, plan.Blockers)
			}
			kinds := map[model.Kind]int{}
			for _, a := range w.writes {
				kinds[a.Kind]++
			}
			if kinds[model.RegisterCluster] != 1 || kinds[model.RegisterInfraEnv] != 1 || kinds[model.StartInstall] != 1 {
				t.Errorf("%v %s: writes %v", size, bind, keys(w.writes))
			}
			if hosts := size[0] + size[1]; w.hub && kinds[model.UpdateHost] != hosts {
				t.Errorf("%v %s: %d hosts are written %d times; approval goes along with the rest", size, bind, hosts, kinds[model.UpdateHost])
			}
			if w.hub != (kinds[model.RecordInstalled] == 1) || (w.hub && w.stalls) != (kinds[model.NudgeCluster] == 1) {
				t.Errorf("%v %s, hub %v, stalls %v: writes %v", size, bind, w.hub, w.stalls, keys(w.writes))
			}
		}
	}
}
