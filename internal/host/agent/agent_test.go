//go:build linux

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const second = time.Second

// TestRefusedRegistration asks again every five minutes and says what a person has to do.
func TestRefusedRegistration(t *testing.T) {
	for status, advice := range map[int]string{
		401: "newly downloaded discovery image", 403: "may not register", 404: "does not exist", 409: "reset the cluster",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &fakeService{register: func(n int) (*models.HostRegistrationResponse, error) {
				if n < 3 {
					return nil, answered(status)
				}
				return response(ownImage), nil
			}}
			r := newRig(t, s)
			r.runFor(t, 11*time.Minute)
			check.Slice(t, s.registered, []time.Duration{0, 5 * time.Minute, 10 * time.Minute})
			check.Contains(t, r.log.String(), advice)
		})
	}
}

// TestRegistrationWithoutAnAnswer asks again soon, and less and less often.
func TestRegistrationWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{register: func(int) (*models.HostRegistrationResponse, error) { return nil, errors.New("no route to host") }}
		r := newRig(t, s)
		r.runFor(t, 150*second)
		check.Slice(t, s.registered, []time.Duration{0, 2 * second, 6 * second, 14 * second, 30 * second, 62 * second, 122 * second})
		check.Contains(t, r.log.String(), "since=1m2s")
	})
}

func TestIdentityIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &fakeService{})
		r.Identity = identity{errors.New("no serial")}
		check.Says(t, r.Run(t.Context()), "find out the id of this host: no serial")
	})
}

// TestPace asks every 3 seconds until the host is known, and then as often as the service wants.
func TestPace(t *testing.T) {
	inventory := func(int) (*models.Steps, error) { return wanted(60, models.StepTypeInventory), nil }
	nothing := func(int) (*models.Steps, error) { return wanted(60), nil }
	insufficient := models.HostStatusInsufficient
	for name, test := range map[string]struct {
		status  []string // at each question; the last stays
		err     error
		steps   func(int) (*models.Steps, error)
		for_    time.Duration
		asked   []time.Duration
		atLeast int
		hosts   int
	}{
		"known soon": {
			status: []string{"discovering", insufficient, "known", insufficient}, steps: inventory, for_: 130 * second,
			asked: []time.Duration{0, 3 * second, 6 * second, 66 * second, 126 * second}, hosts: 3,
		},
		"insufficient for long": {status: []string{insufficient}, steps: inventory, for_: 20 * time.Minute, atLeast: 200},
		"installs": {
			status: []string{models.HostStatusInstalling}, steps: nothing, for_: 70 * second, asked: []time.Duration{0, 60 * second}, hosts: 1,
		},
		"status is for users only": {err: answered(http.StatusForbidden), steps: inventory, for_: 10 * time.Minute, atLeast: 60, hosts: 1},
		"status is for users only, and the host installs": {
			err: answered(http.StatusUnauthorized), steps: nothing, for_: 70 * second, asked: []time.Duration{0, 60 * second}, hosts: 1,
		},
		"status without an answer": {
			err: errors.New("reset"), steps: inventory, for_: 70 * second, asked: []time.Duration{0, 60 * second}, hosts: 2,
		},
		"the service wants it quick": {
			status: []string{insufficient}, for_: 5 * second, asked: []time.Duration{0, 2 * second, 4 * second},
			steps: func(int) (*models.Steps, error) { return wanted(2), nil },
		},
		"the service does not say": {
			status: []string{"known"}, for_: 70 * second, asked: []time.Duration{0, 60 * second}, hosts: 1,
			steps: func(int) (*models.Steps, error) { return &models.Steps{}, nil },
		},
		"the service wants a day": {
			status: []string{"known"}, for_: 61 * time.Minute, asked: []time.Duration{0, time.Hour}, hosts: 1,
			steps: func(int) (*models.Steps, error) { return wanted(86400), nil },
		},
		"nonsense": {
			status: []string{"known"}, for_: 70 * second, asked: []time.Duration{0, 60 * second}, hosts: 1,
			steps: func(int) (*models.Steps, error) { return wanted(-1 << 60), nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeService{instructions: test.steps}
				n := 0
				s.status = func() (string, error) {
					if test.err != nil {
						return "", test.err
					}
					status := test.status[min(n, len(test.status)-1)]
					n++
					return status, nil
				}
				r := newRig(t, s)
				r.Executors[models.StepTypeInventory] = does(func(context.Context, []string) Reply { return Reply{Output: "{}"} })
				r.runFor(t, test.for_)
				if test.asked != nil {
					check.Slice(t, s.asked, test.asked)
				}
				if len(s.asked) < test.atLeast || test.atLeast > 0 && len(s.asked) > test.atLeast+15 {
					t.Errorf("asked %d times, want about %d", len(s.asked), test.atLeast)
				}
				if test.hosts > 0 {
					check.Equal(t, s.hosts, test.hosts)
				}
			})
		})
	}
}

