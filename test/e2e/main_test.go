//go:build e2e

// Package e2e tests the built oaictl as a person uses it: real processes, real
// sockets, the simulator on the other side, and a recorder in between that
// counts what goes over the wire.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// sideBySide is how many installs run at once. Most of their time is spent waiting for simulated machines, so that it
// is more than there are processors.
const sideBySide = 12 / slower

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", fmt.Sprint(sideBySide)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	var err error
	if folder, err = os.MkdirTemp("", "oaictl-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(folder) // else it stays in the folder for temporary files
	os.Exit(code)
}

// folder is where oaictl is built for all tests.
var folder string

// built is oaictl, built by the first test that asks for it, or the output of the compiler.
var built = sync.OnceValues(func() (binary string, err error) {
	binary = filepath.Join(folder, "oaictl")
	if output, err := exec.Command("go", "build", "-o", binary, "../../cmd/oaictl").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build oaictl: %w\n%s", err, output)
	}
	return binary, nil
})

// build gives the path of oaictl.
func build(t *testing.T) string {
	t.Helper()
	return must.Get(built())(t)
}
