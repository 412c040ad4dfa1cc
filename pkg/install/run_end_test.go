package install_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestFaultsNameThePlaceInTheFile gives an error the place in the file that it belongs to.
func TestFaultsNameThePlaceInTheFile(t *testing.T) {
	text := `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  baseDomain: example.com
  openshift: {version: "4.20"}
  pullSecret: {env: PULL}
  topology: {controlPlane: 1}
  network: {machine: [192.168.127.0/24]}
  hosts:
    - name: cp-0
      match: {mac: "52:54:00:00:00:00"}
      disk:
        hints: {deviceName: /dev/none}
`
	c, err := spec.Parse(t.Context(), "cluster.yaml", []byte(text), spec.Env{LookupEnv: func(string) (string, bool) {
		return `{"auths":{"x":{"auth":"dTpw"}}}`, true
	}})
	if err != nil {
		t.Fatal(err)
	}
	p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: c})}
	synctest.Test(t, func(t *testing.T) {
		_, took, err := runFor(t, p, false)
		if model.FaultOf(err).Code != model.CodeBlocked || !strings.Contains(err.Error(), "cluster.yaml:14:") || took < 5*time.Minute {
			t.Errorf("Run: %v (code %d) after %s", err, model.FaultOf(err).Code, took)
		}
	})
}

// refuseWith refuses every action of a kind.
func refuseWith(kind model.Kind, fault model.Fault) func(model.Action) error {
	return func(a model.Action) error {
		if a.Kind == kind {
			return &fault
		}
		return nil
	}
}

// runFor runs on the model world in a bubble and returns the result.
func runFor(t *testing.T, p *plane, detach bool, options ...install.Config) (install.Result, time.Duration, error) {
	t.Helper()
	began := time.Now()
	installer := install.New(p, options...)
	run := installer.Run
	if detach {
		run = installer.Detach
	}
	result, err := run(t.Context(), p.Desired)
	return result, time.Since(began), err
}

// TestWhatTheServiceDoesNotKeep is not written for ever: the run ends, soon,
// and names the field.
func TestWhatTheServiceDoesNotKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 0)})}
		p.lose = func(a model.Action) error {
			if a.Kind == model.UpdateHost && p.Host(a.Target).ID == "host-cp-0" {
				p.Host(a.Target).Settings[model.SettingHostname] = model.ValueOf("rewritten")
			}
			return nil
		}
		_, took, err := runFor(t, p, false)
		if model.FaultOf(err).Code != model.CodeFailure || !strings.Contains(err.Error(), "hostname is rewritten, not cp-0") ||
			model.FaultOf(err).Next == "" {
			t.Errorf("Run: %v (code %d)", err, model.FaultOf(err).Code)
		}
		if n := p.Count(model.UpdateHost); n > 12 {
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
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)}), still: true}
		p.lose = func(a model.Action) error {
			for i := range p.Observed.InfraEnvs {
				p.Observed.InfraEnvs[i].Image.Expires = time.Now().Add(5 * time.Minute)
			}
			return nil
		}
		_, _, err := runFor(t, p, false)
		if model.FaultOf(err).Code != model.CodeNeedsUser {
			t.Errorf("Run: %v", err)
		}
		if n := p.Count(model.RenewImage); n < 2 || n > 80 {
			t.Errorf("renewed %d times in an hour", n)
		}
	})
}

// TestServiceThatShowsLate is not written to again meanwhile.
func TestServiceThatShowsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)})}
		var before []model.InfraEnv
		hidden := 0
		p.lose = func(a model.Action) error {
			if a.Kind == model.RegisterInfraEnv {
				before, hidden = p.Observed.InfraEnvs, 3
				p.Observed.InfraEnvs = nil
			}
			return nil
		}
		p.observe = func(int) error {
			if hidden--; hidden == 0 {
				p.Observed.InfraEnvs = before
			}
			return nil
		}
		if _, _, err := runFor(t, p, false, install.Config{PollInterval: 500 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		if n := p.Count(model.RegisterInfraEnv); n != 1 {
			t.Errorf("registered %d times", n)
		}
	})
}