// TestServiceAway says that the service is away for an hour, goes on, and sends everything again.
func TestServiceAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &fakeService{instructions: func(int) (*models.Steps, error) {
			if d := time.Since(began); d > 90*second && d < 62*time.Minute {
				return nil, answered(http.StatusServiceUnavailable)
			}
			return wanted(60, models.StepTypeInventory), nil
		}}
		r := newRig(t, s)
		r.Executors[models.StepTypeInventory] = does(func(context.Context, []string) Reply { return Reply{Output: "{}"} })
		r.runFor(t, 70*time.Minute)
		check.Equal(t, len(s.registered), 1)
		check.Equal(t, len(s.replies), 2) // the second after the service came back
		check.Contains(t, r.log.String(), "gives steps again")
		check.Contains(t, r.log.String(), "since=59m")
		// Not more often than once a minute, after the first ones.
		if n := len(s.asked); n > 80 {
			t.Errorf("asked %d times", n)
		}
	})
}

// TestReRegistration registers again when the service asks for it, or forgot the host.
func TestReRegistration(t *testing.T) {
	for name, second := range map[string]func() (*models.Steps, error){
		"exit":      func() (*models.Steps, error) { return leave(), nil },
		"not found": func() (*models.Steps, error) { return nil, answered(http.StatusNotFound) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeService{}
				s.instructions = func(n int) (*models.Steps, error) {
					if n == 2 {
						return second()
					}
					return wanted(60), nil
				}
				r := newRig(t, s)
				r.runFor(t, 90*time.Second)
				check.Equal(t, len(s.registered), 2)
				check.Equal(t, len(s.asked), 3)
			})
		})
	}
}

// TestReRegistrationIsPaced: a service that wants it again and again does not keep the machine busy.
func TestReRegistrationIsPaced(t *testing.T) {
	const other = "quay.io/edge-infrastructure/assisted-installer-agent:v2.40"
	for name, image := range map[string]string{"exit": ownImage, "an image that ends": other} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeService{instructions: func(int) (*models.Steps, error) { return leave(), nil }}
				s.register = func(n int) (*models.HostRegistrationResponse, error) {
					if n > 1000 {
						return nil, errors.New("too often")
					}
					return response(image), nil
				}
				newRig(t, s).runFor(t, 59*second)
				check.Equal(t, len(s.registered), 30)
			})
		})
	}
}

func TestNextStepRunnerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &fakeService{instructions: func(int) (*models.Steps, error) { return leave(), nil }})
		r.Options.HostID = hostID
		must.Do(t, r.RunSteps(t.Context()))
		check.Equal(t, len(r.service.registered), 0)
		r.Options.HostID = ""
		err := r.RunSteps(t.Context())
		check.Says(t, err, "--host-id is missing")
		check.Equal(t, ExitCode(err), 2)
	})
}

