package service

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// events are the names of the events of the cluster since the n-th, in their
// order.
func (b *bench) told(n int) (names []string) {
	b.t.Helper()
	var all []struct{ Name string }
	if err := json.Unmarshal([]byte(b.must("GET", "/events?cluster_id="+b.cluster, nil).text), &all); err != nil {
		b.t.Fatal(err)
	}
	for _, e := range all[n:] {
		names = append(names, e.Name)
	}
	return names
}

func (b *bench) everyHost(state, info string) {
	b.t.Helper()
	for _, m := range b.machines {
		if got := m.get(); got["status"] != state || got["status_info"] != info {
			b.t.Errorf("%s is %v, %q; want %s, %q", m.name, got["status"], got["status_info"], state, info)
		}
	}
}

func (b *bench) is(state, info string) {
	b.t.Helper()
	if got := b.get(); got["status"] != state || got["status_info"] != info {
		b.t.Errorf("the cluster is %v, %q; want %s, %q", got["status"], got["status_info"], state, info)
	}
}

// TestCancelWhilePreparing cancels at once, while hosts prepare, and when they
// have: the cluster is ready as before, and can be installed again at once.
func TestCancelWhilePreparing(t *testing.T) {
	for name, test := range map[string]struct {
		passes int
		before string // the state of the hosts
	}{
		"at once":         {passes: 0, before: model.HostKnown},
		"while preparing": {passes: 1, before: model.HostPreparing},
		"when prepared":   {passes: 2, before: model.HostPrepared},
	} {
		t.Run(name, func(t *testing.T) {
			b := ready(t, 3)
			b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
			for range test.passes {
				b.pass(10 * time.Second)
			}
			started, info := b.get()["install_started_at"], b.machines[0].get()["status_info"]
			b.machines[0].inState(test.before)
			told := len(b.told(0))
			answer := b.must("POST", "/clusters/"+b.cluster+"/actions/cancel", nil).object()
			if answer["status"] != model.ClusterReady || answer["status_info"] != model.InfoPreparing {
				t.Errorf("the answer says %v, %v", answer["status"], answer["status_info"])
			}
			for _, h := range answer["hosts"].([]any) {
				if host := h.(map[string]any); host["status"] != model.HostKnown || host["status_info"] != info {
					t.Errorf("the answer says of a host %v, %v", host["status"], host["status_info"])
				}
			}
			want, after := []string{"cluster_status_updated", "cluster_installation_canceled"}, model.InfoKnown
			for range b.machines {
				if test.before != model.HostKnown {
					want, after = append(want, "host_status_updated"), model.InfoHostCancelled
				}
				want = append(want, "host_installation_cancelled")
			}
			if got := b.told(told); !slices.Equal(got, want) {
				t.Errorf("events %v, want %v", got, want)
			}
			b.is(model.ClusterReady, model.InfoCancelled)
			b.everyHost(model.HostKnown, after)
			for _, action := range []string{"cancel", "reset"} {
				if a := b.call("POST", "/clusters/"+b.cluster+"/actions/"+action, nil); a.status != 409 {
					t.Errorf("%s afterwards: %d", action, a.status)
				}
			}
			if got := b.get()["install_started_at"]; got != started {
				t.Errorf("install_started_at %v, before the cancel %v", got, started)
			}
			b.pass(10 * time.Second)
			b.is(model.ClusterReady, model.InfoReady)
			b.everyHost(model.HostKnown, model.InfoKnown)
			if got := b.get()["last-installation-preparation"].(map[string]any)["status"]; got != preparationDone {
				t.Errorf("the last preparation is %v", got)
			}
			b.install()
		})
	}
}

// TestCancelBeforeHostsInstall cancels an installing cluster whose hosts have only
// just prepared: they are known again, and the cluster is cancelled.
func TestCancelBeforeHostsInstall(t *testing.T) {
	b := ready(t, 3)
	b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
	b.until(model.ClusterInstalling)
	b.everyHost(model.HostPrepared, model.InfoPrepared)
	b.must("POST", "/clusters/"+b.cluster+"/actions/cancel", nil)
	b.is(model.ClusterCancelled, model.InfoCancelled)
	b.everyHost(model.HostKnown, model.InfoHostCancelled)
	b.pass(10 * time.Second)
	b.everyHost(model.HostKnown, model.InfoKnown)
	b.answers("installing a cancelled cluster", "POST", "/clusters/"+b.cluster+"/actions/install", nil, 409)
	started := b.get()["install_started_at"]
	b.must("POST", "/clusters/"+b.cluster+"/actions/reset", nil)
	b.is(model.ClusterInsufficient, model.InfoReset)
	b.everyHost(model.HostResettingPending, model.InfoResettingPending)
	if got := b.get()["install_started_at"]; got != started {
		t.Errorf("install_started_at %v after the reset, %v before", got, started)
	}
}

