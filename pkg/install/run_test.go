package install_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// plane is a service plane over the model world: each look lets time pass.
type plane struct {
	*decidetest.World
	mu      sync.Mutex                 // scopes are acted on side by side
	refuse  func(a model.Action) error // before an action has its effect
	lose    func(a model.Action) error // after it had
	observe func(looks int) error
	still   bool                          // the world does not move
	ahead   func(looks int) time.Duration // how far the service's clock is ahead
	looks   int
}

func (p *plane) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	p.looks++
	if p.observe != nil {
		if err := p.observe(p.looks); err != nil {
			return nil, err
		}
	}
	if !p.still {
		p.Pass()
	}
	p.Observed.At = time.Now()
	if p.ahead != nil {
		p.Observed.At = p.Observed.At.Add(p.ahead(p.looks))
	}
	o := p.Observed
	o.Hosts = slices.Clone(o.Hosts)
	for i := range o.Hosts {
		o.Hosts[i].Settings = maps.Clone(o.Hosts[i].Settings)
	}
	if o.Cluster != nil {
		cluster := *o.Cluster
		o.Cluster = &cluster
	}
	return &o, nil
}

func (p *plane) Act(_ context.Context, _ *model.Desired, a model.Action) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse != nil {
		if err := p.refuse(a); err != nil {
			return err
		}
	}
	if err := p.Apply(a); err != nil {
		return err
	}
	if p.lose != nil {
		return p.lose(a)
	}
	return nil
}

func (p *plane) Credential(_ context.Context, _, name string) ([]byte, error) {
	return []byte("content of " + name), nil
}

