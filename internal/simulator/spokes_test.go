package simulator_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestSpokeOf has the hosts of a file as nodes of its cluster, but for those that are still to come.
func TestSpokeOf(t *testing.T) {
	names := func(nodes []spoke.Node) []string {
		var list []string
		for i := range nodes {
			if len(nodes[i].Addresses) == 0 || nodes[i].UUID == "" {
				t.Errorf("node %+v", nodes[i])
			}
			list = append(list, nodes[i].Name)
		}
		return list
	}
	imported := filepath.Join(t.TempDir(), "cluster.yaml")
	text := "apiVersion: oaictl.io/v1alpha1\nkind: Cluster\nmetadata: {name: old}\nspec:\n  openshift: {version: \"4.20\"}\n  baseDomain: example.com\n" +
		"  pullSecret: {file: pull.json}\n  import: {clusterID: 11111111-2222-3333-4444-555555555555}\n  hosts:\n  - {name: w-0, match: {mac: \"52:54:00:00:00:00\"}}\n"
	pull, err := os.ReadFile("../../examples/shared/pull-secret.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{imported: []byte(text), filepath.Join(filepath.Dir(imported), "pull.json"): pull} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		file                  string
		without               []string
		controlPlane, workers []string
		platform              spoke.Platform
	}{
		{"../../examples/compact/cluster.yaml", nil, []string{"cp-0", "cp-1", "cp-2"}, nil, spoke.BareMetal},
		{"../../examples/ha-workers/cluster.yaml", []string{"worker-1"}, []string{"cp-0", "cp-1", "cp-2"}, []string{"worker-0"}, spoke.BareMetal},
		{"../../examples/sno/cluster.yaml", nil, []string{"cp-0"}, nil, spoke.None},
		{imported, nil, []string{"control-plane-0", "control-plane-1", "control-plane-2"}, nil, spoke.None},
	} {
		t.Run(filepath.Base(filepath.Dir(tc.file)), func(t *testing.T) {
			cluster, err := spec.Load(t.Context(), tc.file, spec.OSEnv())
			if err != nil {
				t.Fatal(err)
			}
			got, err := simulator.SpokeOf(cluster, 1, tc.without...)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(names(got.ControlPlane), tc.controlPlane) || !slices.Equal(names(got.Workers), tc.workers) {
				t.Errorf("control plane %q, workers %q", names(got.ControlPlane), names(got.Workers))
			}
			if got.Name != cluster.Metadata.Name || got.Platform != tc.platform || got.MachineAPI != (tc.platform == spoke.BareMetal) {
				t.Errorf("name %s, platform %s, Machine API %t", got.Name, got.Platform, got.MachineAPI)
			}
		})
	}
}
