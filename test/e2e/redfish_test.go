//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/test/fixture"
)

// redfish is an example whose machines boot through their BMCs, in processes of
// their own: the service, the machines with their BMCs, and oaictl.
type redfish struct {
	service, bmcs string // addresses
	media         string // where oaictl serves images
	file          string
}

// newRedfish starts service and machines.
func newRedfish(t *testing.T, binary, file string, more ...string) redfish {
	t.Helper()
	r := redfish{service: serve(t, binary), file: file}
	r.control(t, binary, more...)
	return r
}

// control starts the machines, whose BMCs answer at a proxy.
func (r *redfish) control(t *testing.T, binary string, more ...string) {
	t.Helper()
	r.media = fixture.Address(t)
	listen := fixture.Address(t)
	r.bmcs = "http://" + listen
	arguments := []string{"simulator", "hosts", "--service-url", r.service, "-f", r.file, "--speed", fmt.Sprint(processSpeed), "--bmc-listen", listen}
	start(t, binary, append(arguments, more...)...)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.Dial("tcp", listen)
		if err == nil {
			_ = connection.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the simulated BMCs do not come up: %v", err)
		}
	}
}

// create is `create cluster`, which speaks to the service at an address.
func (r *redfish) create(ctx context.Context, binary, address, dir string, more ...string) *exec.Cmd {
	command := createCluster(ctx, binary, address, r.file, dir)
	command.Args = append(command.Args, "--bmc-proxy", r.bmcs, "--media-listen", r.media)
	command.Args = append(command.Args, more...)
	return command
}

// TestHandsFree installs machines that are off, with no person at them. What they boot comes from oaictl; a second run
// writes nothing and ejects nothing.
func TestHandsFree(t *testing.T) {
	t.Parallel()
	binary, dir := build(t), t.TempDir()
	r := newRedfish(t, binary, "../../examples/redfish/cluster.yaml")
	w := newWire(t, r.service)
	for run := range 2 {
		output, err := r.create(t.Context(), binary, w.URL, dir).CombinedOutput()
		if err != nil {
			t.Fatalf("run %d: %v\n%s", run+1, err, output)
		}
		for _, words := range []string{"insert the discovery image", "set one boot", "switch on", "eject the discovery image"} {
			if got, want := strings.Count(string(output), words), 3*(1-run); got != want {
				t.Errorf("run %d: %q is done %d times, not %d:\n%s", run+1, words, got, want, output)
			}
		}
		if run == 0 {
			once(t, r.service, w.noted())
			w.reset()
		}
	}
	if writes := writesOf(w.noted()); len(writes) > 0 {
		t.Errorf("the second run writes: %v", writes)
	}
	results(t, dir)
	clean(t, r.file, r.bmcs)
}

// TestAddNodeHandsFree adds a machine that is off to a cluster that was installed
// by its BMCs; a second run writes nothing.
func TestAddNodeHandsFree(t *testing.T) {
	t.Parallel()
	binary, dir := build(t), t.TempDir()
	first := filepath.Join("..", "..", "examples", "redfish", "cluster.yaml")
	r := newRedfish(t, binary, oneMore(t, first))
	w := newWire(t, r.service)
	more := r.file
	r.file = first
	if output, err := r.create(t.Context(), binary, w.URL, dir).CombinedOutput(); err != nil {
		t.Fatalf("create cluster: %v\n%s", err, output)
	}
	r.file = more
	for run := range 2 {
		w.reset()
		command := r.create(t.Context(), binary, w.URL, dir)
		command.Args = append(command.Args[:1], append([]string{"add-node", "--until", "added"}, command.Args[3:]...)...)
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("add-node, run %d: %v\n%s", run+1, err, output)
		}
		for _, words := range []string{"insert the discovery image into the virtual drive of worker-0", "switch on worker-0", "eject the discovery image from the virtual drive of worker-0"} {
			if got, want := strings.Count(string(output), words), 1-run; got != want {
				t.Errorf("run %d: %q is done %d times, not %d:\n%s", run+1, words, got, want, output)
			}
		}
	}
	if writes := writesOf(w.noted()); len(writes) > 0 {
		t.Errorf("the second run writes: %v", writes)
	}
	clean(t, more, r.bmcs)
}