// TestDetachSaysWhatItCouldNotDo: leaving early is no way to hide a failure.
func TestDetachSaysWhatItCouldNotDo(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*plane)
		code   model.Code
		text   string
	}{
		"only waiting is left": {change: func(p *plane) { p.still = true }},
		"refused": {func(p *plane) {
			p.refuse = refuseWith(model.RegisterCluster,
				model.Fault{Code: model.CodeInput, Permanent: true, Err: errors.New("no such version")})
		}, model.CodeInput, "no such version"},
		"not authorised": {func(p *plane) {
			p.refuse = refuseWith(model.RegisterCluster, model.Fault{Code: model.CodeAuth, Err: errors.New("token expired")})
		}, model.CodeAuth, "token expired"},
		"somebody else's": {func(p *plane) {
			p.Observed.Others = []model.ClusterRef{{ID: "theirs", Name: "lab"}}
		}, model.CodeNotFound, "theirs"},
		"never goes well": {func(p *plane) {
			p.refuse = refuseWith(model.RegisterCluster, model.Fault{Err: errors.New("status 500")})
		}, model.CodeFailure, "status 500"},
		"goes well at last": {change: func(p *plane) {
			tries := 0
			p.refuse = func(model.Action) error {
				if tries++; tries < 3 {
					return &model.Fault{Err: errors.New("status 500")}
				}
				return nil
			}
			p.still = true
		}},
		"hints that fit no disk": {change: func(p *plane) { p.Desired.Spec.Spec.Hosts[0].Disk.Hints.DeviceName = "/dev/none" }},
		"failed": {func(p *plane) {
			p.Observed.Cluster = &model.Cluster{ClusterRef: model.ClusterRef{ID: "cluster-1", Owned: true}, State: model.ClusterFailed}
		}, model.CodeFailed, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)})}
				test.change(p)
				result, took, err := runFor(t, p, true)
				switch {
				case test.code == 0 && err != nil:
					t.Fatalf("Detach: %v", err)
				case test.code == 0 && len(result.Plan.Waits)+len(result.Plan.Blockers) == 0:
					t.Errorf("left without saying what is waited for: %+v", result.Plan)
				case test.code == 0 && p.Count(model.RegisterInfraEnv) != 1:
					t.Errorf("left before the image was made: %v", decidetest.Keys(p.Writes))
				case test.code != 0 && (model.FaultOf(err).Code != test.code || !strings.Contains(err.Error(), test.text) ||
					model.FaultOf(err).Next == ""):
					t.Errorf("Detach: %v (code %d, next %q); want code %d and %q", err, model.FaultOf(err).Code, model.FaultOf(err).Next,
						test.code, test.text)
				}
				if took > 10*time.Minute {
					t.Errorf("Detach waited for %s", took)
				}
			})
		})
	}
}

// TestFailureIsNotHiddenByAFile: an install that failed has failed,
// also if its kubeconfig cannot be saved.
func TestFailureIsNotHiddenByAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a file")
		if err := os.WriteFile(dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)}), still: true}
		p.Observed.Cluster = &model.Cluster{ClusterRef: model.ClusterRef{ID: "cluster-1", Owned: true}, State: model.ClusterFailed,
			StatusInfo: "cluster has hosts in error", NoIngress: true}
		_, _, err := runFor(t, p, false, install.Config{Files: unwritable{}})
		if model.FaultOf(err).Code != model.CodeFailed || !strings.Contains(err.Error(), "hosts in error") {
			t.Errorf("Run: %v (code %d)", err, model.FaultOf(err).Code)
		}
		p.Observed.Cluster.State, p.Observed.Cluster.Kubeconfig = model.ClusterInstalled, true
		_, _, err = runFor(t, p, false, install.Config{Files: unwritable{}})
		if model.FaultOf(err).Code != model.CodeFailure || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("Run: %v (code %d); a full disk is no bad input", err, model.FaultOf(err).Code)
		}
		_, took, err := runFor(t, p, false, install.Config{Files: install.Directory(dir)})
		if model.FaultOf(err).Code != model.CodeFailure || took > time.Minute {
			t.Errorf("Run: %v (code %d) after %s; a folder that is a file stays one", err, model.FaultOf(err).Code, took)
		}
	})
}