func TestRunEnds(t *testing.T) {
	permanent := func(kind model.Kind, fault model.Fault) func(model.Action) error {
		return func(a model.Action) error {
			if a.Kind == kind {
				return &fault
			}
			return nil
		}
	}
	for name, test := range map[string]struct {
		change func(*plane)
		code   model.Code // 0: success
		text   string     // in the error
		state  string     // of the last event
	}{
		"installed": {state: "installed"},
		"register refused": {
			change: func(p *plane) {
				p.refuse = permanent(model.RegisterCluster, model.Fault{Permanent: true, Err: errors.New("version 4.99 is not supported")})
			},
			code: model.CodeInput, text: "4.99", state: "blocked",
		},
		"not authorised": {
			change: func(p *plane) {
				p.refuse = permanent(model.RegisterCluster, model.Fault{Code: model.CodeAuth, Err: errors.New("token expired")})
			},
			code: model.CodeAuth, text: "token expired", state: "blocked",
		},
		"a write that is lost once": {
			change: func(p *plane) {
				lost := map[string]bool{}
				p.refuse = func(a model.Action) error {
					if !lost[a.Key] {
						lost[a.Key] = true
						return &model.Fault{Err: errors.New("status 500")}
					}
					return nil
				}
			},
			state: "installed",
		},
		"an answer that is lost": {
			change: func(p *plane) {
				p.lose = func(model.Action) error {
					return &model.Fault{Ambiguous: true, Err: errors.New("connection reset")}
				}
			},
			state: "installed",
		},
		"a host that the file does not name": {
			change: func(p *plane) {
				p.Observed.Hosts = append(p.Observed.Hosts, decidetest.Machine("stranger", "52:54:00:ff:ff:ff", 90))
			},
			code: model.CodeNeedsUser, text: "52:54:00:ff:ff:ff", state: "needs-user",
		},
		"hints that fit no disk": {
			change: func(p *plane) { p.Desired.Spec.Spec.Hosts[0].Disk.Hints.DeviceName = "/dev/none" },
			code:   model.CodeBlocked, text: "no disk fits", state: "blocked",
		},
		"objects that a hub does not take": {
			change: func(p *plane) {
				p.lose = func(a model.Action) error {
					if a.Kind == model.RegisterInfraEnv {
						c := p.Observed.Cluster
						p.still, c.State = true, model.ClusterBlocked
						c.Validations = []model.Validation{{ID: "spec-synced", Category: "kube-api", Status: "failure",
							Message: "no such ClusterImageSet"}}
					}
					return nil
				}
			},
			code: model.CodeBlocked, text: "no such ClusterImageSet", state: "blocked",
		},
		"somebody else's cluster": {
			change: func(p *plane) { p.Observed.Others = []model.ClusterRef{{ID: "theirs", Name: "lab"}} },
			code:   model.CodeNotFound, text: "theirs", state: "blocked",
		},
		"nobody boots a host": {change: func(p *plane) { p.still = true }, code: model.CodeNeedsUser,
			text: "waited 1h0m0s for cp-0 to boot", state: "needs-user"},
		"nothing ever moves": {
			change: func(p *plane) {
				p.lose = func(a model.Action) error {
					p.still = p.still || a.Kind == model.StartInstall
					return nil
				}
			},
			code: model.CodeTimeout, text: "not done after 4h0m0s, waiting for the service to prepare the installation; the installation goes on", state: "timed-out",
		},
		"secrets that are sent again": {change: func(p *plane) { p.Desired.Options.ResendSecrets = true }, state: "installed"},
		"failed": {
			change: func(p *plane) {
				p.lose = func(a model.Action) error {
					if a.Kind == model.StartInstall {
						p.Observed.Cluster.State, p.Observed.Cluster.StatusInfo, p.still = model.ClusterFailed,
							"cluster has hosts in error", true
					}
					return nil
				}
			},
			code: model.CodeFailed, text: "hosts in error", state: "failed",
		},
		"a preparation that fails three times": {
			change: func(p *plane) {
				p.lose = func(a model.Action) error {
					if c := p.Observed.Cluster; a.Kind == model.StartInstall {
						c.State, c.Preparation.Reason = model.ClusterReady, "image pull"
						c.Preparation.FailedAt = append(c.Preparation.FailedAt, p.Observed.At)
					}
					return nil
				}
			},
			code: model.CodeFailure, text: "failed 3 times to prepare", state: "blocked",
		},
		"degraded": {
			change: func(p *plane) {
				p.lose = func(a model.Action) error {
					if a.Kind == model.StartInstall {
						p.Observed.Cluster.StatusInfo = "Cluster is installed but degraded. Failed OLM operators: lvm"
					}
					return nil
				}
			},
			code: model.CodeDegraded, text: "lvm", state: "degraded",
		},
		"a service that never answers": {
			change: func(p *plane) {
				p.observe = func(int) error {
					return &model.Fault{Err: errors.New("connection refused"), Next: "check --service-url"}
				}
			},
			code: model.CodeFailure, text: "connection refused", state: "error",
		},
		"a service that has only errors to answer": {
			change: func(p *plane) {
				p.observe = func(int) error {
					return &model.Fault{Err: errors.New("the database is down"), Status: 503, Next: "look at the service"}
				}
			},
			code: model.CodeFailure, text: "the database is down", state: "error",
		},
		"a service that answers with errors at first, each after a while": {
			change: func(p *plane) {
				p.observe = func(looks int) error {
					if looks > 6 {
						return nil
					}
					time.Sleep(10 * time.Second)
					return &model.Fault{Err: errors.New("the database is down"), Status: 503}
				}
			},
			state: "installed",
		},
		"a service that is silent for a while": {
			change: func(p *plane) {
				p.observe = func(looks int) error {
					if looks > 4 && looks < 40 {
						return &model.Fault{Err: errors.New("connection refused")}
					}
					return nil
				}
			},
			state: "installed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 1), Options: model.Options{Run: "run1"}})}
				if test.change != nil {
					test.change(p)
				}
				var events []model.Event
				dir := t.TempDir()
				result, err := install.New(p, install.Config{Files: install.Directory(dir),
					Events: func(e model.Event) { events = append(events, e) }}).Run(t.Context(), p.Desired)
				switch {
				case test.code == 0 && err != nil:
					t.Fatalf("Run: %v", err)
				case test.code != 0 && (err == nil || model.FaultOf(err).Code != test.code || !strings.Contains(err.Error(), test.text)):
					t.Fatalf("Run: %v (code %d); want code %d and %q", err, model.FaultOf(err).Code, test.code, test.text)
				case test.code != 0 && model.FaultOf(err).Next == "":
					t.Errorf("the error %q does not say what to do next", err)
				}
				if result.ExitCode != int(test.code) {
					t.Errorf("ExitCode %d", result.ExitCode)
				}
				last := events[len(events)-1]
				if last.Type != model.EventRun || last.State != test.state || last.ExitCode == nil || *last.ExitCode != int(test.code) {
					t.Errorf("last event %+v; want state %s", last, test.state)
				}
				p.onceOnly(t)
			})
		})
	}
}