// oneMore is the example with a worker more.
func oneMore(t *testing.T, example string) string {
	t.Helper()
	data := must.Get(os.ReadFile(example))(t)
	shared := must.Get(filepath.Abs(filepath.Join("..", "..", "examples", "shared")))(t)
	const worker = `  - name: worker-0
    role: worker
    match: {mac: "52:54:00:00:07:03"}
    bmc: {address: "https://192.0.2.13/redfish/v1/Systems/1", credentials: {file: ../shared/bmc-password}, insecure: true}
`
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	must.Do(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(data)+worker, "../shared", shared)), 0o600))
	return file
}

// TestInterruptedWhileHostsRead names the hosts that lose their images, and the
// command that keeps them alive; deleting the cluster ejects them.
func TestInterruptedWhileHostsRead(t *testing.T) {
	t.Parallel()
	binary, dir := build(t), t.TempDir()
	r := newRedfish(t, binary, "../../examples/redfish/cluster.yaml")
	said, code := interrupted(t, r.create(t.Context(), binary, r.service, dir), "cp-1 boots: its BMC reads")
	check.Equal(t, code, 130, "ends with")
	line := fmt.Sprintf("\n  oaictl --service-url %s iso serve -f %s --dir %s --base ", r.service, r.file, dir)
	for _, words := range []string{"These machines still read from this command, which ends: cp-0, cp-1, cp-2.", line, " --listen " + r.media + " --url http://" + r.media + "\n"} {
		check.Contains(t, said, words, "does not say")
	}
	deleteCluster(t, binary, dir, r)
}

// deleteCluster deletes a cluster whose machines boot from images: not while
// these cannot be ejected, and once more when it is gone.
func deleteCluster(t *testing.T, binary, dir string, r redfish) {
	t.Helper()
	run := func(more ...string) (string, int) {
		command := exec.CommandContext(t.Context(), binary, append([]string{"delete", "cluster", "-f", r.file, "--service-url", r.service, "--dir", dir, "--yes"}, more...)...)
		output, _ := command.CombinedOutput()
		return string(output), command.ProcessState.ExitCode()
	}
	const ejected, deleted = "ejected the discovery image of cp-0, cp-1, cp-2\n", "cluster redfish deleted\n"
	// No server listens where images are served, now that the process that served them has ended.
	output, code := run("--bmc-proxy", "http://"+r.media)
	for _, words := range []string{"; nothing was deleted", "Next: check --bmc-proxy, ", "run oaictl --service-url " + r.service + " delete cluster "} {
		if code != 1 || !strings.Contains(output, words) || strings.Contains(output, deleted) {
			t.Errorf("BMCs that are not reached: ends with %d, want %q:\n%s", code, words, output)
		}
	}
	if output, code = run("--bmc-proxy", r.bmcs); code != 0 || !strings.Contains(output, ejected) || !strings.Contains(output, deleted) {
		t.Errorf("delete cluster: ends with %d\n%s", code, output)
	}
	clean(t, r.file, r.bmcs)
	if output, code = run("--bmc-proxy", r.bmcs); code != 0 || strings.Contains(output, "ejected") || !strings.Contains(output, "nothing else to delete") {
		t.Errorf("a second time: ends with %d\n%s", code, output)
	}
}

// interrupted runs a command until it has said some words, and then sends it
// what Ctrl-C sends.
func interrupted(t *testing.T, command *exec.Cmd, words string) (said string, code int) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = write, write
	must.Do(t, command.Start())
	_ = write.Close()
	var text strings.Builder
	for lines := bufio.NewScanner(read); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if words != "" && strings.Contains(lines.Text(), words) {
			words = ""
			must.Do(t, command.Process.Signal(os.Interrupt))
		}
	}
	_ = command.Wait()
	check.Equal(t, words, "", "never said")
	return text.String(), command.ProcessState.ExitCode()
}
