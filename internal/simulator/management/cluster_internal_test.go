package management

import (
	"slices"
	"strings"
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

// TestChangedLines tells each change in one short line, and nothing twice.
func TestChangedLines(t *testing.T) {
	const probe = "RemoteConnectionProbe: not established yet"
	long := "cp-1 fails the check connected: " + strings.Repeat("no answer of 192.168.127.11, ", 20)
	before := []string{probe, "ControlPlaneAvailable: cp-0 waits; cp-1 waits", "WorkersAvailable:"}
	for _, test := range []struct{ now, want []string }{
		{before, nil},
		{[]string{probe, "ControlPlaneAvailable: cp-0 waits"}, nil},
		{
			[]string{"ControlPlaneAvailable: cp-0 installs; cp-1 waits; cp-2 boots; cp-3 boots"},
			[]string{"ControlPlaneAvailable: cp-0 installs (and 2 more)"},
		},
		{[]string{"ControlPlaneAvailable: cp-0 waits; " + long}, []string{("ControlPlaneAvailable: " + long)[:longestLine-1] + "…"}},
		{[]string{"WorkersAvailable:", "Machine lab-w: no host"}, []string{"Machine lab-w: no host"}},
	} {
		if got := changedLines(before, test.now); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.now, got, test.want)
		}
	}
}