// TestAnotherAgent runs the image that the service names, if it is not this one.
func TestAnotherAgent(t *testing.T) {
	const other = "quay.io/edge-infrastructure/assisted-installer-agent:v2.40"
	other2 := func(n int) (*models.HostRegistrationResponse, error) {
		if n == 1 {
			return response(other), nil
		}
		return response(ownImage), nil
	}
	want := must.Get(os.ReadFile("testdata/next-step-runner.argv"))(t)
	t.Run("podman", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &fakeService{register: other2}
			r := newRig(t, s)
			r.runFor(t, 10*second)
			check.Slice(t, r.runner.Commands(), []string{"podman rm -i next-step-runner", strings.TrimSpace(string(want))})
			check.Equal(t, len(s.registered), 2)
			check.Equal(t, len(s.asked), 1)
		})
	})
	t.Run("fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &fakeService{register: other2}
			r := newRig(t, s)
			r.runner.Reply = func(c machine.Command) (machine.Result, error) {
				if c.Args[0] == "run" {
					check.Slice(t, c.Env, []string{"PULL_SECRET_TOKEN=" + token})
				}
				return machine.Result{Code: 1, Stderr: []byte("no such image")}, nil
			}
			r.runFor(t, 6*time.Minute)
			check.Slice(t, s.registered, []time.Duration{0, crashPause})
			check.Contains(t, r.log.String(), "no such image")
			if strings.Contains(r.log.String(), token) {
				t.Error("the token is in the log")
			}
		})
	})
	t.Run("no podman", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &fakeService{register: other2}
			r := newRig(t, s)
			r.runner.Absent = []string{"podman"}
			r.runFor(t, 10*second)
			check.Equal(t, len(r.runner.Commands()), 0)
			check.Equal(t, len(s.asked), 1)
			check.Contains(t, r.log.String(), "this machine has none")
		})
	})
	t.Run("malformed or missing", func(t *testing.T) {
		for _, answer := range []*models.HostRegistrationResponse{
			{},
			{NextStepRunnerCommand: &models.HostRegistrationResponseAO1NextStepRunnerCommand{}},
			{NextStepRunnerCommand: &models.HostRegistrationResponseAO1NextStepRunnerCommand{Args: []string{"; reboot"}}},
			response("--privileged"),
			response("a\nb"),
		} {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeService{register: func(int) (*models.HostRegistrationResponse, error) { return answer, nil }}
				r := newRig(t, s)
				r.runFor(t, 10*second)
				check.Equal(t, len(r.runner.Commands()), 0)
				check.Equal(t, len(s.asked), 1)
			})
		}
	})
}

