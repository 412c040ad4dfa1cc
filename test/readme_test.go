//go:build e2e

package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestFirstCommand runs the first command of README as it stands there, and looks for what it promises.
func TestFirstCommand(t *testing.T) {
	page := must.Get(os.ReadFile("../README.md"))(t)
	found := regexp.MustCompile(`(?m)^go run (.*)(\./cmd/oaictl) (.*)$`).FindStringSubmatch(string(page))
	if found == nil {
		t.Fatal("README has no command that starts with go run")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "oaictl")
	build := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-o", program}, strings.Fields(found[1])...), found[2])...)
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	examples, err := filepath.Abs("../examples")
	if err == nil {
		err = os.Symlink(examples, filepath.Join(dir, "examples"))
	}
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), program, strings.Fields(found[3])...)
	run.Dir = dir
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "compact.example.com is installed.") {
		t.Fatalf("%v: %v\n%s", run.Args, err, out)
	}
	check.Do(t, check.Err(os.Stat(filepath.Join(dir, "_simulated", "compact", "auth", "kubeconfig"))))
}
