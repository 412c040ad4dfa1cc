package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// crashSpeed is how much faster than life the service and its machines run
// while oaictl, a real process, runs in real time.
const crashSpeed = 1500

// TestKilledAtEveryWrite kills a real oaictl before and after every write it
// makes to the service. The next run finishes the install, and there is one
// cluster, one InfraEnv and one install.
func TestKilledAtEveryWrite(t *testing.T) {
	binary := build(t)
	for _, example := range []string{"sno", "compact"} {
		for n, more := 0, true; more; n++ {
			for _, when := range []string{"before", "after"} {
				t.Run(fmt.Sprintf("%s/%s write %d", example, when, n), func(t *testing.T) {
					more = killedAt(t, binary, example, n, when)
				})
				if t.Failed() {
					return
				}
			}
		}
	}
}

// killedAt kills oaictl at its n-th write and runs it again. It reports
// whether there was such a write.
func killedAt(t *testing.T, binary, example string, n int, when string) bool {
	address, file := simulate(t, example, crashSpeed)
	w := newWire(t, address)
	dir := t.TempDir()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()

	first := createCluster(ctx, binary, w.URL, file, dir)
	killed := make(chan struct{})
	shoot := func(at int, r *http.Request) {
		if at != n || !(call{method: r.Method}).writes() {
			return
		}
		_ = first.Process.Kill()
		_, _ = first.Process.Wait()
		close(killed)
	}
	if when == "before" {
		w.before = func(at int, _ http.ResponseWriter, r *http.Request) bool {
			shoot(at, r)
			select {
			case <-killed:
				return true // the request never left
			default:
				return false
			}
		}
	} else {
		w.after = shoot
	}
	output, err := first.CombinedOutput()
	select {
	case <-killed:
	default:
		if err != nil {
			t.Fatalf("oaictl, which nobody killed: %v\n%s", err, output)
		}
		return false
	}

	w.mu.Lock()
	w.before, w.after = nil, nil
	w.mu.Unlock()
	if output, err := createCluster(t.Context(), binary, w.URL, file, dir).CombinedOutput(); err != nil {
		t.Fatalf("the run after the kill: %v\n%s", err, output)
	}
	once(t, address, w.noted())
	return true
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
	cluster, err := spec.Load(t.Context(), file, spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := simulator.Start(ctx, simulator.Config{Clock: clock.Scaled(speed), Seed: 1, Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := s.Close(); err != nil {
			t.Errorf("the simulator: %v", err)
		}
	})
	return s.URL(), file
}

func createCluster(ctx context.Context, binary, address, file, dir string) *exec.Cmd {
	command := exec.CommandContext(ctx, binary, "create", "cluster", "-f", file, "--service-url", address, "--dir", dir,
		"--poll-interval", "50ms", "--progress", "plain", "--timeout", "2m")
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
	command.WaitDelay = 10 * time.Second
	return command
}

// build builds oaictl.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "oaictl")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/oaictl").CombinedOutput(); err != nil {
		t.Fatalf("build oaictl: %v\n%s", err, output)
	}
	return binary
}
