package cli

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/must"
)

var updateScripts = flag.Bool("update", false, "write what the scripts expect again")

// TestMain lets scripts run this very package as the commands that users have.
func TestMain(m *testing.M) {
	run := func() {
		ctx, stop := app.WithSignals(context.Background(), os.Exit)
		defer stop()
		os.Exit(Main(ctx, os.Args, streams.OS(), os.Environ()))
	}
	testscript.Main(m, map[string]func(){
		"oaictl": run, "kubectl-oai": run, "kubectl_complete-oai": run, "clusterctl-oai": run, "agent-installer-client": run,
	})
}

// TestScripts runs every script under testdata/script: real arguments, both
// streams, and the exit code.
func TestScripts(t *testing.T) {
	examples := must.Get(filepath.Abs("../../examples"))(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *updateScripts,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("NO_PROXY", "*")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "fixture": fixture},
	})
}

// exits is the script command `exits CODE PROGRAM [ARGUMENT...]`.
func exits(ts *testscript.TestScript, negated bool, arguments []string) {
	if negated || len(arguments) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGUMENT...]")
	}
	want, err := strconv.Atoi(arguments[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(arguments[1], arguments[2:]...)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		got = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%v ends with %d, not %d", arguments[1:], got, want)
	}
}

// fixture is the script command `fixture LAYOUT FILE`: it writes a live image as
// the tests of pkg/iso have them.
func fixture(ts *testscript.TestScript, negated bool, arguments []string) {
	if negated || len(arguments) != 2 {
		ts.Fatalf("usage: fixture LAYOUT FILE")
	}
	ts.Check(makeFixture(arguments[0], ts.MkAbs(arguments[1])))
}