// onceOnly checks that nothing was registered twice.
func (p *plane) onceOnly(t *testing.T) {
	t.Helper()
	count := map[model.Kind]int{}
	for _, a := range p.Writes {
		count[a.Kind]++
	}
	for _, kind := range []model.Kind{model.RegisterCluster, model.RegisterInfraEnv} {
		if count[kind] > 1 {
			t.Errorf("%s had its effect %d times", kind, count[kind])
		}
	}
}

func TestRunInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)}), still: true}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(&install.Interrupt{Signal: "interrupt", Code: model.CodeInterrupted}) })
		_, err := install.New(p).Run(ctx, p.Desired)
		if model.FaultOf(err).Code != model.CodeInterrupted || model.FaultOf(err).Next == "" {
			t.Errorf("Run: %v (code %d)", err, model.FaultOf(err).Code)
		}
	})
}

// TestRunPastItsDeadline ran out of time: no signal interrupted it.
func TestRunPastItsDeadline(t *testing.T) {
	for name, cause := range map[string]error{"": nil, "with a cause": errors.New("the shift is over")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)}), still: true}
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, cause)
				defer cancel()
				var last model.Event
				result, err := install.New(p, install.Config{Events: func(e model.Event) { last = e }}).Run(ctx, p.Desired)
				if model.FaultOf(err).Code != model.CodeTimeout || result.ExitCode != 8 || last.State != "timed-out" || model.FaultOf(err).Next == "" {
					t.Errorf("Run: %v (code %d), last %+v", err, model.FaultOf(err).Code, last)
				}
			})
		})
	}
}

func TestDetachLeavesWhenThereIsOnlyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)}), still: true}
		result, err := install.New(p).Detach(t.Context(), p.Desired)
		if err != nil || len(result.Plan.Waits) == 0 || len(p.Observed.InfraEnvs) != 1 {
			t.Errorf("Detach: %v, waits %v, InfraEnvs %v", err, result.Plan.Waits, p.Observed.InfraEnvs)
		}
	})
}

