package spec_test

import (
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The example of kind Nodes loads, and has what hosts have as nodes.
func TestExampleOfNodesLoads(t *testing.T) {
	env := spec.OSEnv()
	env.Nodes = true
	c := must.Get(spec.Load(t.Context(), "../../../examples/nodes.yaml", env))(t)
	if c.Existing() != "ha.example.com" || c.WorkerCount() != 2 || c.PullSecret().IsZero() || len(c.Spec.Hosts[1].Taints) != 1 {
		t.Errorf("got %+v", c.Spec)
	}
}

// Every example loads, and is the shape that its name says.
func TestExamplesLoad(t *testing.T) {
	want := map[string]struct {
		controlPlane, workers, arbiters int
		platform                        spec.PlatformType
	}{
		"sno":            {1, 0, 0, spec.NoneType},
		"compact":        {3, 0, 0, spec.BareMetal},
		"ha-workers":     {3, 2, 0, spec.BareMetal},
		"dual-stack":     {3, 0, 0, spec.BareMetal},
		"static-network": {3, 0, 0, spec.BareMetal},
		"disconnected":   {3, 0, 0, spec.BareMetal},
		"arbiter":        {2, 0, 1, spec.BareMetal},
		"redfish":        {3, 0, 0, spec.BareMetal},
	}
	files, err := filepath.Glob("../../../examples/*/cluster.yaml")
	if err != nil || len(files) != len(want) {
		t.Fatalf("found %v, want one file for each of %d examples (%v)", files, len(want), err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			c := must.Get(spec.Load(t.Context(), file, spec.OSEnv()))(t)
			w := want[name]
			if c.ControlPlaneCount() != w.controlPlane || c.WorkerCount() != w.workers || c.ArbiterCount() != w.arbiters || c.Spec.Platform.Type != w.platform {
				t.Errorf("got %d control plane, %d workers, %d arbiters on %s", c.ControlPlaneCount(), c.WorkerCount(), c.ArbiterCount(), c.Spec.Platform.Type)
			}
			if c.PullSecret().IsZero() || c.SSHKey() == "" {
				t.Error("the pull secret or the SSH key was not read")
			}
			for i := range c.Spec.Hosts {
				host := &c.Spec.Hosts[i]
				if _, macs, ok := c.StaticNetwork(host); ok && len(macs) == 0 {
					t.Errorf("host %s has a network without interfaces", host.Name)
				}
			}
			check.Do(t, check.Err(c.InstallConfigOverrides()))
			check.Do(t, check.Err(c.DiscoveryIgnition()))
		})
	}
}
