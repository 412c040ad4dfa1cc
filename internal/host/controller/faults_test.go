//go:build linux

package controller

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hosttest"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestExitCodes: what ends the Job, and what has it start again.
func TestExitCodes(t *testing.T) {
	since := func(w *world, after time.Duration, err error) func(context.Context, string) error {
		return func(_ context.Context, call string) error {
			if call == "Cluster" && time.Since(w.boot) >= after {
				return err
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		arrange func(*world)
		code    int
		within  time.Duration
		says    string
	}{
		"the cluster is gone": {func(w *world) { w.service.trouble = since(w, time.Minute, answered(404)) }, ExitDone, 2 * time.Minute, "does not have this cluster"},
		"the token is refused for good": {
			func(w *world) { w.service.trouble = since(w, time.Minute, answered(401)) }, ExitDone, 4 * time.Minute, "does not accept the token",
		},
		"the cluster was cancelled": {
			func(w *world) { later(90*time.Second, func() { w.service.setStatus(models.ClusterStatusCancelled) }) },
			ExitDone, 3 * time.Minute, "finished",
		},
		"hosts are being added": {
			func(w *world) { later(90*time.Second, func() { w.service.setStatus(models.ClusterStatusAddingHosts) }) },
			ExitDone, 3 * time.Minute, "finished",
		},
		"the service never answers": {
			func(w *world) { w.service.trouble = since(w, 0, answered(500)) }, ExitFailed, 71 * time.Minute, "did not come within 1h10m0s",
		},
		"the service hangs": {
			func(w *world) {
				w.service.trouble = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
			}, ExitFailed, 90 * time.Minute, "ask the service",
		},
		"proxies that cannot be read": {func(w *world) {
			w.api.Down = func(r hosttest.Request) int {
				if r.Resource == "proxies" {
					return http.StatusForbidden
				}
				return 0
			}
		}, ExitFailed, time.Second, "by which proxy the service is reached"},
		"no proxies yet": {func(w *world) {
			delete(w.api.Objects, hosttest.Key("config.openshift.io", "proxies", "", "cluster"))
			w.direct = true
			later(90*time.Second, func() { w.service.setStatus(models.ClusterStatusCancelled) })
		}, ExitDone, 3 * time.Minute, "finished"},
		"no id": {func(w *world) { delete(w.env, "CLUSTER_ID") }, ExitFailed, time.Second, "CLUSTER_ID is not set"},
		"odd values": {
			func(w *world) {
				w.env["CLUSTER_ID"], w.env["INVENTORY_URL"], w.env["CONTROL_PLANE_COUNT"], w.env["NOTIFY_NUM_REBOOTS"] = "x", "file:///", "many", "often"
			}, ExitFailed, time.Second, "NOTIFY_NUM_REBOOTS",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "m-1")
				c.arrange(w)
				check.Equal(t, w.run(t.Context()), c.code)
				check.Contains(t, w.text(), c.says)
				if took := time.Since(w.boot); took > c.within {
					t.Errorf("it took %s", took)
				}
				if logs := slices.ContainsFunc(w.changes(), func(c string) bool { return strings.HasPrefix(c, "UploadLogs") }); logs != (c.says == "finished") {
					t.Errorf("logs were uploaded: %t", logs)
				}
			})
		})
	}
}

// TestUnauthorizedForAWhile: two refusals of the token are no end if the third look is answered.
func TestUnauthorizedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1")
		compact(w)
		w.service.trouble = func(_ context.Context, call string) error {
			at := time.Since(w.boot)
			if call == "Cluster" && at > 50*time.Second && at < 130*time.Second {
				return answered(http.StatusUnauthorized)
			}
			return nil
		}
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Equal(t, w.service.status(), models.ClusterStatusInstalled)
	})
}

// TestLongWaitIsSaid: a wait that sees no change is logged every five minutes, with its limit.
func TestLongWaitIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1")
		w.service.trouble = func(context.Context, string) error { return answered(500) }
		check.Equal(t, w.run(t.Context()), ExitFailed)
		check.Contains(t, w.text(), "since=5m")
		check.Contains(t, w.text(), `"at most"=1h10m0s`)
		if said := strings.Count(w.text(), "still waiting"); said < 10 || said > 20 {
			t.Errorf("in 70 minutes the wait was logged %d times", said)
		}
	})
}

// TestStopped: a signal ends everything at once, and nothing is reported as failed.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1")
		w.node("m-1", "10.0.0.1", true)
		ctx, cancel := context.WithCancel(t.Context())
		later(2*time.Minute, cancel)
		check.Equal(t, w.run(ctx), ExitFailed)
		check.Equal(t, time.Since(w.boot), 2*time.Minute+odd)
		for _, call := range w.changes() {
			if strings.HasPrefix(call, "CompleteInstallation") || strings.Contains(call, "Logs") {
				t.Errorf("it called %s", call)
			}
		}
		check.Equal(t, w.service.status(), models.ClusterStatusFinalizing)
	})
}

