package install_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// plane is a service plane over the model world: each look lets time pass.
type plane struct {
	*world
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
		p.pass()
	}
	p.observed.At = time.Now()
	if p.ahead != nil {
		p.observed.At = p.observed.At.Add(p.ahead(p.looks))
	}
	o := p.observed
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
	if err := p.apply(a); err != nil {
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
				p.observed.Hosts = append(p.observed.Hosts, machine("stranger", "52:54:00:ff:ff:ff", 90))
			},
			code: model.CodeNeedsUser, text: "52:54:00:ff:ff:ff", state: "needs-user",
		},
		"hints that fit no disk": {
			change: func(p *plane) { p.desired.Spec.Spec.Hosts[0].Disk.Hints.DeviceName = "/dev/none" },
			code:   model.CodeBlocked, text: "no disk fits", state: "blocked",
		},
		"objects that a hub does not take": {
			change: func(p *plane) {
				p.lose = func(a model.Action) error {
					if a.Kind == model.RegisterInfraEnv {
						c := p.observed.Cluster
						p.still, c.State = true, model.ClusterBlocked
						c.Validations = []model.Validation{{ID: "spec-synced", Category: "kube-api", Status: "failure", Message: "no such ClusterImageSet"}}
					}
					return nil
				}
			},
			code: model.CodeBlocked, text: "no such ClusterImageSet", state: "blocked",
		},
		"somebody else's cluster": {
			change: func(p *plane) { p.observed.Others = []model.ClusterRef{{ID: "theirs", Name: "lab"}} },
			code:   model.CodeNotFound, text: "theirs", state: "blocked",
		},
		"nobody boots a host": {change: func(p *plane) { p.still = true }, code: model.CodeNeedsUser, text: "waited 1h0m0s for cp-0 to boot", state: "needs-user"},
		"nothing ever moves": {
			change: func(p *plane) {
				p.lose = func(a model.Action) error {
					p.still = p.still || a.Kind == model.StartInstall
					return nil
				}
			},
			code: model.CodeTimeout, text: "not done after 4h0m0s, waiting for the service to prepare the installation; the installation goes on", state: "timed-out",
		},
		"secrets that are sent again": {change: func(p *plane) { p.desired.Options.ResendSecrets = true }, state: "installed"},
		"failed": {
			change: func(p *plane) {
				p.lose = func(a model.Action) error {
					if a.Kind == model.StartInstall {
						p.observed.Cluster.State, p.observed.Cluster.StatusInfo, p.still = model.ClusterFailed, "cluster has hosts in error", true
					}
					return nil
				}
			},
			code: model.CodeFailed, text: "hosts in error", state: "failed",
		},
		"a preparation that fails three times": {
			change: func(p *plane) {
				p.lose = func(a model.Action) error {
					if c := p.observed.Cluster; a.Kind == model.StartInstall {
						c.State, c.Preparation.Reason = model.ClusterReady, "image pull"
						c.Preparation.FailedAt = append(c.Preparation.FailedAt, p.observed.At)
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
						p.observed.Cluster.StatusInfo = "Cluster is installed but degraded. Failed OLM operators: lvm"
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
				p := &plane{world: newWorld(&model.Desired{Spec: sample(3, 1), Options: model.Options{Run: "run1"}})}
				if test.change != nil {
					test.change(p)
				}
				var events []model.Event
				dir := t.TempDir()
				result, err := install.New(p, install.WithFiles(install.NewFiles(dir)), install.WithEvents(func(e model.Event) { events = append(events, e) })).Run(t.Context(), p.desired)
				switch {
				case test.code == 0 && err != nil:
					t.Fatalf("Run: %v", err)
				case test.code != 0 && (err == nil || model.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.text)):
					t.Fatalf("Run: %v (code %d); want code %d and %q", err, model.CodeOf(err), test.code, test.text)
				case test.code != 0 && model.NextOf(err) == "":
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
	for _, a := range p.writes {
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
		p := &plane{world: newWorld(&model.Desired{Spec: sample(1, 0)}), still: true}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(&install.Interrupt{Signal: "interrupt", Code: model.CodeInterrupted}) })
		_, err := install.New(p).Run(ctx, p.desired)
		if model.CodeOf(err) != model.CodeInterrupted || model.NextOf(err) == "" {
			t.Errorf("Run: %v (code %d)", err, model.CodeOf(err))
		}
	})
}

// TestRunPastItsDeadline ran out of time: nobody interrupted it.
func TestRunPastItsDeadline(t *testing.T) {
	for name, cause := range map[string]error{"": nil, "with a cause": errors.New("the shift is over")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &plane{world: newWorld(&model.Desired{Spec: sample(1, 0)}), still: true}
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, cause)
				defer cancel()
				var last model.Event
				result, err := install.New(p, install.WithEvents(func(e model.Event) { last = e })).Run(ctx, p.desired)
				if model.CodeOf(err) != model.CodeTimeout || result.ExitCode != 8 || last.State != "timed-out" || model.NextOf(err) == "" {
					t.Errorf("Run: %v (code %d), last %+v", err, model.CodeOf(err), last)
				}
			})
		})
	}
}

func TestDetachLeavesWhenThereIsOnlyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{world: newWorld(&model.Desired{Spec: sample(1, 0)}), still: true}
		result, err := install.New(p).Detach(t.Context(), p.desired)
		if err != nil || len(result.Plan.Waits) == 0 || len(p.observed.InfraEnvs) != 1 {
			t.Errorf("Detach: %v, waits %v, InfraEnvs %v", err, result.Plan.Waits, p.observed.InfraEnvs)
		}
	})
}

func TestOptionalWorkersDoNotHoldTheOthers(t *testing.T) {
	c := sample(3, 2)
	one := 1
	c.Spec.Topology.Required = spec.Required{Workers: &one, Within: spec.Duration(30 * time.Minute)}
	w := newWorld(&model.Desired{Spec: c})
	started := time.Time{}
	for range 60 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		w.pass()
		// The last worker never comes.
		w.observed.Hosts = slices.DeleteFunc(w.observed.Hosts, func(h model.Host) bool { return h.ID == "host-worker-1" })
		cluster := w.observed.Cluster
		if cluster != nil && cluster.State == model.ClusterDiscovering && len(w.observed.Hosts) == 4 && w.observed.Hosts[3].State == model.HostReady {
			cluster.State = model.ClusterReady
		}
		if cluster != nil && started.IsZero() {
			started = cluster.InstallStarted
		}
	}
	plan := w.decide()
	if plan.Verdict != model.VerdictInstalled || !slices.Equal(plan.Missing, []string{"worker-1"}) {
		t.Errorf("verdict %s (%s), missing %v", plan.Verdict, plan.Message, plan.Missing)
	}
	if waited := started.Sub(start); waited < 30*time.Minute {
		t.Errorf("the install was started after %s, without waiting for the other worker", waited)
	}
}
