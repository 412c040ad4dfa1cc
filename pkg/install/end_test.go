package install_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// refuseWith refuses every action of a kind.
func refuseWith(kind install.Kind, fault install.Fault) func(install.Action) error {
	return func(a install.Action) error {
		if a.Kind == kind {
			return &fault
		}
		return nil
	}
}

func count(w *world, kind install.Kind) int {
	n := 0
	for _, a := range w.writes {
		if a.Kind == kind {
			n++
		}
	}
	return n
}

// runFor runs on the model world in a bubble and gives what came of it.
func runFor(t *testing.T, p *plane, detach bool, options ...install.Option) (install.Result, time.Duration, error) {
	t.Helper()
	began := time.Now()
	installer := install.New(p, options...)
	run := installer.Run
	if detach {
		run = installer.Detach
	}
	result, err := run(t.Context(), p.desired)
	return result, time.Since(began), err
}

// TestWhatTheServiceDoesNotKeep is not written for ever: the run ends, soon,
// and names the field.
func TestWhatTheServiceDoesNotKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{world: newWorld(&install.Desired{Spec: sample(3, 0)})}
		p.lose = func(a install.Action) error {
			if a.Kind == install.UpdateHost && p.host(a.Target).ID == "host-cp-0" {
				p.host(a.Target).Settings[install.SetHostname] = install.ValueOf("rewritten")
			}
			return nil
		}
		_, took, err := runFor(t, p, false)
		if install.CodeOf(err) != install.CodeFailure || !strings.Contains(err.Error(), "hostname is rewritten, not cp-0") || install.NextOf(err) == "" {
			t.Errorf("Run: %v (code %d)", err, install.CodeOf(err))
		}
		if n := count(p.world, install.UpdateHost); n > 12 {
			t.Errorf("%d updates were sent", n)
		}
		if took > 30*time.Minute {
			t.Errorf("it took %s to notice", took)
		}
	})
}

// TestAnImageThatNeverLastsLong is renewed now and then, not without pause.
func TestAnImageThatNeverLastsLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{world: newWorld(&install.Desired{Spec: sample(1, 0)}), still: true}
		p.lose = func(a install.Action) error {
			for i := range p.observed.InfraEnvs {
				p.observed.InfraEnvs[i].Image.Expires = time.Now().Add(5 * time.Minute)
			}
			return nil
		}
		_, _, err := runFor(t, p, false)
		if install.CodeOf(err) != install.CodeNeedsUser {
			t.Errorf("Run: %v", err)
		}
		if n := count(p.world, install.RenewImage); n < 2 || n > 80 {
			t.Errorf("renewed %d times in an hour", n)
		}
	})
}

// TestServiceThatShowsLate is not written to again meanwhile.
func TestServiceThatShowsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{world: newWorld(&install.Desired{Spec: sample(1, 0)})}
		var before []install.InfraEnv
		hidden := 0
		p.lose = func(a install.Action) error {
			if a.Kind == install.RegisterInfraEnv {
				before, hidden = p.observed.InfraEnvs, 3
				p.observed.InfraEnvs = nil
			}
			return nil
		}
		p.observe = func(int) error {
			if hidden--; hidden == 0 {
				p.observed.InfraEnvs = before
			}
			return nil
		}
		if _, _, err := runFor(t, p, false, install.WithPollInterval(500*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n := count(p.world, install.RegisterInfraEnv); n != 1 {
			t.Errorf("registered %d times", n)
		}
	})
}

