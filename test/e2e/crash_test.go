//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// crashSpeed is how much faster than life the service and its machines run
// while oaictl, a real process, runs in real time.
const crashSpeed = 1000 / slower

// TestKilledAtEveryWrite kills a real oaictl before and after every write it
// makes to the service. The next run finishes the install, and there is one
// cluster, one InfraEnv and one install.
func TestKilledAtEveryWrite(t *testing.T) {
	binary := build(t)
	for _, example := range []string{"sno", "compact"} {
		writes := writesToInstall(t, binary, example)
		if writes < 3 { // cluster, InfraEnv, install
			t.Errorf("%s is installed with %d writes only", example, writes)
		}
		for n := range writes {
			for _, when := range []string{"before", "after"} {
				t.Run(fmt.Sprintf("%s %s write %d", example, when, n), func(t *testing.T) {
					t.Parallel()
					killedAt(t, binary, example, n, when)
				})
			}
		}
	}
}

// writesToInstall is how many writes an install takes that is not killed. A write that was repeated, such as an install
// call after its preparation failed on a busy machine, does not count: not every run makes it.
func writesToInstall(t *testing.T, binary, example string) int {
	t.Helper()
	address, file := simulate(t, example, crashSpeed)
	w := newWire(t, address)
	if output, err := createCluster(t.Context(), binary, w.URL, file, t.TempDir()).CombinedOutput(); err != nil {
		t.Fatalf("oaictl, which nobody killed: %v\n%s", err, output)
	}
	once(t, address, w.noted())
	different := map[string]bool{}
	for _, c := range writesOf(w.noted()) {
		different[c.method+" "+c.path] = true
	}
	return len(different)
}

// killedAt kills oaictl at its n-th write and runs it again.
func killedAt(t *testing.T, binary, example string, n int, when string) {
	t.Helper()
	address, file := simulate(t, example, crashSpeed)
	w := newWire(t, address)
	dir := t.TempDir()

	kill(t, w, createCluster(t.Context(), binary, w.URL, file, dir), n, when)
	if output, err := createCluster(t.Context(), binary, w.URL, file, dir).CombinedOutput(); err != nil {
		t.Fatalf("the run after the kill: %v\n%s", err, output)
	}
	once(t, address, w.noted())
}

// kill runs a command that is killed at its n-th write over a wire.
func kill(t *testing.T, w *wire, first *exec.Cmd, n int, when string) {
	t.Helper()
	started, killed, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	shoot := func(at int, r *http.Request) bool {
		if at != n || !w.counted(r) {
			return false
		}
		close(killed)
		<-started
		_ = first.Process.Kill()
		<-gone
		return true
	}
	w.mu.Lock()
	if when == "before" {
		w.before = func(at int, _ http.ResponseWriter, r *http.Request) bool { return shoot(at, r) } // it never left
	} else {
		w.after = func(at int, r *http.Request) { shoot(at, r) }
	}
	w.mu.Unlock()
	var output bytes.Buffer
	first.Stdout, first.Stderr = &output, &output
	err := first.Start()
	close(started)
	if err == nil {
		err = first.Wait()
	}
	close(gone)
	select {
	case <-killed:
	default:
		t.Fatalf("there was no write %d to kill oaictl at (%v):\n%s", n, err, &output)
	}

	w.mu.Lock()
	w.before, w.after = nil, nil
	w.mu.Unlock()
}

// once checks that a service has one cluster, installed once, and one InfraEnv.
func once(t *testing.T, address string, calls []call) {
	t.Helper()
	if clusters := list(t, address, "/v2/clusters"); len(clusters) != 1 || clusters[0]["status"] != "installed" {
		t.Errorf("%d clusters: %v", len(clusters), clusters)
	}
	if environments := list(t, address, "/v2/infra-envs"); len(environments) != 1 {
		t.Errorf("%d InfraEnvs", len(environments))
	}
	installs := 0
	for _, c := range calls {
		if strings.HasSuffix(c.path, "/actions/install") && c.status == http.StatusAccepted {
			installs++
		}
	}
	if installs != 1 {
		t.Errorf("%d install calls were accepted: %v", installs, writesOf(calls))
	}
}

// simulate runs a service and the machines of an example, and returns the
// service's address and the example's file.
func simulate(t *testing.T, example string, speed float64) (address, file string) {
	t.Helper()
	file = filepath.Join("..", "..", "examples", example, "cluster.yaml")
	return simulateFile(t, file, speed).URL(), file
}

// simulateFile runs a service and the machines of a file.
func simulateFile(t *testing.T, file string, speed float64) *simulator.Simulator {
	t.Helper()
	cluster := must.Get(spec.Load(t.Context(), file, spec.OSEnv()))(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := must.Get(simulator.Start(ctx, simulator.Config{Clock: clock.Scaled(speed), Seed: 1, Cluster: cluster}))(t)
	t.Cleanup(func() {
		cancel()
		check.Do(t, s.Close(), "the simulator")
	})
	return s
}

func createCluster(ctx context.Context, binary, address, file, dir string) *exec.Cmd {
	command := exec.CommandContext(ctx, binary, "create", "cluster", "-f", file, "--service-url", address, "--dir", dir,
		"--poll-interval", "50ms", "--progress", "plain", "--timeout", "5m")
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, ".cache"))
	command.WaitDelay = 10 * time.Second
	return command
}
