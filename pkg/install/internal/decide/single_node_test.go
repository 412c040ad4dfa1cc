package decide_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// singleWithLater is a single node with static networks, and workers that are added to it later. The first of them is
// booted through its BMC.
func singleWithLater(workers int) *spec.Cluster {
	c, none := decidetest.Sample(1, workers), 0
	c.Spec.Topology.Required = spec.Required{Workers: &none}
	c.Spec.Boot.Method = spec.BootRedfish
	slices.Reverse(c.Spec.Hosts) // the places of the file count for nothing
	for i := range c.Spec.Hosts {
		h := &c.Spec.Hosts[i]
		h.Net = &spec.HostNet{MAC: h.Match.MAC, IP: "192.168.127." + strings.Repeat("1", i+1) + "/24"}
		h.BMC = &spec.BMC{Address: "10.0.0.1", Credentials: spec.CredentialsOf("root", spec.NewSecret("calvin"))}
	}
	return c
}

// TestSingleNodeIsInstalledWithoutItsWorkers which the install does not wait for, boot or
// counts, and names the command that adds them in the end.
func TestSingleNodeIsInstalledWithoutItsWorkers(t *testing.T) {
	w := decidetest.NewWorld(&model.Desired{Spec: singleWithLater(2)})
	for range 40 {
		before := w.Decide()
		observed := w.Observed
		told := []string{before.Message}
		for _, x := range before.Waits {
			told = append(told, x.For)
		}
		for _, s := range decide.NewSnapshot(w.Desired, &observed).Then(before) {
			told = append(told, append(s.Hosts, s.Message)...)
		}
		if before.Verdict != model.VerdictInstalled && strings.Contains(strings.Join(told, "\n"), "worker") ||
			decide.NewSnapshot(w.Desired, &observed).HasToBoot("worker-0") {
			t.Fatalf("a worker is spoken of: %q", told)
		}
		w.Rest(t)
		w.Pass()
	}
	for _, a := range w.Writes {
		if workers := a.Settings[model.SettingWorkers]; a.Kind == model.StartInstall && workers != model.ValueOf(0) {
			t.Errorf("the install is started with %s workers", workers)
		}
		networks := string(a.Settings[model.SettingStaticNetworks])
		if a.Kind == model.RegisterInfraEnv && (!strings.Contains(networks, "52:54:00:00:00:00") ||
			strings.Contains(networks, "52:54:00:00:01:")) {
			t.Errorf("the image holds the networks %s", networks)
		}
	}
	plan := w.Decide()
	if plan.Verdict != model.VerdictInstalled || !slices.Equal(plan.Missing, []string{"worker-1", "worker-0"}) ||
		plan.Next != "{add-node -f FILE}" {
		t.Errorf("%s, missing %v, next %q: %s", plan.Verdict, plan.Missing, plan.Next, plan.Message)
	}
	if len(plan.Warnings) > 0 {
		t.Errorf("the file that was installed is said to be another one: %+v", plan.Warnings)
	}
}

// TestWorkerBeforeItsSingleNode came too early: it is no stranger, and the user who switched it on reads what to do.
func TestWorkerBeforeItsSingleNode(t *testing.T) {
	for name, tt := range map[string]struct {
		accept bool
		mac    string
		says   string
	}{
		"named":                            {false, "52:54:00:00:01:00", "worker-0 registered too early"},
		"named, where others are welcome":  {true, "52:54:00:00:01:00", "worker-0 registered too early"},
		"not named, but the file takes it": {true, "52:54:00:ff:ff:ff", "serial SNearly) registered too early"},
		"a stranger":                       {false, "52:54:00:ff:ff:ff", "the file does not name it"},
	} {
		t.Run(name, func(t *testing.T) {
			c := singleWithLater(1)
			c.Spec.AcceptUnknownHosts = tt.accept
			w := decidetest.ReadyWorld(t, c)
			early := decidetest.Machine("early", tt.mac, 40)
			early.State = model.HostReady
			w.Observed.Hosts = append(w.Observed.Hosts, early)
			plan := w.Decide()
			if len(plan.Blockers) != 1 || len(plan.Actions) > 0 {
				t.Fatalf("actions %v, blockers %+v", decidetest.Keys(plan.Actions), plan.Blockers)
			}
			if b := plan.Blockers[0]; !strings.Contains(b.Message, tt.says) ||
				!strings.Contains(b.Remedy.String(), "oaictl delete host host-early --yes") {
				t.Errorf("%s\n%s", b.Message, b.Remedy)
			}
		})
	}
}