// TestRunAddsNodes to its ends.
func TestRunAddsNodes(t *testing.T) {
	for name, test := range map[string]struct {
		absent string
		fails  bool
		code   model.Code
		text   string
	}{
		"added":      {code: 0},
		"never came": {absent: "worker-1", code: model.CodeNeedsUser, text: "worker-1 to boot the discovery image lab"},
		"failed":     {fails: true, code: model.CodeFailed, text: "add nodes to lab.: not added: worker-1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := decidetest.InstalledWithout(t, decidetest.Sample(3, 2), false)
				w.Absent, w.Desired.Options.AddNodes = test.absent, true
				p := &plane{World: w} // which lives by the bubble's clock
				w.Observed.InfraEnvs[0].Created = time.Now().Add(-2 * time.Hour)
				w.Observed.InfraEnvs[0].Image.Created = w.Observed.InfraEnvs[0].Created
				w.Observed.Cluster.InstallCompleted = time.Now().Add(-time.Hour)
				if test.fails {
					p.lose = func(a model.Action) error {
						if a.Kind == model.InstallHost {
							p.Host(a.Target).State = model.HostFailed
						}
						return nil
					}
				}
				result, _, err := runFor(t, p, false, install.Config{Timeout: 12 * time.Hour, UserTimeout: time.Hour})
				if result.ExitCode != int(test.code) ||
					err != nil && !strings.Contains(strings.Replace(err.Error(), "lab.example.com", "lab.", 1), test.text) {
					t.Fatalf("code %d: %v", result.ExitCode, err)
				}
				if test.code != 0 {
					if model.FaultOf(err).Next == "" {
						t.Error("nothing says what to do next")
					}
					return
				}
				writes := len(p.Writes)
				if _, _, err := runFor(t, p, false); err != nil || len(p.Writes) != writes {
					t.Errorf("a second run: %v, writes %v", err, decidetest.Keys(p.Writes[writes:]))
				}
			})
		})
	}
}

// TestAdoptInstalled ends well, and has written the mark and nothing else.
func TestAdoptInstalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := decidetest.InstalledWithout(t, decidetest.Sample(3, 1), false)
		w.Observed.Cluster.Owned, w.Observed.Cluster.MarkedAnytime = false, true
		w.Desired.Options.Adopt = w.Observed.Cluster.ID
		p := &plane{World: w}
		result, err := install.New(p).Run(t.Context(), w.Desired)
		if err != nil || result.Verdict != model.VerdictInstalled || strings.Join(decidetest.Keys(w.Writes), " ") != "cluster/adopt" ||
			!w.Observed.Cluster.Owned {
			t.Errorf("%v: %s, writes %v", err, result.Verdict, decidetest.Keys(w.Writes))
		}
	})
}

// TestResultsOfAnEarlierCluster are neither mistaken for those of the cluster that a run registers, nor lost: the
// service may have forgotten a cluster that runs.
func TestResultsOfAnEarlierCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		files := install.Directory(dir)
		name := decidetest.Sample(1, 0).Metadata.Name
		for _, result := range []string{"kubeconfig-noingress", "kubeconfig", "kubeadmin-password"} {
			if _, err := files.Save(t.Context(), model.ClusterRef{ID: "earlier", Name: name}, result, []byte("earlier")); err != nil {
				t.Fatal(err)
			}
		}
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)})}
		p.Observed.Cluster = nil
		_, _, _ = runFor(t, p, true, install.Config{Files: files})
		if theirs, err := os.ReadFile(filepath.Join(dir, name, "auth", "kubeconfig")); err == nil {
			t.Errorf("the earlier kubeconfig is taken for the new one: %q", theirs)
		}
		if kept, err := os.ReadFile(filepath.Join(dir, name, "auth.1", "kubeconfig")); err != nil || string(kept) != "earlier" {
			t.Errorf("the earlier kubeconfig is %q: %v", kept, err)
		}
	})
}

// deletedPlane is a service whose cluster a user deletes, or that does not
// show it for some looks.
type deletedPlane struct {
	*plane
	at     func(*model.Observed) bool // when the cluster begins to be missing
	looks  int                        // how often it is not shown, -1: it is deleted
	gone   bool
	wrote  int           // as it was deleted
	absent time.Time     // since then
	bore   time.Duration // until the last look
}

func (p *deletedPlane) Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error) {
	o, err := p.plane.Observe(ctx, query, prior)
	if err != nil || o.Cluster == nil {
		return o, err
	}
	if !p.gone && p.at(o) {
		p.gone, p.absent, p.wrote = true, time.Now(), len(p.Writes)
	}
	if !p.gone || p.looks == 0 {
		return o, nil
	}
	p.looks--
	p.bore = time.Since(p.absent)
	return &model.Observed{At: o.At}, nil
}

