package trace

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install"
)

// TestComparable has a comparison see every difference but those that
// docs/architecture.md names.
func TestComparable(t *testing.T) {
	base := func(states ...string) Trace {
		return Trace{Verdict: install.VerdictInstalled, Cluster: states, Kinds: []string{"StartInstall"}, Hosts: map[string]Host{
			"cp-0": {Stages: []string{"Installing", "Waiting for controller"}, Last: "Installed"}, "cp-1": {Stages: []string{"Installing", "Joined"}, Last: "Installed"},
		}}
	}
	whole := []string{"Absent", "Draft", "Discovering", "Blocked", "Ready", "Preparing", "Installing", "Installed"}
	other := func(change func(*Trace)) Trace {
		made := base(whole...)
		change(&made)
		return made
	}
	for name, test := range map[string]struct {
		other Trace
		same  bool
	}{
		"the same":                     {base(whole...), true},
		"never a draft":                {base("Absent", "Discovering", "Blocked", "Ready", "Preparing", "Installing", "Installed"), true},
		"blocked again for a moment":   {base("Absent", "Draft", "Discovering", "Blocked", "Ready", "Blocked", "Preparing", "Installing", "Installed"), true},
		"discovering again":            {base("Absent", "Draft", "Discovering", "Blocked", "Discovering", "Blocked", "Ready", "Preparing", "Installing", "Installed"), true},
		"discovering in the end":       {base(append(whole, "Discovering")...), false},
		"never blocked":                {base("Absent", "Draft", "Discovering", "Ready", "Preparing", "Installing", "Installed"), true},
		"never ready":                  {base("Absent", "Draft", "Discovering", "Blocked", "Preparing", "Installing", "Installed"), false},
		"never prepared":               {base("Absent", "Draft", "Discovering", "Blocked", "Ready", "Installing", "Installed"), false},
		"blocked in the end":           {base(append(whole, "Blocked")...), false},
		"another host is first":        {other(func(o *Trace) { o.Hosts["cp-0"], o.Hosts["cp-1"] = o.Hosts["cp-1"], o.Hosts["cp-0"] }), true},
		"a host in another last state": {other(func(o *Trace) { o.Hosts["cp-1"] = Host{Stages: o.Hosts["cp-1"].Stages, Last: "Failed"} }), false},
		"an action more":               {other(func(o *Trace) { o.Kinds = append(o.Kinds, "UpdateHost") }), false},
		"an action of add-node more":   {other(func(o *Trace) { o.Later = append(o.Later, "UpdateHost") }), false},
	} {
		want, got := Comparable(base(whole...), test.other)
		if diff := cmp.Diff(want, got); (diff == "") != test.same {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
