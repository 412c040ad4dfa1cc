package spoke_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

const scenarioHead = "apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nspec:\n  cluster:\n"

// TestTroubleOf reads every verb of spec.cluster.
func TestTroubleOf(t *testing.T) {
	s, err := scenario.Parse("t.yaml", []byte(scenarioHead+`
  - {do: request, at: {after: 5m}, args: {node: cp-0, serving: true, user: u, groups: [g], organizations: [o], names: [n], addresses: [192.168.127.5], usages: [server auth], count: 3}}
  - {do: replay, at: {after: 1h}, match: {name: worker-0}}
  - {do: rotate, at: {after: 2h}, match: {name: worker-0}}
  - {do: node-name, match: {name: worker-1}}
  - {do: node-addresses, match: {name: worker-2}, args: {addresses: ["2001:db8::1"]}}
  - {do: node-not-ready, match: {name: worker-2}}
  - {do: pause-pool, match: {name: infra}}
  - {do: degrade-pool, match: {name: worker}, args: {reason: disk}}
  - {do: degrade-operator, match: {name: insights}, args: {reason: net}}
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := spoke.TroubleOf(s)
	if err != nil {
		t.Fatal(err)
	}
	want := spoke.Trouble{
		DegradedOperators: map[string]string{"insights": "net"}, DegradedPools: map[string]string{"worker": "disk"}, PausedPools: []string{"infra"},
		Kubelets: map[string]spoke.KubeletTrouble{
			"worker-0": {RotatesAfter: 2 * time.Hour}, "worker-1": {Hostname: "localhost"},
			"worker-2": {NeverReady: spoke.NoNetwork, Addresses: []netip.Addr{netip.MustParseAddr("2001:db8::1")}},
		},
		Replays: []spoke.Replay{{Node: "worker-0", After: time.Hour}},
		Requests: []spoke.Request{{
			After: 5 * time.Minute, Count: 3, Node: "cp-0", Serving: true, User: "u", Groups: []string{"g"}, Organizations: []string{"o"}, Names: []string{"n"},
			Addresses: []netip.Addr{netip.MustParseAddr("192.168.127.5")}, Usages: got.Requests[0].Usages,
		}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("trouble (-want +got):\n%s", diff)
	}
	if got, err := spoke.TroubleOf(nil); err != nil || len(got.Requests) > 0 {
		t.Errorf("without a scenario: %v, %v", got, err)
	}
}

// TestTroubleRefused tells the line of a rule that says too little.
func TestTroubleRefused(t *testing.T) {
	for rule, says := range map[string]string{
		"  - {do: request}":                                     "line 5: request: args.node",
		"  - {do: pause-pool}":                                  "line 5: pause-pool: match.name must name",
		"  - {do: replay, match: {name: 'worker-*'}}":           "has to be a whole name",
		"  - {do: request, args: {node: a, addresses: [here]}}": "args.addresses",
	} {
		s, err := scenario.Parse("t.yaml", []byte(scenarioHead+rule+"\n"))
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		if _, err := spoke.TroubleOf(s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", rule, err, says)
		}
	}
}