func TestClusterThatAUserDeletes(t *testing.T) {
	always := func(*model.Observed) bool { return true }
	inState := func(state model.ClusterState) func(*model.Observed) bool {
		return func(o *model.Observed) bool { return o.Cluster.State == state }
	}
	imaged := func(o *model.Observed) bool { return len(o.InfraEnvs) > 0 }
	for name, test := range map[string]struct {
		at    func(*model.Observed) bool
		looks int
		code  model.Code // 0: installed
	}{
		"as soon as it is registered":           {always, -1, model.CodeNotFound},
		"while its hosts come":                  {imaged, -1, model.CodeNotFound},
		"while it installs":                     {inState(model.ClusterInstalling), -1, model.CodeNotFound},
		"a list that is old right after it":     {always, 1, 0},
		"a list that is old for some looks":     {always, 5, 0},
		"a cluster that is missing for a look":  {imaged, 1, 0},
		"a cluster that is missing for 2 looks": {inState(model.ClusterInstalling), 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &deletedPlane{plane: &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 0),
					Options: model.Options{Run: "run1"}})}, at: test.at, looks: test.looks}
				var events []model.Event
				result, err := install.New(p, install.Config{Events: func(e model.Event) {
					events = append(events,
						e)
				}}).Run(t.Context(), p.Desired)
				if n := p.Count(model.RegisterCluster); n != 1 {
					t.Errorf("registered %d times", n)
				}
				if !p.gone {
					t.Fatal("the cluster was never missing")
				}
				if test.code == 0 {
					if err != nil {
						t.Fatal(err)
					}
					return
				}
				if model.FaultOf(err).Code != test.code || result.ExitCode != int(test.code) || !strings.Contains(err.Error(), "deleted") ||
					model.FaultOf(err).Next == "" {
					t.Errorf("Run: %v (code %d), Next %q", err, model.FaultOf(err).Code, model.FaultOf(err).Next)
				}
				if len(p.Writes) != p.wrote {
					t.Errorf("written after the cluster was deleted: %v", p.Writes[p.wrote:])
				}
				if result.Observed == nil || result.Observed.Cluster != nil {
					t.Error("the result still has the cluster")
				}
				if p.bore > time.Minute {
					t.Errorf("found out only after %s", p.bore)
				}
				for _, e := range events[1:] {
					if e.Key == "cluster/state" && e.State == "Absent" {
						t.Errorf("told that there is none yet: %+v", e)
					}
				}
			})
		})
	}
}

// If a controller passes the settings of hosts on to the service, the service does not get the order to start while the
// controller may still do that.
func TestStartWaitsForWhatIsPassedOn(t *testing.T) {
	for name, test := range map[string]struct {
		passesOn bool
		differs  bool
		want     time.Duration // from the first look to the start
	}{
		"passed on":               {passesOn: true, differs: true, want: 5 * time.Second},
		"taken at once":           {differs: true},
		"nothing to be passed on": {passesOn: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := decidetest.ReadyHub(t, decidetest.Sample(3, 0))
			w.Observed.Cluster.PassesOn = test.passesOn
			if test.differs {
				delete(w.Observed.Hosts[1].Settings, model.SettingHostname)
			}
			began, took := time.Now(), time.Duration(-1)
			p := &plane{World: w, still: true, refuse: func(a model.Action) error {
				if a.Kind == model.StartInstall {
					took = time.Since(began)
				}
				return nil
			}}
			_, err := install.New(p, install.Config{Timeout: time.Minute, UserTimeout: time.Hour}).Run(t.Context(), w.Desired)
			if took < test.want || took > 2*test.want {
				t.Errorf("%s: started after %v (run: %v)", name, took, err)
			}
		})
	}
}

