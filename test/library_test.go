//go:build e2e

package test

import (
	"bytes"
	"context"
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

// TestImporter lets the program of examples/library plan and install a cluster.
func TestImporter(t *testing.T) {
	program := example(t, ".")
	file := filepath.Join("..", "examples", "sno", "cluster.yaml")
	cluster := must.Get(spec.Load(t.Context(), file, spec.OSEnv()))(t)
	// Fast enough to be done in seconds, slow enough for a program whose own
	// clock is the wall's to see every state that it has to act on.
	s := must.Get(simulator.Start(t.Context(), simulator.Config{Clock: clock.Scaled(300), Seed: 1, Cluster: cluster}))(t)
	defer func() {
		check.Do(t, s.Close())
	}()
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
		defer stop()
		command := exec.CommandContext(ctx, program, append([]string{"-service-url", s.URL(), "-f", file, "-dir", dir, "-poll", "200ms"}, args...)...)
		var out, errs bytes.Buffer
		command.Stdout, command.Stderr = &out, &errs
		if err := command.Run(); err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, out.String(), errs.String())
		}
		return out.String()
	}

	if plan := run("-plan"); !strings.Contains(plan, "verdict: working") || !strings.Contains(plan, "cluster/register") {
		t.Errorf("the first plan registers no cluster:\n%s", plan)
	}
	if events := run(); !strings.Contains(events, "installed: the kubeconfig is under "+dir) {
		t.Errorf("the run does not say that the cluster is installed:\n%s", events)
	}
	kubeconfig, err := os.ReadFile(filepath.Join(dir, "sno", "auth", "kubeconfig"))
	if err != nil || !bytes.Contains(kubeconfig, []byte("https://api.sno.example.com:6443")) {
		t.Errorf("the kubeconfig does not name the cluster's API (%v)", err)
	}
	if plan := run("-plan"); !strings.Contains(plan, "verdict: installed") || strings.Contains(plan, "\ndo:") {
		t.Errorf("there is something left to do:\n%s", plan)
	}
}

// TestImportersLoop builds a program with a loop, a service plane and a reconciler of its own in the module of an importer,
// and lets it take the first steps of an installation.
func TestImportersLoop(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), example(t, "./operator"), "-f", filepath.Join("..", "examples", "sno", "cluster.yaml")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, line := range []string{"did RegisterCluster: ", "did RegisterInfraEnv: ", "verdict: waiting\n", "wait for user: cp-0 to boot the discovery image"} {
		if !strings.Contains(string(out), line) {
			t.Errorf("it does not say %q:\n%s", line, out)
		}
	}
}

// example builds a program of examples/library in its own module, as an importer would.
func example(t *testing.T, folder string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, folder)
	build.Dir = filepath.Join("..", "examples", "library")
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false -mod=readonly", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build examples/library/%s: %v\n%s", folder, err, out)
	}
	return program
}

// TestImporterLines holds docs/library.md to the lines that the example really
// has.
func TestImporterLines(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text := must.Get(os.ReadFile(filepath.Join("..", filepath.FromSlash(name))))(t)
		return string(text)
	}
	page := read("docs/library.md")
	_, excludes, found := strings.Cut(read("examples/library/go.mod"), "exclude (\n")
	if !found {
		t.Fatal("examples/library/go.mod excludes nothing")
	}
	excludes, _, _ = strings.Cut(excludes, ")")
	lines := strings.Split(strings.TrimSpace(excludes), "\n")
	for line := range strings.Lines(read("examples/library/go.sum")) {
		if strings.HasPrefix(line, "github.com/openshift/assisted-service") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) != 3+6 {
		t.Fatalf("%d lines are needed, not 9: %q", len(lines), lines)
	}
	for _, line := range lines {
		check.Contains(t, page, strings.TrimSpace(line), "docs/library.md lacks the line")
	}
}
