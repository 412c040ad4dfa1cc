package agent_test

import (
	"fmt"
	"testing"
)

// TestEachMachineHasAnAgentOfItsOwn has ten machines take ten Agents at one time, through two managers that
// know nothing of each other: each has one, and none has two.
func TestEachMachineHasAnAgentOfItsOwn(t *testing.T) {
	t.Parallel()
	x := open(t, setup{managers: 2})
	const count = 10
	for i := range count {
		x.addAgent(t, fmt.Sprintf("agent-%d", i))
	}
	x.addCluster(t, x.namespace, "c")
	for i := range count {
		x.addMachine(t, x.namespace, "c", fmt.Sprintf("m-%d", i))
	}
	of := map[string]string{}
	for i := range count {
		name := fmt.Sprintf("m-%d", i)
		host := x.reserved(t, x.namespace, name)
		if other := of[host]; other != "" {
			t.Errorf("%s and %s have the Agent %s", name, other, host)
		}
		of[host] = name
		agent, _ := x.agent(t, host)
		if got, want := reservedFor(agent), x.namespace+"/"+name; got != want {
			t.Errorf("the Agent of %s carries the name %q", want, got)
		}
	}
	if len(of) != count {
		t.Errorf("%d of %d Agents are reserved", len(of), count)
	}
}
