package hub

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
)

// scene reads a scenario of the examples.
func scene(t testing.TB, name string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(filepath.Join("..", "..", "examples", "scenarios", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestScenarios installs with trouble of the machines and of the service, on every
// backend, with the same end.
func TestScenarios(t *testing.T) {
	for name, test := range map[string]struct {
		example string
		code    install.Code // 0: installed
	}{
		"unknown-host-appears": {"compact", install.CodeNeedsUser},
		"host-never-boots":     {"compact", install.CodeNeedsUser},
		"disk-too-small":       {"compact", install.CodeNeedsUser},
		"duplicate-hostname":   {"compact", 0},
		"boots-iso-again":      {"compact", 0},
		"control-plane-lost":   {"compact", install.CodeFailed},
		"worker-lost":          {"ha-workers", install.CodeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, backends(), func(t *testing.T, b backend) trace {
				x := b.open(t, setup{cluster: example(t, test.example), scenario: scene(t, name)})
				a := x.run(t, t.TempDir(), install.WithTimeouts(6*time.Hour, 40*time.Minute))
				if a.trace.Code != int(test.code) {
					t.Fatalf("ends with code %d, not %d: %s\n%s", a.trace.Code, test.code, a.says(), a.story())
				}
				if name == "unknown-host-appears" && x.approvedStrangers(t) {
					t.Error("a machine that the file does not name was approved")
				}
				if advised := strings.Contains(install.NextOf(a.err), "oaictl delete cluster "); test.code == install.CodeFailed && advised != x.hub {
					t.Errorf("what is to be typed next: %s", install.NextOf(a.err)) // a hub resets nothing
				}
				return a.trace
			})
		})
	}
}