// TestReplies holds what is sent against what the original agent sends.
func TestReplies(t *testing.T) {
	for name, test := range map[string]struct {
		does Executor
		want string
	}{
		"output":          {does(func(context.Context, []string) Reply { return Reply{Output: `{"a":1}`} }), `{"output":"{\"a\":1}","step_id":"inventory-1","step_type":"inventory"}`},
		"nothing":         {does(func(context.Context, []string) Reply { return Reply{} }), `{"step_id":"inventory-1","step_type":"inventory"}`},
		"warning":         {does(func(context.Context, []string) Reply { return Reply{Error: "WARN"} }), `{"error":"WARN","step_id":"inventory-1","step_type":"inventory"}`},
		"failure":         {does(func(context.Context, []string) Reply { return Reply{ExitCode: 3, Error: "x"} }), `{"error":"x","exit_code":3,"step_id":"inventory-1","step_type":"inventory"}`},
		"unknown type":    {nil, `{"error":"failed to find action for step type inventory","exit_code":-1,"step_id":"inventory-1","step_type":"inventory"}`},
		"mistake of ours": {does(func(context.Context, []string) Reply { panic("index") }), `{"error":"the step failed by a mistake in oaictl-host: index","exit_code":-1,"step_id":"inventory-1","step_type":"inventory"}`},
		"no UTF-8":        {does(func(context.Context, []string) Reply { return Reply{Output: "a\xffb"} }), `{"output":"a` + "\ufffd" + `b","step_id":"inventory-1","step_type":"inventory"}`},
		"too long": {
			does(func(context.Context, []string) Reply { return Reply{Output: strings.Repeat("x", longestOutput+1)} }),
			`{"error":"the output has 8388609 bytes, and at most 8388608 are sent\n","exit_code":-1,"step_id":"inventory-1","step_type":"inventory"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeService{instructions: func(int) (*models.Steps, error) { return wanted(60, models.StepTypeInventory), nil }}
				r := newRig(t, s)
				if test.does != nil {
					r.Executors[models.StepTypeInventory] = test.does
				}
				r.runFor(t, 10*second)
				check.Equal(t, len(s.replies), 1)
				check.Equal(t, string(must.Get(json.Marshal(s.replies[0]))(t)), test.want)
			})
		})
	}
}

// TestSameOutput is sent again after an hour, and a failure each time.
func TestSameOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{instructions: func(int) (*models.Steps, error) {
			return wanted(60, models.StepTypeNtpSynchronizer, models.StepTypeVerifyVips), nil
		}}
		r := newRig(t, s)
		r.Executors[models.StepTypeNtpSynchronizer] = does(func(context.Context, []string) Reply { return Reply{Output: "{}"} })
		r.Executors[models.StepTypeVerifyVips] = does(func(context.Context, []string) Reply { return Reply{ExitCode: 1, Error: "x"} })
		r.runFor(t, 119*time.Minute+30*second)
		check.Equal(t, count(s.replies, models.StepTypeNtpSynchronizer), 2)
		check.Equal(t, count(s.replies, models.StepTypeVerifyVips), 120)
	})
}

// TestUnsentReply is sent when the step runs again.
func TestUnsentReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{instructions: func(int) (*models.Steps, error) { return wanted(60, models.StepTypeNtpSynchronizer), nil }}
		s.reply = func(*models.StepReply) error {
			if len(s.replies) == 1 {
				return answered(http.StatusBadGateway)
			}
			return nil
		}
		r := newRig(t, s)
		r.Executors[models.StepTypeNtpSynchronizer] = does(func(context.Context, []string) Reply { return Reply{Output: "{}"} })
		r.runFor(t, 10*time.Minute)
		check.Equal(t, len(s.replies), 2)
		check.Contains(t, r.log.String(), "was not sent")
	})
}

func count(replies []models.StepReply, kind models.StepType) int {
	n := 0
	for _, reply := range replies {
		if reply.StepType == kind {
			n++
		}
	}
	return n
}

// TestOneOfATypeAtOnce does not start a step whose twin runs, and starts the latest of those with other arguments.
func TestOneOfATypeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		var seen []string
		s := &fakeService{instructions: func(n int) (*models.Steps, error) {
			steps := wanted(60, models.StepTypeConnectivityCheck, models.StepTypeNtpSynchronizer)
			steps.Instructions[0].Args = []string{fmt.Sprint(max(n, 2))} // twice the same first
			if n > 5 {
				return wanted(60), nil
			}
			return steps, nil
		}}
		r := newRig(t, s)
		r.Executors[models.StepTypeConnectivityCheck] = does(func(ctx context.Context, args []string) Reply {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			seen = append(seen, args[0])
			_ = r.Clock.Sleep(ctx, 6*time.Minute)
			return Reply{Output: args[0]}
		})
		r.Executors[models.StepTypeNtpSynchronizer] = does(func(context.Context, []string) Reply { return Reply{Output: "{}"} })
		r.runFor(t, 20*time.Minute)
		check.Equal(t, most.Load(), 1)
		check.Slice(t, seen, []string{"2", "5"})
		check.Equal(t, count(s.replies, models.StepTypeNtpSynchronizer), 1) // it did not wait for the other
	})
}

// TestSettledStepsWaitForTheInterval does not scan the network every three seconds while a host becomes ready.
func TestSettledStepsWaitForTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scans, checks := 0, 0
		s := &fakeService{
			instructions: func(int) (*models.Steps, error) {
				return wanted(60, models.StepTypeFreeNetworkAddresses, models.StepTypeNtpSynchronizer), nil
			},
			status: func() (string, error) { return models.HostStatusInsufficient, nil },
		}
		r := newRig(t, s)
		r.Executors[models.StepTypeFreeNetworkAddresses] = does(func(context.Context, []string) Reply { scans++; return Reply{Output: "[]"} })
		r.Executors[models.StepTypeNtpSynchronizer] = does(func(context.Context, []string) Reply { checks++; return Reply{Output: "{}"} })
		r.runFor(t, 118*second)
		check.Equal(t, scans, 2)
		check.Equal(t, checks, 40)
	})
}

// TestHostileSteps survive: no step, many steps, types that are none.
func TestHostileSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{instructions: func(int) (*models.Steps, error) {
			steps := wanted(60)
			steps.Instructions = append(steps.Instructions, nil, &models.Step{StepID: "\x1b[31m", StepType: "execute"}, &models.Step{})
			for range 1000 {
				steps.Instructions = append(steps.Instructions, &models.Step{StepType: models.StepType(strings.Repeat("x", 500) + "\n")})
			}
			return steps, nil
		}}
		r := newRig(t, s)
		r.runFor(t, 10*second)
		check.Equal(t, len(s.replies), 3)
		for _, reply := range s.replies {
			check.Equal(t, reply.ExitCode, -1)
		}
		if strings.Contains(r.log.String(), "\x1b") {
			t.Error("the log has an escape character")
		}
	})
}

// TestManySteps: steps that do not end, of ever new types, do not fill the machine's memory.
func TestManySteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		hang := does(func(ctx context.Context, _ []string) Reply {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-ctx.Done()
			return Reply{}
		})
		kind := func(n int) models.StepType { return models.StepType(fmt.Sprint("new", n)) }
		r := newRig(t, &fakeService{instructions: func(n int) (*models.Steps, error) {
			return wanted(1, append(slices.Repeat([]models.StepType{models.StepTypeInstall}, 30), kind(n))...), nil
		}})
		for n := range 100 {
			r.Executors[kind(n)] = hang
		}
		r.Executors[models.StepTypeInstall] = hang
		r.runFor(t, time.Minute)
		check.Equal(t, most.Load(), int64(mostSteps))
		check.Contains(t, r.log.String(), "too many steps run")
	})
}

// TestLogOfSteps is short and has no secrets.
func TestLogOfSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{instructions: func(int) (*models.Steps, error) {
			steps := wanted(60, models.StepTypeInstall)
			steps.Instructions[0].StepID = strings.Repeat("x", 1<<20)
			return steps, nil
		}}
		r := newRig(t, s)
		r.Executors[models.StepTypeInstall] = does(func(context.Context, []string) Reply {
			return Reply{ExitCode: 1, Error: "cannot reach http://user:hunter2@proxy.example.com:3128"}
		})
		r.runFor(t, 10*second)
		if log := r.log.String(); len(log) > 10_000 || strings.Contains(log, "hunter2") {
			t.Errorf("the log has %d bytes: %.1000s", len(log), log)
		}
		check.Equal(t, len(s.replies[0].StepID), 1<<20)
	})
}

// TestHangingStep ends at its limit.
func TestHangingStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{instructions: func(n int) (*models.Steps, error) { return wanted(60, models.StepTypeTangConnectivityCheck), nil }}
		r := newRig(t, s)
		r.Executors[models.StepTypeTangConnectivityCheck] = does(func(ctx context.Context, _ []string) Reply {
			<-ctx.Done()
			return Reply{ExitCode: 1, Error: context.Cause(ctx).Error()}
		})
		r.runFor(t, 45*time.Minute)
		check.Equal(t, len(s.replies), 1)
		check.Equal(t, s.replies[0].Error, "the step took longer than 30m0s")
	})
}

// TestUpgrade registers again after another agent's image was pulled.
func TestUpgrade(t *testing.T) {
	const other = "quay.io/edge-infrastructure/assisted-installer-agent:v2.40"
	for name, test := range map[string]struct {
		code       int
		absent     []string
		output     string
		registered int
	}{
		"pulled":     {0, nil, `{"agent_image":"` + other + `","result":"success"}`, 2},
		"not pulled": {1, nil, `{"agent_image":"` + other + `","result":"failure"}`, 1},
		"no podman":  {0, []string{"podman"}, `{"agent_image":"` + other + `","result":"failure"}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeService{instructions: func(n int) (*models.Steps, error) {
					steps := wanted(60, models.StepTypeUpgradeAgent)
					steps.Instructions[0].Args = []string{`{"agent_image":"` + other + `"}`}
					if n > 1 {
						return wanted(60), nil
					}
					return steps, nil
				}}
				r := newRig(t, s)
				r.runner.Absent = test.absent
				r.runner.Reply = func(machine.Command) (machine.Result, error) { return machine.Result{Code: test.code}, nil }
				r.Executors[models.StepTypeUpgradeAgent] = &Upgrade{Runner: r.runner, Log: r.Log}
				r.runFor(t, 10*second)
				check.Equal(t, len(s.replies), 1)
				check.Equal(t, s.replies[0].Output, test.output)
				check.Equal(t, s.replies[0].ExitCode, 0)
				check.Equal(t, len(s.registered), test.registered)
				if test.absent == nil {
					check.Slice(t, r.runner.Commands(), []string{"podman pull " + other})
				}
			})
		})
	}
}