// A cluster that goes on stalling is touched once a minute, and each time that is reported.
func TestNudgedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := decidetest.ReadyHub(t, decidetest.Sample(3, 0))
		var nudged []model.Event
		p := &plane{World: w, still: true}
		w.Observed.Cluster.Released = true
		w.Observed.Cluster.Stalled = time.Now()
		p.lose = func(a model.Action) error { // no touch helps
			w.Observed.Cluster.Stalled = time.Now().Add(-time.Hour)
			return nil
		}
		w.Observed.InfraEnvs[0].Image = model.Image{State: model.ImageReady}
		installer := install.New(p, install.Config{Timeout: 10 * time.Minute, UserTimeout: time.Hour, Events: func(e model.Event) {
			if e.Reason == string(model.NudgeCluster) {
				nudged = append(nudged, e)
			}
		}})
		_, err := installer.Run(t.Context(), w.Desired)
		if model.FaultOf(err).Code != model.CodeTimeout {
			t.Errorf("ended with %v", err)
		}
		if len(nudged) < 9 || len(nudged) > 10 || !strings.Contains(nudged[0].Message, "every host is in sync") {
			t.Errorf("%d events: %+v", len(nudged), nudged)
		}
	})
}

// That an end cannot be written down makes no installed cluster a failed one.
func TestRecordInstalled(t *testing.T) {
	for name, refuse := range map[string]error{
		"recorded":         nil,
		"refused for good": &model.Fault{Permanent: true, Err: errors.New("forbidden")},
		"refused for now":  &model.Fault{Err: errors.New("conflict")},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)})
			w.Hub = true
			var tried, told int
			p := &plane{World: w, refuse: func(a model.Action) error {
				if a.Kind != model.RecordInstalled {
					return nil
				}
				tried++
				return refuse
			}}
			installer := install.New(p, install.Config{Events: func(e model.Event) {
				if e.Reason == string(model.RecordInstalled) {
					told++
				}
			}})
			result, err := installer.Run(t.Context(), w.Desired)
			if err != nil || result.Verdict != model.VerdictInstalled || tried == 0 || told != tried {
				t.Errorf("%s: %v, %s, tried %d, told %d", name, err, result.Verdict, tried, told)
			}
			if recorded := !w.Observed.Cluster.Unrecorded; recorded != (refuse == nil) {
				t.Errorf("%s: recorded %v", name, recorded)
			}
		})
	}
}

// telling is a service that reports changes, at times since it began.
type telling struct {
	*plane
	at    []time.Duration
	began time.Time
	asked []time.Duration // when it was observed
}

func (s *telling) Changed(model.Query) <-chan struct{} {
	given := make(chan struct{})
	for _, at := range s.at {
		if left := at - time.Since(s.began); left > 0 {
			time.AfterFunc(left, func() { close(given) })
			break
		}
	}
	return given
}

// A run observes again at once when the service reports a change, but waits until the changes that come together have
// come.
func TestRunIsWoken(t *testing.T) {
	for name, test := range map[string]struct {
		at       []time.Duration
		interval time.Duration
		looks    int           // in the two minutes that it has
		within   time.Duration // of a change, the next look
	}{
		"told of nothing": {looks: 18},
		"told once":       {at: []time.Duration{63 * time.Second}, looks: 19, within: 100 * time.Millisecond},
		"told twice": {at: []time.Duration{63 * time.Second, 64 * time.Second}, looks: 20,
			within: 100 * time.Millisecond},
		"told often, and looked at once": {at: []time.Duration{63 * time.Second, 63*time.Second + 50*time.Millisecond}, looks: 19,
			within: 100 * time.Millisecond},
		"told, and asked not to hurry": {at: []time.Duration{63 * time.Second}, interval: 30 * time.Second, looks: 5,
			within: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
				w.Observed.Cluster.State = model.ClusterPreparing
				s := &telling{plane: &plane{World: w, still: true}, at: test.at, began: time.Now()}
				s.observe = func(int) error {
					s.asked = append(s.asked, time.Since(s.began))
					return nil
				}
				_, err := install.New(s, install.Config{Timeout: 2 * time.Minute, UserTimeout: time.Hour,
					PollInterval: test.interval}).Run(t.Context(), s.Desired)
				if model.FaultOf(err).Code != model.CodeTimeout {
					t.Fatal(err)
				}
				if len(s.asked) != test.looks {
					t.Errorf("looks at %v, want %d", s.asked, test.looks)
				}
				for _, at := range test.at {
					next := 2 * time.Minute
					for _, look := range s.asked {
						if look > at {
							next = min(next, look)
						}
					}
					if next-at > test.within {
						t.Errorf("the change at %s is looked at at %s", at, next)
					}
				}
			})
		})
	}
}

