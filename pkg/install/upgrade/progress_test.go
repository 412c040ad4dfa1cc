package upgrade

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func TestUnderWay(t *testing.T) {
	const working = "Working towards 4.20.5: 706 of 903 done (78% complete), waiting on machine-config"
	want := Want{Version: "4.20.5"}
	on := func(message string, edits ...func(*State)) *State {
		return running("4.20.4", append([]func(*State){towards("4.20.5", -30, message)}, edits...)...)
	}
	rows := []row{
		{name: "begins", state: on("Cluster version is 4.20.4"), verdict: model.VerdictWaiting, reason: reasonInProgress, says: []string{"Update to 4.20.5 begins"}},
		{name: "begins, and says nothing", state: on(""), verdict: model.VerdictWaiting, reason: reasonInProgress, says: []string{"Update to 4.20.5 begins"}},
		{name: "goes on", state: on(working), verdict: model.VerdictWaiting, reason: reasonInProgress, says: []string{"Update to 4.20.5 is 78% complete, waiting on machine-config"}},
		{name: "is not counted", state: on("Working towards 4.20.5: waiting on etcd"), verdict: model.VerdictWaiting, reason: reasonInProgress, says: []string{"Update to 4.20.5 is under way, waiting on etcd"}},
		{name: "says something else", state: on("Unable to apply 4.20.5: an operator is degraded"), verdict: model.VerdictWaiting, reason: reasonInProgress, says: []string{"Unable to apply 4.20.5"}},
		{
			name: "is slow", state: on(working, is("Failing", "Unknown", "waiting on etcd over 30 minutes which is longer than expected", -5)), verdict: model.VerdictWaiting, reason: reasonInProgress,
		},
		{
			name: "fails for a moment", state: on(working, is("Failing", "True", "etcd is degraded", -9)), verdict: model.VerdictWaiting, reason: reasonInProgress, says: []string{"it reports: etcd is degraded"},
		},
		{
			name: "fails", state: on(working, is("Failing", "True", "etcd is degraded", -10)), verdict: model.VerdictFailed, reason: reasonFailed,
			says: []string{"The update to 4.20.5 fails: etcd is degraded", "kubectl get clusteroperators"},
		},
		{
			name: "fails as the cluster did before", state: running("4.20.4", towards("4.20.5", -2, working), is("Failing", "True", "x", -600)), verdict: model.VerdictWaiting, reason: reasonInProgress,
		},
		{
			name: "was forced by somebody else's hand", state: on(working, asked(desiredUpdate{Version: "4.20.5", Force: true})), verdict: model.VerdictWaiting, reason: reasonInProgress,
		},
		{
			name: "has a gate behind it", state: on(working, gate("ack-4.19-a", false), is("Upgradeable", "False", "x", -5), is("Available", "False", "x", -5)), verdict: model.VerdictWaiting, reason: reasonInProgress,
		},
		{
			name: "of a paused pool", state: on(working, pool(model.Pool{Name: "worker", Paused: true, Machines: 2})), verdict: model.VerdictWaiting, reason: reasonInProgress,
			notes: []string{`kubectl patch machineconfigpool worker --type=merge --patch '{"spec":{"paused":false}}'`},
		},
		{
			name: "of a control plane whose pool is paused", state: on(working, pool(model.Pool{Name: "master", Paused: true, Machines: 3})), verdict: model.VerdictWaiting, reason: reasonInProgress,
			notes: []string{"No update is complete without these nodes"},
		},
		{
			name: "of a degraded pool", state: on(working, pool(model.Pool{Name: "worker", Degraded: true, Message: "disk full"})), verdict: model.VerdictWaiting, reason: reasonInProgress,
			notes: []string{"worker is degraded: disk full"},
		},
	}
	for i := range rows {
		rows[i].want = want
	}
	run(t, rows)
	if d := on(working).Decide(&want); d.Percent == nil || *d.Percent != 78 {
		t.Errorf("78%% is %v", d.Percent)
	}
	if d := on("Working towards 4.20.5").Decide(&want); d.Percent != nil {
		t.Errorf("without a number it is %d%%", *d.Percent)
	}
}

