//go:build e2e

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/kubetest"
)

// TestTryIt runs an API server, the operators of a hub on it, and an installation: all but the last
// go on until they are stopped, and the next begins once they have printed something.
// The programs are built once and not run by go, which passes no signals on.
func TestTryIt(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a hub")
	}
	tree, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	havePrograms(t)
	lines := []string{
		"go run ./internal/kubetest/serve --kubeconfig hub.kubeconfig",
		"go run ./cmd/oaictl simulator hub --kubeconfig hub.kubeconfig -f examples/compact/cluster.yaml --speed 60",
		"go run ./cmd/oaictl create cluster -f examples/compact/cluster.yaml --backend hub --kubeconfig hub.kubeconfig",
	}
	d := folder(t, tree)
	var running []*exec.Cmd
	for _, line := range lines[:2] {
		running = append(running, d.background(t, line))
	}
	if text, err := d.command(t, lines[2]).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", lines[2], err, text)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "compact", "auth", "kubeconfig")); err != nil {
		t.Error(err)
	}
	for i, want := range []int{130, 0} {
		command := running[len(running)-1-i]
		if err := command.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if _ = command.Wait(); command.ProcessState.ExitCode() != want {
			t.Errorf("%v, stopped, ends with %d", command.Args, command.ProcessState.ExitCode())
		}
	}
	if _, err := os.Stat(filepath.Join(d.dir, "hub.kubeconfig")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the kubeconfig is left: %v", err)
	}
}

// TestOthersKubeconfig leaves a file alone that belongs to the user.
func TestOthersKubeconfig(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a hub")
	}
	havePrograms(t)
	file := filepath.Join(t.TempDir(), "config")
	const theirs = "apiVersion: v1\nkind: Config\nclusters:\n- {name: theirs, cluster: {server: \"https://api.example.com:6443\"}}\n"
	if err := os.WriteFile(file, []byte(theirs), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	if err := serve(ctx, options{kubeconfig: file}, io.Discard); err == nil || !strings.Contains(err.Error(), "another cluster") {
		t.Errorf("got %v", err)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != theirs {
		t.Errorf("it is %q now (%v)", now, err)
	}
}

// havePrograms skips a test where there is no API server, or no time to build it.
func havePrograms(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	if deadline, ok := t.Deadline(); ok {
		ctx, stop = context.WithDeadline(t.Context(), deadline.Add(-3*time.Minute))
	}
	defer stop()
	_, err := kubetest.Build(ctx, t.Output())
	switch {
	case errors.Is(err, kubetest.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

// desk is a folder that looks like that of the sources, as far as the commands see it,
// and what they write is not in the sources.
type desk struct{ tree, dir, programs string }

func folder(t *testing.T, tree string) *desk {
	t.Helper()
	d := &desk{tree: tree, dir: t.TempDir(), programs: t.TempDir()}
	for _, name := range []string{"go.mod", "test", "examples"} {
		if err := os.Symlink(filepath.Join(tree, name), filepath.Join(d.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// command is a line, with the program built that `go run` would run.
func (d *desk) command(t *testing.T, line string) *exec.Cmd {
	t.Helper()
	words := strings.Fields(line)
	if len(words) < 3 || words[0] != "go" || words[1] != "run" {
		t.Fatalf("%q runs no program of the sources", line)
	}
	program := filepath.Join(d.programs, filepath.Base(words[2]))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, words[2])
	build.Dir, build.Env = d.tree, append(os.Environ(), "CGO_ENABLED=0") // as the other programs: compiled once
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", words[2], err, text)
	}
	command := exec.CommandContext(t.Context(), program, words[3:]...)
	command.Dir = d.dir
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+d.dir, "KUBECONFIG=", "NO_PROXY=*")
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = time.Minute
	return command
}

// background starts a line, and returns once it has printed something.
func (d *desk) background(t *testing.T, line string) *exec.Cmd {
	t.Helper()
	command := d.command(t, line)
	command.Stderr = t.Output()
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Wait() }) // ended with the test's context, where the test did not do it
	printed := bufio.NewScanner(out)
	if !printed.Scan() {
		t.Fatalf("%s ends without a word", line)
	}
	go func() {
		for printed.Scan() {
			continue // it must not stand still
		}
	}()
	return command
}