// TestServiceErrors: errors now and then, of all kinds of calls, change nothing but the time.
func TestServiceErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1", "m-2", "m-3")
		compact(w)
		var mu sync.Mutex
		failed := map[string]int{}
		w.service.trouble = func(_ context.Context, call string) error {
			mu.Lock()
			defer mu.Unlock()
			if failed[call]++; failed[call] <= 2 && call != "Cluster" {
				return answered(500)
			}
			return nil
		}
		refused := map[hosttest.Request]int{}
		w.api.Down = func(r hosttest.Request) int {
			if r.Resource == "proxies" {
				return 0
			}
			if refused[r]++; refused[r] == 1 {
				return http.StatusServiceUnavailable
			}
			return 0
		}
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Equal(t, w.service.status(), models.ClusterStatusInstalled)
		check.Contains(t, strings.Join(w.changes(), "\n"), "CompleteInstallation true")
	})
}

// TestOperatorsNeverAvailable: after ten hours the installation is reported as failed, with the states of all operators and
// with must-gather.
func TestOperatorsNeverAvailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1")
		w.env["MUST_GATHER_IMAGE"] = `{"ocp":"quay.io/ocp/must-gather:4.19","lso":"quay.io/lso"}`
		w.node("m-1", "10.0.0.1", true)
		uploads := 0
		w.service.trouble = func(_ context.Context, call string) error {
			// The first upload of the summary fails: must-gather must not run again.
			if strings.HasPrefix(call, "UploadLogs") && w.service.status() == models.ClusterStatusError {
				if uploads++; uploads == 2 {
					return answered(500)
				}
			}
			return nil
		}
		w.runner.Reply = func(c machine.Command) (machine.Result, error) {
			check.Contains(t, strings.Join(c.Env, " "), "HOME="+w.temp)
			for _, arg := range c.Args {
				if folder, is := strings.CutPrefix(arg, "--dest-dir="); is {
					must.Do(t, os.MkdirAll(filepath.Join(folder, "cluster"), 0o700))
					must.Do(t, os.WriteFile(filepath.Join(folder, "cluster", "version"), []byte("4.19.3"), 0o600))
					must.Do(t, os.Symlink("/etc/passwd", filepath.Join(folder, "link")))
				}
				if file, is := strings.CutPrefix(arg, "--kubeconfig="); is {
					content := string(must.Get(os.ReadFile(file))(t))
					check.Contains(t, content, "secret-admin-key")
					check.Equal(t, strings.Contains(content, "command"), false, "a program in the kubeconfig for oc")
					check.Equal(t, must.Get(os.Stat(file))(t).Mode().Perm(), 0o600)
				}
			}
			return machine.Result{}, nil
		}
		check.Equal(t, w.run(t.Context()), ExitDone)
		calls := strings.Join(w.changes(), "\n")
		check.Contains(t, calls, "CompleteInstallation false Stopped waiting for cluster operators to be available: "+
			"the cluster operators to be available did not come within 10h0m0s: the operator console is failed: working on it 1")
		commands := w.runner.Commands()
		check.Equal(t, len(commands), 1)
		check.Contains(t, commands[0], "oc adm must-gather --kubeconfig="+w.temp)
		check.Contains(t, commands[0], "--image=quay.io/ocp/must-gather:4.19")
		last := w.service.archives[len(w.service.archives)-1]
		check.Equal(t, last[logsFile], "the log of the pod")
		if last[mustGatherFile] == "" {
			t.Error("no must-gather was uploaded")
		}
		left := must.Get(os.ReadDir(w.temp))(t)
		check.Equal(t, len(left), 0, "temporary files")
		w.text()
	})
}

// TestFailedWithoutTools: without oc, and without the log of the pod, the log in memory is uploaded.
func TestFailedWithoutTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1")
		w.runner.Absent = []string{"oc"}
		delete(w.api.Logs, "assisted-installer/controller-1")
		later(time.Minute, func() { w.service.setStatus(models.ClusterStatusError) })
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Equal(t, len(w.service.archives), 2)
		check.Contains(t, w.service.archives[0][logsFile], "assisted-installer-controller starts")
		check.Contains(t, w.text(), "there is no program oc in this image")
	})
}

// TestClusterEndsWhileFinalizing: the service gives up first, and is told why the controller did.
func TestClusterEndsWhileFinalizing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1")
		w.runner.Absent = []string{"oc"}
		w.node("m-1", "10.0.0.1", true)
		later(5*time.Minute, func() { w.service.setStatus(models.ClusterStatusError) })
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Contains(t, strings.Join(w.changes(), "\n"), "CompleteInstallation false Stopped waiting for cluster operators to be available: ")
	})
}

// TestPeriodicLogs: logs go to the service every five minutes.
func TestPeriodicLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1")
		later(16*time.Minute, func() { w.service.setStatus(models.ClusterStatusCancelled) })
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Equal(t, len(w.service.archives), 4)
	})
}