// unwritable is a folder that holds nothing and takes nothing.
type unwritable struct{}

func (unwritable) Observe(context.Context, model.ClusterRef) (map[string]model.SavedResult, error) {
	return nil, nil
}

func (unwritable) Claim(context.Context, model.ClusterRef, func(string) ([]byte, error)) (string, error) {
	return "", nil
}

func (unwritable) Save(context.Context, model.ClusterRef, string, []byte) (string, error) {
	return "", &model.Fault{Code: model.CodeFailure, Permanent: true, Err: errors.New("disk full")}
}

// TestSecretsAreSentAgainOnce, every one of them, even if one fails at first.
func TestSecretsAreSentAgainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 0),
			Options: model.Options{ResendSecrets: true, Reimage: true}})}
		failed := 0
		p.refuse = func(a model.Action) error {
			if a.Key == "infraenv/lab/resend" && failed < 2 {
				failed++
				return &model.Fault{Err: errors.New("status 500")}
			}
			return nil
		}
		if _, _, err := runFor(t, p, false); err != nil {
			t.Fatal(err)
		}
		sent := map[string]int{}
		for _, a := range p.Writes {
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
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 0),
			Options: model.Options{ResendSecrets: true, Reimage: true}})}
		p.refuse = func(a model.Action) error {
			if a.Key == "infraenv/lab/resend" {
				return &model.Fault{Code: model.CodeInput, Permanent: true, Err: errors.New("pull secret is malformed")}
			}
			return nil
		}
		if _, _, err := runFor(t, p, false); model.FaultOf(err).Code != model.CodeInput {
			t.Errorf("Run: %v (code %d)", err, model.FaultOf(err).Code)
		}
	})
}

// TestOptionalWorkerNeedsNoPerson: that it does not come ends no run, however
// short a person's time is.
func TestOptionalWorkerNeedsNoPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, none := decidetest.Sample(3, 1), 0
		c.Spec.Topology.Required = spec.Required{Workers: &none, Within: spec.Duration(2 * time.Hour)}
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: c})}
		p.Absent = "worker-0"
		result, _, err := runFor(t, p, false, install.Config{Timeout: -1, UserTimeout: 10 * time.Minute})
		if err != nil || result.Verdict != model.VerdictInstalled {
			t.Errorf("Run: %v (%s)", err, result.Verdict)
		}
	})
}

// TestClockThatLeaps: a run waits as long as ever where the service's clock is put
// forward.
func TestClockThatLeaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)}), still: true}
		p.ahead = func(looks int) time.Duration {
			if looks > 8 {
				return 3 * time.Hour
			}
			return 0
		}
		_, took, err := runFor(t, p, false)
		if model.FaultOf(err).Code != model.CodeNeedsUser || took < time.Hour {
			t.Errorf("Run: %v after %s", err, took)
		}
	})
}

// TestTheTimeIsADeadline for what is under way, too: a service that never answers
// holds up no end, and the end says what last went wrong.
func TestTheTimeIsADeadline(t *testing.T) {
	for name, test := range map[string]struct {
		hangs   model.Kind
		refuses model.Kind
		says    []string
	}{
		"a look that is never answered":  {says: []string{"not done after 1m0s, "}},
		"a write that is never answered": {hangs: model.RegisterInfraEnv, says: []string{"not done after 1m0s"}},
		"a write that is refused each time": {hangs: "none", refuses: model.RegisterInfraEnv,
			says: []string{"not done after 1m0s, ", "the last error: ", "the database is down"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &hanging{plane: &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 0),
					Options: model.Options{Run: "run1"}})}, kind: test.hangs}
				if test.refuses != "" {
					p.refuse = refuseWith(test.refuses,
						model.Fault{Code: model.CodeFailure, Op: "register", Err: errors.New("the database is down")})
				}
				began := time.Now()
				_, err := install.New(p, install.Config{Timeout: time.Minute, UserTimeout: time.Hour}).Run(t.Context(), p.Desired)
				if got := time.Since(began); model.FaultOf(err).Code != model.CodeTimeout || got < time.Minute ||
					got > time.Minute+31*time.Second {
					t.Errorf("code %d after %s: %v", model.FaultOf(err).Code, got, err)
				}
				for _, words := range test.says {
					if err == nil || !strings.Contains(err.Error(), words) {
						t.Errorf("the end does not say %q: %v", words, err)
					}
				}
			})
		})
	}
}

