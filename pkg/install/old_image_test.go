package install_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestHostsThatRunAnOldImage are waited for by name, until each has booted the
// new one, and neither written to nor installed before.
func TestHostsThatRunAnOldImage(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	w.desired.Spec.Spec.Discovery.KernelArgs = []string{"console=ttyS0"}
	w.desired.Spec.Spec.Hosts[0].Labels = map[string]string{"rack": "a"}
	w.desired.Options.Reimage = true
	if err := settle(w); err != nil {
		t.Fatal(err)
	}
	w.desired.Options.Reimage = false // another run, which was not told
	for left := 3; left > 0; left-- {
		plan := w.decide()
		if len(plan.Actions) > 0 || plan.Verdict != model.VerdictWaiting {
			t.Fatalf("%d hosts run the old image: %s, %v", left, plan.Verdict, keys(plan.Actions))
		}
		var named []string
		for _, wait := range plan.Waits {
			if strings.Contains(wait.For, "old discovery image") && wait.Who == model.WhoUser && wait.Next != "" && wait.Since.Equal(w.observed.InfraEnvs[0].Image.Created) {
				named = append(named, string(wait.Scope))
			}
		}
		if want := []string{"host/cp-0", "host/cp-1", "host/cp-2"}[:left]; !slices.Equal(named, want) {
			t.Fatalf("named %v, want %v", named, want)
		}
		w.observed.At = w.observed.At.Add(time.Minute)
		w.observed.Hosts[left-1].Registered = w.observed.At
	}
	if err := settle(w); err != nil {
		t.Fatal(err)
	}
	if count(w, model.UpdateHost) != 1 || count(w, model.StartInstall) != 1 || count(w, model.UpdateInfraEnv) != 1 {
		t.Errorf("wrote %v", keys(w.writes))
	}
}

// TestOldImagesThatDoNotMatter are those of others, and those of which nothing
// is known.
func TestOldImagesThatDoNotMatter(t *testing.T) {
	later := start.Add(100 * time.Hour)
	for name, change := range map[string]func(*model.Observed){
		"somebody else's":   func(o *model.Observed) { o.InfraEnvs[0].Owned, o.InfraEnvs[0].Image.Created = false, later },
		"image not dated":   func(o *model.Observed) { o.InfraEnvs[0].Image.Created = time.Time{} },
		"hosts not dated":   func(o *model.Observed) { o.InfraEnvs[0].Image.Created = later; undated(o) },
		"same moment":       func(o *model.Observed) { o.InfraEnvs[0].Image.Created = o.Hosts[0].Registered },
		"InfraEnv unlisted": func(o *model.Observed) { o.InfraEnvs[0].ID, o.InfraEnvs[0].Image.Created = "other", later },
	} {
		w := readyWorld(t, sample(3, 0))
		change(&w.observed)
		if plan := w.decide(); !hasKind(plan, model.StartInstall) {
			t.Errorf("%s: %v, waits %+v", name, keys(plan.Actions), plan.Waits)
		}
	}
}

func undated(o *model.Observed) {
	for i := range o.Hosts {
		o.Hosts[i].Registered = time.Time{}
	}
}

