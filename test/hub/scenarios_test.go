//go:build e2e

package hub

import (
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// scene reads a scenario of the examples.
func scene(t testing.TB, name string) *scenario.Scenario {
	t.Helper()
	return must.Get(scenario.Load(filepath.Join("..", "..", "examples", "scenarios", name+".yaml")))(t)
}