// hanging never answers an action of a kind or, without one, the fifth look.
type hanging struct {
	*plane
	kind model.Kind
	seen int
}

func (h *hanging) Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error) {
	if h.seen++; h.kind == "" && h.seen >= 5 {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return h.plane.Observe(ctx, query, prior)
}

func (h *hanging) Act(ctx context.Context, desired *model.Desired, a model.Action) error {
	if a.Kind == h.kind {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return h.plane.Act(ctx, desired, a)
}

// slowDownloads is a plane with a cluster that is installed shortly before the time is up, and with results that take
// time to download.
type slowDownloads struct {
	*plane
	installed time.Time
	takes     time.Duration
}

func (p *slowDownloads) Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error) {
	if !time.Now().Before(p.installed) {
		p.Observed.Cluster.State, p.Observed.Cluster.Kubeconfig = model.ClusterInstalled, true
	}
	return p.plane.Observe(ctx, query, prior)
}

func (p *slowDownloads) Credential(ctx context.Context, _, name string) ([]byte, error) {
	select {
	case <-time.After(p.takes):
		return []byte(name), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// savedNames are the files that were written.
type savedNames struct {
	unwritable
	names []string
}

func (f *savedNames) Save(_ context.Context, _ model.ClusterRef, name string, _ []byte) (string, error) {
	f.names = append(f.names, name)
	return "", nil
}

// TestResultsAfterTheTimeIsUp: what an installed cluster has is still fetched when the
// time is over, within half a minute more.
func TestResultsAfterTheTimeIsUp(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration // each download
		saved []string
		took  time.Duration // the whole run
	}{
		"answers":      {takes: 5 * time.Second, saved: []string{"kubeconfig", "kubeadmin-password"}, took: 70 * time.Second},
		"takes longer": {takes: time.Hour, took: 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &slowDownloads{plane: &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)}), still: true},
					installed: time.Now().Add(57 * time.Second), takes: test.takes}
				p.Observed.Cluster = &model.Cluster{ClusterRef: model.ClusterRef{ID: "cluster-1", Owned: true},
					State: model.ClusterFinalizing}
				files := &savedNames{}
				began := time.Now()
				_, err := install.New(p, install.Config{Files: files, Timeout: time.Minute, UserTimeout: -1,
					PollInterval: time.Second}).Run(t.Context(), p.Desired)
				if took := time.Since(began); model.FaultOf(err).Code != model.CodeTimeout || !slices.Equal(files.names, test.saved) ||
					took != test.took {
					t.Errorf("after %s: %v; saved %v", took, err, files.names)
				}
			})
		})
	}
}

// TestInstallFollowsReady: the install call comes with the first look that shows the
// cluster ready.
func TestInstallFollowsReady(t *testing.T) {
	for _, every := range []time.Duration{500 * time.Millisecond, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p := &plane{World: decidetest.ReadyWorld(t, decidetest.Sample(3, 0)), still: true}
			ready := time.Now().Add(time.Minute + every/3)
			var asked time.Time
			p.Observed.Cluster.State = model.ClusterDiscovering
			p.observe = func(int) error {
				if p.Observed.Cluster.State == model.ClusterDiscovering && !time.Now().Before(ready) {
					p.Observed.Cluster.State = model.ClusterReady
				}
				return nil
			}
			p.lose = func(a model.Action) error {
				if a.Kind == model.StartInstall {
					asked = time.Now()
				}
				return nil
			}
			_, _, _ = runFor(t, p, false, install.Config{PollInterval: every, Timeout: 2 * time.Minute, UserTimeout: -1})
			if late := asked.Sub(ready); asked.IsZero() || late > every {
				t.Errorf("every %s: the install call comes %s after ready", every, late)
			}
		})
	}
}

func (unwritable) Append(context.Context, model.ClusterRef, string, []byte) error { return nil }

func (unwritable) Record(context.Context, model.ClusterRef, string) ([]byte, error) {
	return nil, nil
}