// TestUnnamedHostsThatRunAnOldImage are waited for as well, and not bound.
func TestUnnamedHostsThatRunAnOldImage(t *testing.T) {
	c := sample(3, 0)
	c.Spec.AcceptUnknownHosts, c.Spec.InfraEnv.Bind = true, spec.BindLate
	c.Spec.Hosts = c.Spec.Hosts[:2]
	w := newWorld(&model.Desired{Spec: c})
	if err := settle(w); err != nil {
		t.Fatal(err)
	}
	w.pass()
	stranger := machine("stranger", "52:54:00:ff:00:01", 7)
	stranger.State, stranger.Status, stranger.ClusterID, stranger.InfraEnvID = model.HostUnbound, "known-unbound", "", w.observed.InfraEnvs[0].ID
	stranger.Registered = w.observed.At
	w.observed.Hosts = append(w.observed.Hosts, stranger)
	w.observed.InfraEnvs[0].Image.Created = w.observed.At.Add(time.Second)
	if plan := w.decide(); hasKind(plan, model.BindHost) {
		t.Errorf("bound before it booted the new image: %v", keys(plan.Actions))
	}
	w.observed.Hosts[2].Registered = w.observed.At.Add(time.Minute)
	if plan := w.decide(); !hasKind(plan, model.BindHost) {
		t.Errorf("not bound after: %v, waits %+v", keys(plan.Actions), plan.Waits)
	}
	w.observed.Hosts[2].Registered = w.observed.At
	w.observed.Hosts[2].State, w.observed.Hosts[2].Status, w.observed.Hosts[2].ClusterID = model.HostReady, "known", "cluster-1"
	plan := w.decide()
	if !slices.ContainsFunc(plan.Waits, func(wait model.Wait) bool { return wait.Key == "host/host-stranger/new-image" }) {
		t.Errorf("nobody waits for it: %+v", plan.Waits)
	}
}

// TestPullSecretIsInTheImage: sending it again makes a new one, which hosts that
// have booted would have to boot.
func TestPullSecretIsInTheImage(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	w.desired.Options.ResendSecrets = true
	plan := w.decide()
	if hasKind(plan, model.UpdateInfraEnv) || !hasKind(plan, model.UpdateCluster) || len(plan.Warnings) != 1 || !strings.Contains(plan.Warnings[0].Message, "cp-0, cp-1, cp-2") {
		t.Errorf("without --reimage: %v, %+v", keys(plan.Actions), plan.Warnings)
	}
	w.desired.Options.Reimage = true
	if plan := w.decide(); !hasKind(plan, model.UpdateInfraEnv) || len(plan.Warnings) > 0 {
		t.Errorf("with --reimage: %v, %+v", keys(plan.Actions), plan.Warnings)
	}
}

// TestReimageGoesOnByItself once the hosts came back, with one change of the
// image and one install.
func TestReimageGoesOnByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{world: readyWorld(t, sample(3, 0))}
		p.desired.Spec.Spec.Discovery.KernelArgs = []string{"console=ttyS0"}
		p.desired.Options.Reimage = true
		if _, _, err := runFor(t, p, false); err != nil {
			t.Fatal(err)
		}
		if count(p.world, model.UpdateInfraEnv) != 1 || count(p.world, model.StartInstall) != 1 {
			t.Errorf("wrote %v", keys(p.writes))
		}
	})
}

// TestNodeThatRunsAnOldImage is not added before it booted the new one.
func TestNodeThatRunsAnOldImage(t *testing.T) {
	w := addingWorld(t)
	host := w.host("host-worker-1")
	w.infraEnv(host.InfraEnvID).Image.Created = w.observed.At.Add(time.Second)
	plan := w.decide()
	if len(plan.Actions) > 0 || len(plan.Waits) != 1 || plan.Waits[0].Key != "host/worker-1/new-image" {
		t.Errorf("before: %v, waits %+v", keys(plan.Actions), plan.Waits)
	}
	host.Registered = w.observed.At.Add(time.Minute)
	if plan := w.decide(); !hasKind(plan, model.InstallHost) {
		t.Errorf("after: %v, waits %+v", keys(plan.Actions), plan.Waits)
	}
}

// TestNodeThatAnotherClusterHas cannot be waited for.
func TestNodeThatAnotherClusterHas(t *testing.T) {
	w := addingWorld(t)
	host := *w.host("host-worker-1")
	host.ClusterID = "cluster-2"
	w.observed.Hosts = slices.DeleteFunc(w.observed.Hosts, func(h model.Host) bool { return h.ID == host.ID })
	w.observed.Elsewhere = []model.HostElsewhere{{Host: host, ClusterName: "prod"}}
	if plan := w.decide(); !hasReason(plan, "BoundElsewhere") {
		t.Errorf("blockers %+v, waits %+v", plan.Blockers, plan.Waits)
	}
}
