package decidetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Settle decides and acts until there is nothing left to do at this moment.
func (w *World) Settle() error {
	return w.settle(func(a model.Action) error {
		if a.Kind == model.StartInstall {
			if err := onlyNamed(w); err != nil {
				return err
			}
		}
		return w.Apply(a)
	})
}

// SettleRecorded is the same for hosts that a service has recorded, whose ids do not say which host of the file they are.
func (w *World) SettleRecorded() error { return w.settle(w.Apply) }

func (w *World) settle(act func(model.Action) error) error {
	return settle(40, func() (model.Plan, error) { return w.Decide(), nil }, act)
}

// settle acts on plans, at most that many times, until a plan has no action. It refuses an action that comes a second
// time.
func settle(times int, decide func() (model.Plan, error), act func(model.Action) error) error {
	asked := map[string]bool{}
	for range times {
		plan, err := decide()
		if err != nil {
			return err
		}
		if err := WellFormed(plan); err != nil {
			return err
		}
		if len(plan.Actions) == 0 {
			return nil
		}
		for _, a := range plan.Actions {
			key := fmt.Sprint(a.Key, a.Settings, a.Target)
			if asked[key] {
				return fmt.Errorf("%s is asked for again after it was carried out", a.Key)
			}
			asked[key] = true
			if err := act(a); err != nil {
				return err
			}
		}
	}
	return errors.New("does not come to rest")
}

// Rest settles, and ends the test where that fails.
func (w *World) Rest(t testing.TB) {
	t.Helper()
	if err := w.Settle(); err != nil {
		t.Fatal(err)
	}
}

// Live settles and lets time pass, so many times.
func (w *World) Live(t testing.TB, times int) {
	t.Helper()
	for range times {
		w.Rest(t)
		w.Pass()
	}
}

// Do carries out actions, and ends the test where one must not be.
func (w *World) Do(t testing.TB, actions ...model.Action) {
	t.Helper()
	for _, a := range actions {
		if err := w.Apply(a); err != nil {
			t.Fatal(err)
		}
	}
}

// onlyNamed reports whether every machine that would be installed is one that the file names or counts.
func onlyNamed(w *World) error {
	unnamed, file := 0, w.Desired.Spec
	for _, h := range w.Observed.Hosts {
		named := slices.ContainsFunc(w.Desired.Spec.Spec.Hosts, func(s spec.Host) bool { return h.ID == "host-"+s.Name })
		if !named && !w.Desired.Spec.Spec.AcceptUnknownHosts {
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

// WellFormed checks what every plan has to have.
func WellFormed(plan model.Plan) error {
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

// Keys are the keys of actions, in their order.
func Keys(actions []model.Action) []string {
	var out []string
	for _, a := range actions {
		out = append(out, a.Key)
	}
	return out
}

// Count is how many actions of a kind were carried out.
func (w *World) Count(kind model.Kind) int {
	n := 0
	for _, a := range w.Writes {
		if a.Kind == kind {
			n++
		}
	}
	return n
}

// HasKind reports whether a plan has an action of a kind.
func HasKind(plan model.Plan, kind model.Kind) bool {
	return slices.ContainsFunc(plan.Actions, func(a model.Action) bool { return a.Kind == kind })
}

// HasReason reports whether a plan has a blocker with a reason.
func HasReason(plan model.Plan, reason string) bool {
	return slices.ContainsFunc(plan.Blockers, func(b model.Blocker) bool { return b.Reason == reason })
}