// TestImagesCannotBePulled goes through the states of a preparation that fails at
// one host, and of install calls that come too early and in time.
func TestImagesCannotBePulled(t *testing.T) {
	b := ready(t, 3)
	b.machines[1].badImage = true
	install := func() { b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil) }
	pulls := func() int { return b.machines[1].pulls }
	install()
	told := len(b.told(0))
	b.pass(20 * time.Second)
	if got := b.machines[1].state(); got != model.HostPreparationFailed || pulls() != 1 {
		t.Fatalf("the host is %s after %d pulls", got, pulls())
	}
	b.pass(10 * time.Second)
	b.is(model.ClusterReady, model.InfoPrepareFailed)
	b.machines[0].inState(model.HostPrepared)
	install() // too early: it fails without another pull
	b.pass(10 * time.Second)
	b.is(model.ClusterReady, model.InfoPrepareFailed)
	b.pass(10 * time.Second)
	b.is(model.ClusterInsufficient, model.InfoNotReady)
	b.everyHost(model.HostKnown, model.InfoKnown)
	b.pass(10 * time.Second)
	b.is(model.ClusterReady, model.InfoReady)
	if pulls() != 1 {
		t.Errorf("%d pulls before the next install", pulls())
	}
	if got := outcomes(t, b.machines[1].get())["container-images-available"]; got[0] != model.Failed {
		t.Errorf("the check of a host that is known again is %v", got)
	}
	for _, name := range []string{"prepare_installation_failed", "cluster_installation_failed"} {
		if slices.Contains(b.told(told), name) {
			t.Errorf("an event %s", name)
		}
	}
	if counts := b.must("GET", "/events?cluster_id="+b.cluster, nil).header.Get("Severity-Count-Error"); counts != "0" {
		t.Errorf("%s events of severity error", counts)
	}
	others := b.machines[0].pulls
	b.machines[1].badImage = false
	b.install()
	if b.machines[0].pulls != others || pulls() != 2 {
		t.Errorf("the hosts were asked to pull %d and %d times", b.machines[0].pulls, pulls())
	}
}

// TestPreparationTakesTooLong has a host answer nothing of what is measured.
func TestPreparationTakesTooLong(t *testing.T) {
	b := ready(t, 3)
	b.machines[1].noPull = true
	b.must("POST", "/clusters/"+b.cluster+"/actions/install", nil)
	b.pass(17*time.Minute + 20*time.Second)
	if got := b.machines[1].get(); got["status"] != model.HostPreparationFailed || got["status_info"] != model.InfoPrepareOvertime+"container availability was not determined within the timeout." {
		t.Errorf("the host is %v: %v", got["status"], got["status_info"])
	}
	b.pass(10 * time.Second)
	b.is(model.ClusterReady, model.InfoPrepareFailed)
}

// TestHostChangeRejudgesItsCluster at once, not at the next pass.
func TestHostChangeRejudgesItsCluster(t *testing.T) {
	b := ready(t, 3)
	rename := func(to string) { b.must("PATCH", b.machines[0].path(), fields{"host_name": to}) }
	rename("host-1")
	b.is(model.ClusterInsufficient, model.InfoNotReady)
	rename("host-9")
	b.pass(10 * time.Second)
	b.pass(10 * time.Second)
	b.is(model.ClusterReady, model.InfoReady)
}

// TestInputIsMissingUntilHostsBringIt: without hosts the network of a cluster's addresses
// is not known.
func TestInputIsMissingUntilHostsBringIt(t *testing.T) {
	b := compact(t, 0)
	b.is(model.ClusterInsufficient, model.InfoNotReady)
	b.pass(10 * time.Second)
	b.is(model.ClusterPendingInput, model.InfoInputRequired)
}