// TestDetachSaysWhatItCouldNotDo: leaving early is no way to hide a failure.
func TestDetachSaysWhatItCouldNotDo(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*plane)
		code   install.Code
		text   string
	}{
		"only waiting is left": {change: func(p *plane) { p.still = true }},
		"refused": {func(p *plane) {
			p.refuse = refuseWith(install.RegisterCluster, install.Fault{Code: install.CodeInput, Permanent: true, Err: errors.New("no such version")})
		}, install.CodeInput, "no such version"},
		"not authorised": {func(p *plane) {
			p.refuse = refuseWith(install.RegisterCluster, install.Fault{Code: install.CodeAuth, Err: errors.New("token expired")})
		}, install.CodeAuth, "token expired"},
		"somebody else's": {func(p *plane) { p.observed.Others = []install.ClusterRef{{ID: "theirs", Name: "lab"}} }, install.CodeNotFound, "theirs"},
		"never goes well": {func(p *plane) {
			p.refuse = refuseWith(install.RegisterCluster, install.Fault{Err: errors.New("status 500")})
		}, install.CodeFailure, "status 500"},
		"goes well at last": {change: func(p *plane) {
			tries := 0
			p.refuse = func(install.Action) error {
				if tries++; tries < 3 {
					return &install.Fault{Err: errors.New("status 500")}
				}
				return nil
			}
			p.still = true
		}},
		"hints that fit no disk": {change: func(p *plane) { p.desired.Spec.Spec.Hosts[0].Disk.Hints.DeviceName = "/dev/none" }},
		"failed": {func(p *plane) {
			p.observed.Cluster = &install.Cluster{ClusterRef: install.ClusterRef{ID: "cluster-1", Owned: true}, State: install.ClusterFailed}
		}, install.CodeFailed, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &plane{world: newWorld(&install.Desired{Spec: sample(1, 0)})}
				test.change(p)
				result, took, err := runFor(t, p, true)
				switch {
				case test.code == 0 && err != nil:
					t.Fatalf("Detach: %v", err)
				case test.code == 0 && len(result.Plan.Waits)+len(result.Plan.Blockers) == 0:
					t.Errorf("left without saying what is waited for: %+v", result.Plan)
				case test.code == 0 && count(p.world, install.RegisterInfraEnv) != 1:
					t.Errorf("left before the image was made: %v", keys(p.writes))
				case test.code != 0 && (install.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.text) || install.NextOf(err) == ""):
					t.Errorf("Detach: %v (code %d, next %q); want code %d and %q", err, install.CodeOf(err), install.NextOf(err), test.code, test.text)
				}
				if took > 10*time.Minute {
					t.Errorf("Detach waited for %s", took)
				}
			})
		})
	}
}

// TestFailureIsNotHiddenByAFile: an install that failed has failed, whatever
// becomes of its kubeconfig.
func TestFailureIsNotHiddenByAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a file")
		if err := os.WriteFile(dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		p := &plane{world: newWorld(&install.Desired{Spec: sample(1, 0)}), still: true}
		p.observed.Cluster = &install.Cluster{ClusterRef: install.ClusterRef{ID: "cluster-1", Owned: true}, State: install.ClusterFailed, StatusInfo: "cluster has hosts in error", NoIngress: true}
		_, _, err := runFor(t, p, false, install.WithFiles(unwritable{}))
		if install.CodeOf(err) != install.CodeFailed || !strings.Contains(err.Error(), "hosts in error") {
			t.Errorf("Run: %v (code %d)", err, install.CodeOf(err))
		}
		p.observed.Cluster.State, p.observed.Cluster.Kubeconfig = install.ClusterInstalled, true
		_, _, err = runFor(t, p, false, install.WithFiles(unwritable{}))
		if install.CodeOf(err) != install.CodeFailure || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("Run: %v (code %d); a full disk is no bad input", err, install.CodeOf(err))
		}
		_, took, err := runFor(t, p, false, install.WithFiles(install.NewFiles(dir)))
		if install.CodeOf(err) != install.CodeFailure || took > time.Minute {
			t.Errorf("Run: %v (code %d) after %s; a folder that is a file stays one", err, install.CodeOf(err), took)
		}
	})
}

// unwritable is a folder that holds nothing and takes nothing.
type unwritable struct{}

