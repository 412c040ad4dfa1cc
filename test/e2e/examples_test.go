//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/test/fixture"
)

// processSpeed is how much faster than life service and machines run in
// processes of their own, which wait for each other and for a processor.
const processSpeed = 300 / slower

// TestInThreeProcesses installs with three processes: the service, its machines and
// oaictl. A second run writes nothing. What else there is to install, and how, test/real
// tries within one.
func TestInThreeProcesses(t *testing.T) {
	binary := build(t)
	for _, example := range []string{"sno", "static-network", "disconnected"} {
		file := filepath.Join("..", "..", "examples", example, "cluster.yaml")
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			address := serve(t, binary)
			start(t, binary, "simulator", "hosts", "--service-url", address, "-f", file, "--speed", fmt.Sprint(processSpeed))
			w := newWire(t, address)
			dir := t.TempDir()
			for run := range 2 {
				if output, err := createCluster(t.Context(), binary, w.URL, file, dir).CombinedOutput(); err != nil {
					t.Fatalf("run %d: %v\n%s", run+1, err, output)
				}
				if run == 0 {
					once(t, address, w.noted())
					w.reset()
				}
			}
			if writes := writesOf(w.noted()); len(writes) > 0 {
				t.Errorf("the second run writes: %v", writes)
			}
			results(t, dir)
		})
	}
}

// results checks the files that an install leaves: theirs alone.
func results(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"auth/kubeconfig-noingress", "auth/kubeconfig", "auth/kubeadmin-password", "oaictl.log"} {
		matches, err := filepath.Glob(filepath.Join(dir, "*", name))
		if err != nil || len(matches) != 1 {
			t.Errorf("%s: found %v (%v)", name, matches, err)
			continue
		}
		info, err := os.Stat(matches[0])
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// serve starts a service in a process of its own.
func serve(t *testing.T, binary string, more ...string) (address string) {
	t.Helper()
	address = "http://" + fixture.Address(t)
	arguments := append([]string{"simulator", "serve", "--listen", address[len("http://"):], "--speed", fmt.Sprint(processSpeed)}, more...)
	start(t, binary, arguments...)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		response, err := http.Get(address + "/ready")
		if err == nil {
			_ = response.Body.Close()
			return address
		}
		if time.Now().After(deadline) {
			t.Fatalf("the simulated service does not come up: %v", err)
		}
	}
}

// start starts a process that ends with the test.
func start(t *testing.T, binary string, arguments ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, binary, arguments...)
	log := must.Get(os.Create(filepath.Join(t.TempDir(), "log")))(t)
	command.Stdout, command.Stderr = log, log
	must.Do(t, command.Start())
	t.Cleanup(func() {
		cancel()
		_ = command.Wait()
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%v:\n%s", arguments, text)
		}
	})
}
