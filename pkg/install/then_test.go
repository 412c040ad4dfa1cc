package install_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// follow is what follows on the world's plan, a line a step.
func follow(w *world) (plan model.Plan, lines []string) {
	plan = w.decide()
	observed := w.observed
	for _, step := range install.NewSnapshot(w.desired, &observed).Then(plan) {
		lines = append(lines, strings.TrimSpace(string(step.Kind)+" "+step.Message))
	}
	return plan, lines
}

func TestThenOfNothing(t *testing.T) {
	c := sample(3, 0)
	c.Spec.IgnoreValidations.Hosts = []string{"ntp-synced"}
	w := newWorld(&model.Desired{Spec: c})
	_, got := follow(w)
	want := []string{
		"IgnoreValidations set the ignored validations", "RegisterInfraEnv register the InfraEnv lab",
		"wait for cp-0, cp-1, cp-2 to boot the discovery image and register", "UpdateHost configure cp-0, cp-1, cp-2 as the file says",
		"StartInstall start the installation once every host is ready; which disks it writes over is known when they have registered",
		"wait for the installation to end", "SaveKubeconfig save the kubeconfig and the kubeadmin password",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w.observed.Cluster != nil || len(w.writes) > 0 {
		t.Error("looking ahead changed the world")
	}
	c.Spec.InfraEnv.Bind = spec.BindLate
	if _, got = follow(w); !slices.Contains(got, "BindHost bind cp-0, cp-1, cp-2 to the cluster") {
		t.Errorf("bound late: %q", got)
	}
}

// TestThenShrinks as an install goes on, until nothing follows. What the plan
// does is not told a second time.
func TestThenShrinks(t *testing.T) {
	w := newWorld(&model.Desired{Spec: sample(3, 1)})
	most := 100
	for range 40 {
		plan, lines := follow(w)
		if len(lines) > most {
			t.Errorf("more follows than before: %q", lines)
		}
		most = len(lines)
		for _, a := range plan.Actions {
			for _, line := range lines {
				if strings.HasPrefix(line, string(a.Kind)+" ") {
					t.Errorf("%s stands in the plan and after it", a.Kind)
				}
			}
			if err := w.apply(a); err != nil {
				t.Fatal(err)
			}
		}
		if plan.Verdict == model.VerdictInstalled {
			if most > 0 {
				t.Errorf("after the end: %q", lines)
			}
			return
		}
		w.pass()
	}
	t.Error("it was never installed")
}

// TestThenOfHostsToReboot: a change of cluster and image at once is shown as
// such, and whoever has to boot again.
func TestThenOfHostsToReboot(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	w.desired.Spec.Spec.Proxy.HTTP = "http://proxy.example.com:3128"
	plan := w.decide()
	if !hasKind(plan, model.UpdateCluster) || !hasReason(plan, "NewImageNeeded") {
		t.Errorf("without --reimage: %v, %+v", keys(plan.Actions), plan.Blockers)
	}
	w.desired.Options.Reimage = true
	plan, lines := follow(w)
	if !hasKind(plan, model.UpdateCluster) || !hasKind(plan, model.UpdateInfraEnv) {
		t.Errorf("the plan does %v", keys(plan.Actions))
	}
	if !slices.Contains(lines, "wait for cp-0, cp-1, cp-2 to be rebooted into the new image") {
		t.Errorf("then: %q", lines)
	}
}

func TestNothingFollows(t *testing.T) {
	for name, change := range map[string]func(*world){
		"somebody else's cluster": func(w *world) { w.observed.Cluster.Owned = false },
		"failed":                  func(w *world) { w.observed.Cluster.State = model.ClusterFailed },
		"unknown":                 func(w *world) { w.observed.Cluster.State = model.ClusterUnknown },
	} {
		w := readyWorld(t, sample(3, 0))
		change(w)
		if plan, lines := follow(w); lines != nil {
			t.Errorf("%s (%s): %q", name, plan.Verdict, lines)
		}
	}
}