func (unwritable) Observe(context.Context, install.ClusterRef) (map[string]install.SavedResult, error) {
	return nil, nil
}

func (unwritable) Claim(context.Context, install.ClusterRef, func(string) ([]byte, error)) (string, error) {
	return "", nil
}

func (unwritable) Save(context.Context, install.ClusterRef, string, []byte) (string, error) {
	return "", &install.Fault{Code: install.CodeFailure, Permanent: true, Err: errors.New("disk full")}
}

// TestSecretsAreSentAgainOnce, every one of them, even if one fails at first.
func TestSecretsAreSentAgainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{world: newWorld(&install.Desired{Spec: sample(3, 0), Options: install.Options{ResendSecrets: true, Reimage: true}})}
		failed := 0
		p.refuse = func(a install.Action) error {
			if a.Key == "infraenv/lab/resend" && failed < 2 {
				failed++
				return &install.Fault{Err: errors.New("status 500")}
			}
			return nil
		}
		if _, _, err := runFor(t, p, false); err != nil {
			t.Fatal(err)
		}
		sent := map[string]int{}
		for _, a := range p.writes {
			sent[a.Key]++
		}
		if sent["cluster/resend"] != 1 || sent["infraenv/lab/resend"] != 1 || failed != 2 {
			t.Errorf("sent %v, failed %d times", sent, failed)
		}
	})
}

// TestSecretsThatAreRefused end the run: they were asked for.
func TestSecretsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{world: newWorld(&install.Desired{Spec: sample(3, 0), Options: install.Options{ResendSecrets: true, Reimage: true}})}
		p.refuse = func(a install.Action) error {
			if a.Key == "infraenv/lab/resend" {
				return &install.Fault{Code: install.CodeInput, Permanent: true, Err: errors.New("pull secret is malformed")}
			}
			return nil
		}
		if _, _, err := runFor(t, p, false); install.CodeOf(err) != install.CodeInput {
			t.Errorf("Run: %v (code %d)", err, install.CodeOf(err))
		}
	})
}

// TestForeignClusterThatAPlaneShows is not touched without --adopt.
func TestForeignClusterThatAPlaneShows(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	w.observed.Cluster.Owned = false
	if plan := w.decide(); len(plan.Actions) > 0 || !hasReason(plan, "ForeignCluster") {
		t.Errorf("actions %v, blockers %+v", keys(plan.Actions), plan.Blockers)
	}
	w.desired.Options.Adopt = "cluster-1"
	if plan := w.decide(); !hasKind(plan, install.UpdateCluster) || len(plan.Blockers) > 0 {
		t.Errorf("actions %v, blockers %+v", keys(plan.Actions), plan.Blockers)
	}
}

// TestOptionalWorkerNeedsNoPerson: that it does not come ends no run, however
// short a person's time is.
func TestOptionalWorkerNeedsNoPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, none := sample(3, 1), 0
		c.Spec.Topology.Required = spec.Required{Workers: &none, Within: spec.Duration(2 * time.Hour)}
		p := &plane{world: newWorld(&install.Desired{Spec: c})}
		p.absent = "worker-0"
		result, _, err := runFor(t, p, false, install.WithTimeouts(0, 10*time.Minute))
		if err != nil || result.Verdict != install.VerdictInstalled {
			t.Errorf("Run: %v (%s)", err, result.Verdict)
		}
	})
}

// TestClockThatLeaps: a service whose clock is put forward has nobody waited
// for any longer.
func TestClockThatLeaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{world: newWorld(&install.Desired{Spec: sample(1, 0)}), still: true}
		p.ahead = func(looks int) time.Duration {
			if looks > 8 {
				return 3 * time.Hour
			}
			return 0
		}
		_, took, err := runFor(t, p, false)
		if install.CodeOf(err) != install.CodeNeedsUser || took < time.Hour {
			t.Errorf("Run: %v after %s", err, took)
		}
	})
}