// TestReimageGoesOnByItself once the hosts came back, with one change of the
// image and one install.
func TestReimageGoesOnByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{World: decidetest.ReadyWorld(t, decidetest.Sample(3, 0))}
		p.Desired.Spec.Spec.Discovery.KernelArgs = []string{"console=ttyS0"}
		p.Desired.Options.Reimage = true
		if _, _, err := runFor(t, p, false); err != nil {
			t.Fatal(err)
		}
		if p.Count(model.UpdateInfraEnv) != 1 || p.Count(model.StartInstall) != 1 {
			t.Errorf("wrote %v", decidetest.Keys(p.Writes))
		}
	})
}

// forgetful is a plane whose service does not answer for some looks: it gives
// its last picture then, which lacks what was written since.
type forgetful struct {
	*plane
	last   *model.Observed
	wrote  bool
	silent int // looks after a write that get no answer
	left   int
}

func (f *forgetful) Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error) {
	if f.wrote {
		f.wrote, f.left = false, f.silent
	}
	if f.left > 0 && f.last != nil {
		f.left--
		old := *f.last
		old.At, old.Stale = time.Now(), "connection refused"
		return &old, nil
	}
	var err error
	f.last, err = f.plane.Observe(ctx, query, prior)
	return f.last, err
}

func (f *forgetful) Act(ctx context.Context, desired *model.Desired, a model.Action) error {
	f.mu.Lock()
	f.wrote = true
	f.mu.Unlock()
	return f.plane.Act(ctx, desired, a)
}

// TestNothingIsWrittenOnAnOldPicture lets the service fall silent after every
// write: an old picture would have it written again.
func TestNothingIsWrittenOnAnOldPicture(t *testing.T) {
	for _, silent := range []int{1, 5, 100} {
		synctest.Test(t, func(t *testing.T) {
			p := &forgetful{plane: &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 1),
				Options: model.Options{Run: "run1"}})}, silent: silent}
			if _, err := install.New(p, install.Config{Timeout: -1, UserTimeout: -1}).Run(t.Context(), p.Desired); err != nil {
				t.Fatalf("silent for %d looks: %v", silent, err)
			}
			kinds := map[model.Kind]int{}
			for _, a := range p.Writes {
				kinds[a.Kind]++
			}
			for _, kind := range []model.Kind{model.RegisterCluster, model.RegisterInfraEnv, model.StartInstall} {
				if kinds[kind] != 1 {
					t.Errorf("silent for %d looks: %s was written %d times", silent, kind, kinds[kind])
				}
			}
		})
	}
}

// TestSilenceEndsAsTimedOut: if a service stays silent, the run ends with the report that nothing is known, not that
// the install failed.
func TestSilenceEndsAsTimedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(1, 0)})}
		p.answersOnly(3)
		_, err := install.New(p).Run(t.Context(), p.Desired)
		if model.FaultOf(err).Code != model.CodeTimeout || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("Run: %v (code %d)", err, model.FaultOf(err).Code)
		}
	})
}

// answersOnly answers so many looks and no more.
func (p *plane) answersOnly(looks int) {
	p.observe = func(n int) error {
		if n > looks {
			return &model.Fault{Err: errors.New("connection refused")}
		}
		return nil
	}
}