func nodes(list ...model.Node) func(*State) { return func(s *State) { s.Nodes = list } }

func TestPausedPoolsAndNodesThatLag(t *testing.T) {
	was := nodes(
		model.Node{Name: "cp-0", Version: "v1.33.5", Roles: []string{"master"}}, model.Node{Name: "cp-1", Version: "v1.32.8+abc", Roles: []string{"master"}},
		model.Node{Name: "w-0", Version: "v1.33.5+def"}, model.Node{Name: "w-1", Version: "v1.32.8"}, model.Node{Name: "w-2"},
	)
	run(t, []row{
		{
			name: "are told of", state: running("4.20.5", was, pool(model.Pool{Name: "worker", Paused: true, Machines: 3, Updated: 1})), want: Want{Version: "4.20.5"},
			verdict: model.VerdictInstalled, reason: reasonDone, notes: []string{"worker is paused", "3 of 5 nodes run an older kubelet than the control plane: cp-1, w-1, w-2"},
		},
		{
			name: "are nobody's business once all is done", state: running("4.20.5", pool(model.Pool{Name: "worker", Paused: true, Machines: 3, Updated: 3})), want: Want{Version: "4.20.5"},
			verdict: model.VerdictInstalled, reason: reasonDone,
		},
	})
	s := running("4.20.5", was)
	check.Slice(t, s.Decide(&Want{Version: "4.20.5"}).lagging, []string{"cp-1", "w-1", "w-2"}, "behind are")
	ahead := running("4.20.5", nodes(model.Node{Name: "cp-0", Version: "v1.32.8", Roles: []string{"master"}}, model.Node{Name: "w-0", Version: "v1.33.5"}))
	if got := ahead.Decide(&Want{Version: "4.20.5"}).lagging; got != nil {
		t.Errorf("behind a worker are %q", got)
	}
}

func TestNodes(t *testing.T) {
	worker := labels("worker")
	s := &State{Pools: []model.Pool{{Name: "worker", Config: "b", Labels: worker}}}
	config := func(current, desired, state string) *model.Node {
		return &model.Node{Version: "v1.33.5+abc", Labels: worker, Roles: []string{"worker"}, Config: model.NodeConfig{Current: current, Desired: desired, State: state}}
	}
	for name, is := range map[string]bool{
		"done":               s.Updated(config("b", "b", configDone)),
		"no config":          !s.Updated(config("", "", configDone)),
		"working":            !s.Updated(config("a", "b", configWorking)),
		"degraded":           !s.Updated(config("b", "b", "Degraded")),
		"not its turn yet":   !s.Updated(config("a", "a", configDone)),
		"without a pool":     s.Updated(&model.Node{Config: model.NodeConfig{Current: "a", Desired: "a", State: configDone}}),
		"this very kubelet":  runsAtLeast(config("", "", ""), "v1.33.5"),
		"an older one":       runsAtLeast(config("", "", ""), "v1.33.0"),
		"a newer one":        !runsAtLeast(config("", "", ""), "v1.33.6"),
		"nothing to compare": !runsAtLeast(&model.Node{}, "v1.33.6"),
	} {
		if !is {
			t.Error(name)
		}
	}
}

func TestTextsAreShort(t *testing.T) {
	s := running("4.20.4", available("4.20.5"), is("Failing", "True", strings.Repeat("ä\n", 9000), -60))
	d := s.Decide(&Want{Version: "4.20.5"})
	if len(d.Message) > 1200 || strings.Contains(d.Message, "\n") || !strings.Contains(d.Message, "…") {
		t.Errorf("a message has %d bytes", len(d.Message))
	}
}