// TestMedia does not run a step when the installation medium is gone, and names that as the cause of a failure.
func TestMedia(t *testing.T) {
	const mounted = "36 25 11:0 / /run/media/iso ro,relatime shared:9 - iso9660 /dev/sr0 ro,nojoliet\n"
	for name, test := range map[string]struct {
		mounts string
		gone   bool // from the beginning
		lost   bool // while the step runs
		step   Reply
		want   int64
		ran    bool
	}{
		"there":                   {mounts: mounted, ran: true},
		"gone":                    {mounts: mounted, gone: true, want: mediaLost},
		"lost while a step fails": {mounts: mounted, lost: true, step: Reply{ExitCode: 5, Error: "x"}, want: mediaLost, ran: true},
		"a step fails":            {mounts: mounted, step: Reply{ExitCode: 5, Error: "x"}, want: 5, ran: true},
		"not mounted":             {mounts: "25 1 0:23 / /run rw - tmpfs tmpfs rw\n", gone: true, ran: true},
		"no device":               {mounts: "36 25 0:40 / /run/media/iso ro - cifs //server/share ro\n", gone: true, ran: true},
		"hidden by another":       {mounts: mounted + "37 25 0:41 / /run/media/iso ro - tmpfs none ro\n", gone: true, ran: true},
		"nothing":                 {mounts: "\n", gone: true, ran: true},
		"no mounts are known":     {gone: true, ran: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeService{instructions: func(int) (*models.Steps, error) {
					return wanted(60, models.StepTypeInventory, models.StepTypeVerifyVips), nil
				}}
				r := newRig(t, s)
				must.Do(t, r.Files.MakeFolder(mediaFolder, 0o755))
				if !test.gone {
					must.Do(t, r.Files.Write("/dev/sr0", []byte("CD001"), 0o644))
				}
				if test.mounts != "" {
					must.Do(t, r.Files.Write(mountsFile, []byte(test.mounts), 0o644))
				}
				ran := false
				r.Executors[models.StepTypeInventory] = does(func(context.Context, []string) Reply {
					ran = true
					if test.lost {
						must.Do(t, r.Files.Remove("/dev/sr0"))
					}
					return test.step
				})
				r.Executors[models.StepTypeVerifyVips] = does(func(context.Context, []string) Reply { return Reply{} })
				r.runFor(t, 10*second)
				i := slices.IndexFunc(s.replies, func(reply models.StepReply) bool { return reply.StepType == models.StepTypeInventory })
				check.Equal(t, s.replies[i].ExitCode, test.want)
				check.Equal(t, ran, test.ran)
			})
		})
	}
}

func TestDryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{instructions: func(int) (*models.Steps, error) { return wanted(60, models.StepTypeInstall), nil }}
		r := newRig(t, s)
		r.Identity = identity{errors.New("not asked")}
		r.Options.Dry = Dry{Enabled: true, HostID: hostID, RebootMarker: "/tmp/rebooted"}
		must.Do(t, r.Files.MakeFolder(mediaFolder, 0o755)) // a dry run does not look at it
		r.Executors[models.StepTypeInstall] = does(func(context.Context, []string) Reply {
			must.Do(t, r.Files.Write("/tmp/rebooted", nil, 0o600))
			return Reply{}
		})
		must.Do(t, r.Run(t.Context()))
		check.Equal(t, len(r.runner.Commands()), 0)
		if passed := time.Since(s.began); passed > 5*second {
			t.Errorf("it took %s", passed)
		}
	})
}

// jumping is a clock that jumps ahead while it sleeps.
type jumping struct {
	now   time.Time
	jumps time.Duration
}

func (j *jumping) Now() time.Time { return j.now }
func (j *jumping) Sleep(ctx context.Context, d time.Duration) error {
	j.now = j.now.Add(d + j.jumps)
	return context.Cause(ctx)
}
func (j *jumping) Wall(d time.Duration) time.Duration { return d }

func TestClockJumps(t *testing.T) {
	for jump, said := range map[time.Duration]bool{0: false, second: false, time.Hour: true, -time.Hour: true} {
		r := newRig(t, &fakeService{})
		r.Clock = &jumping{now: time.Unix(1795894918, 0), jumps: jump}
		must.Do(t, r.sleep(t.Context(), time.Minute))
		check.Equal(t, strings.Contains(r.log.String(), "jumped"), said, jump)
	}
}

// program is a tool that prints its arguments.
type program struct{}

func (program) Execute(_ context.Context, args []string) (exitCode int, stdout, stderr string) {
	return len(args), strings.Join(args, " "), "said"
}

func TestTool(t *testing.T) {
	check.Equal(t, Of(program{}).Execute(t.Context(), []string{"a", "b"}), Reply{ExitCode: 2, Output: "a b", Error: "said"})
}
