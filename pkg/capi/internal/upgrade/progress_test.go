package upgrade

import (
	"slices"
	"strings"
	"testing"
)

func TestUnderWay(t *testing.T) {
	const working = "Working towards 4.20.5: 706 of 903 done (78% complete), waiting on machine-config"
	want := Want{Version: "4.20.5"}
	on := func(message string, edits ...func(*State)) *State {
		return running("4.20.4", append([]func(*State){towards("4.20.5", -30, message)}, edits...)...)
	}
	rows := []row{
		{name: "begins", state: on("Cluster version is 4.20.4"), phase: Progressing, reason: ReasonInProgress, says: []string{"Update to 4.20.5 begins"}},
		{name: "begins, and says nothing", state: on(""), phase: Progressing, reason: ReasonInProgress, says: []string{"Update to 4.20.5 begins"}},
		{name: "goes on", state: on(working), phase: Progressing, reason: ReasonInProgress, says: []string{"Update to 4.20.5 is 78% complete, waiting on machine-config"}},
		{name: "is not counted", state: on("Working towards 4.20.5: waiting on etcd"), phase: Progressing, reason: ReasonInProgress, says: []string{"Update to 4.20.5 is under way, waiting on etcd"}},
		{name: "says something else", state: on("Unable to apply 4.20.5: an operator is degraded"), phase: Progressing, reason: ReasonInProgress, says: []string{"Unable to apply 4.20.5"}},
		{
			name: "is slow", state: on(working, is("Failing", "Unknown", "waiting on etcd over 30 minutes which is longer than expected", -5)), phase: Progressing, reason: ReasonInProgress,
		},
		{
			name: "fails for a moment", state: on(working, is("Failing", "True", "etcd is degraded", -9)), phase: Progressing, reason: ReasonInProgress, says: []string{"it reports: etcd is degraded"},
		},
		{
			name: "fails", state: on(working, is("Failing", "True", "etcd is degraded", -10)), phase: Failed, reason: ReasonFailed,
			says: []string{"The update to 4.20.5 fails: etcd is degraded", "kubectl get clusteroperators"},
		},
		{
			name: "fails as the cluster did before", state: running("4.20.4", towards("4.20.5", -2, working), is("Failing", "True", "x", -600)), phase: Progressing, reason: ReasonInProgress,
		},
		{
			name: "was forced by somebody else's hand", state: on(working, asked(Asked{Version: "4.20.5", Force: true})), phase: Progressing, reason: ReasonInProgress,
		},
		{
			name: "has a gate behind it", state: on(working, gate("ack-4.19-a", false), is("Upgradeable", "False", "x", -5), is("Available", "False", "x", -5)), phase: Progressing, reason: ReasonInProgress,
		},
		{
			name: "of a paused pool", state: on(working, pool(Pool{Name: "worker", Paused: true, Machines: 2})), phase: Progressing, reason: ReasonInProgress,
			notes: []string{`kubectl patch machineconfigpool worker --type=merge --patch '{"spec":{"paused":false}}'`},
		},
		{
			name: "of a control plane whose pool is paused", state: on(working, pool(Pool{Name: "master", Paused: true, Machines: 3})), phase: Progressing, reason: ReasonInProgress,
			notes: []string{"Without them no update is complete"},
		},
		{
			name: "of a degraded pool", state: on(working, pool(Pool{Name: "worker", Degraded: true, Message: "disk full"})), phase: Progressing, reason: ReasonInProgress,
			notes: []string{"worker is degraded: disk full"},
		},
	}
	for i := range rows {
		rows[i].want = want
	}
	run(t, rows)
	if d := Decide(on(working), &want); d.Percent == nil || *d.Percent != 78 {
		t.Errorf("78%% is %v", d.Percent)
	}
	if d := Decide(on("Working towards 4.20.5"), &want); d.Percent != nil {
		t.Errorf("without a number it is %d%%", *d.Percent)
	}
}

func nodes(list ...Node) func(*State) { return func(s *State) { s.Nodes = list } }

func TestPausedPoolsAndNodesThatLag(t *testing.T) {
	was := nodes(
		Node{Name: "cp-0", Kubelet: "v1.33.5", ControlPlane: true}, Node{Name: "cp-1", Kubelet: "v1.32.8+abc", ControlPlane: true},
		Node{Name: "w-0", Kubelet: "v1.33.5+def"}, Node{Name: "w-1", Kubelet: "v1.32.8"}, Node{Name: "w-2"},
	)
	run(t, []row{
		{
			name: "are told of", state: running("4.20.5", was, pool(Pool{Name: "worker", Paused: true, Machines: 3, Updated: 1})), want: Want{Version: "4.20.5"},
			phase: Done, reason: ReasonDone, notes: []string{"worker is paused", "3 of 5 nodes run an older kubelet than the control plane: cp-1, w-1, w-2"},
		},
		{
			name: "are nobody's business once all is done", state: running("4.20.5", pool(Pool{Name: "worker", Paused: true, Machines: 3, Updated: 3})), want: Want{Version: "4.20.5"},
			phase: Done, reason: ReasonDone,
		},
	})
	s := running("4.20.5", was)
	if got := Decide(s, &Want{Version: "4.20.5"}).Lagging; !slices.Equal(got, []string{"cp-1", "w-1", "w-2"}) {
		t.Errorf("behind are %q", got)
	}
	ahead := running("4.20.5", nodes(Node{Name: "cp-0", Kubelet: "v1.32.8", ControlPlane: true}, Node{Name: "w-0", Kubelet: "v1.33.5"}))
	if got := Decide(ahead, &Want{Version: "4.20.5"}).Lagging; got != nil {
		t.Errorf("behind a worker are %q", got)
	}
}

func TestNodes(t *testing.T) {
	s := &State{Pools: []Pool{{Name: "worker", Config: "b"}}}
	config := func(current, desired, state string) *Node {
		return &Node{Kubelet: "v1.33.5+abc", Pool: "worker", Config: NodeConfig{Current: current, Desired: desired, State: state}}
	}
	for name, is := range map[string]bool{
		"done":                  s.Updated(config("b", "b", ConfigDone)),
		"no config":             !s.Updated(config("", "", ConfigDone)),
		"working":               !s.Updated(config("a", "b", ConfigWorking)),
		"degraded":              !s.Updated(config("b", "b", ConfigDegraded)),
		"not its turn yet":      !s.Updated(config("a", "a", ConfigDone)),
		"without a pool":        s.Updated(&Node{Config: NodeConfig{Current: "a", Desired: "a", State: ConfigDone}}),
		"this very kubelet":     config("", "", "").RunsAtLeast("v1.33.5"),
		"an older one":          config("", "", "").RunsAtLeast("1.33.0"),
		"a newer one":           !config("", "", "").RunsAtLeast("v1.33.6"),
		"nothing to compare by": !config("", "", "").RunsAtLeast(""),
		"nothing to compare":    !(&Node{}).RunsAtLeast("v1.33.6"),
	} {
		if !is {
			t.Error(name)
		}
	}
}

func TestTextsAreShort(t *testing.T) {
	s := running("4.20.4", available("4.20.5"), is("Failing", "True", strings.Repeat("ä\n", 9000), -60))
	d := Decide(s, &Want{Version: "4.20.5"})
	if len(d.Message) > 1200 || strings.Contains(d.Message, "\n") || !strings.Contains(d.Message, "…") {
		t.Errorf("a message has %d bytes", len(d.Message))
	}
}
