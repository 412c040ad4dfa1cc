package management

import (
	"slices"
	"testing"
)

// TestLinesOf takes the list of a Cluster's conditions apart, so that each is told when it changes, and not all of them.
func TestLinesOf(t *testing.T) {
	const message = "* RemoteConnectionProbe: Remote connection not established yet\n* ControlPlaneAvailable: Blocked; waiting\n  for the service\n" +
		"* WorkersAvailable:\n  * MachineDeployment lab-workers: 0 available replicas\n"
	want := []string{
		"RemoteConnectionProbe: Remote connection not established yet", "ControlPlaneAvailable: Blocked; waiting for the service",
		"WorkersAvailable:", "MachineDeployment lab-workers: 0 available replicas",
	}
	if got := linesOf(message); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := linesOf(""); len(got) > 0 {
		t.Errorf("of nothing: %q", got)
	}
}
