//go:build linux

package network

import (
	"testing"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// TestSteps gives each step an argument that it refuses, and so none sends a packet.
func TestSteps(t *testing.T) {
	steps := Steps(Options{Files: hostfile.Files{Root: t.TempDir()}, Runner: &machine.Recorder{}, Clock: clock.Real(), Log: testLog(t)})
	check.Equal(t, len(steps), 9)
	for kind, step := range steps {
		for _, args := range [][]string{nil, {"{}", "{}"}, {"--help"}, {`"` + string(make([]byte, largestArgument)) + `"`}} {
			code, _, stderr := step.Execute(t.Context(), args)
			check.Equal(t, code != 0 && stderr != "", true, kind)
		}
	}
	code, stdout, _ := steps[models.StepTypeConnectivityCheck].Execute(t.Context(), []string{"[]"})
	check.Equal(t, code, 0)
	check.Equal(t, stdout, `{"remote_hosts":null}`)
}
