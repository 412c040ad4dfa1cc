package upgrade

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestWhatAClusterShows: its updates, newest first, where it is on its way to, and what stands in the way.
func TestWhatAClusterShows(t *testing.T) {
	s := running("4.20.4", available("4.20.5", "4.21.3", "4.20.6"), risky("4.20.7", "DiskTrouble"), risky("4.20.5", "DiskTrouble"),
		is("Upgradeable", "False", "Cluster operator x should not be upgraded.", -1), pool(model.Pool{Name: "worker", Paused: true}),
		pool(model.Pool{Name: "infra", Degraded: true, Message: "disk full"}))
	check.Same(t, []Update{
		{Version: "4.21.3", Image: image("4.21.3"), Recommended: true},
		{Version: "4.20.7", Image: image("4.20.7"), Risks: []string{"DiskTrouble: It may break (https://example.com/DiskTrouble)"}},
		{Version: "4.20.6", Image: image("4.20.6"), Recommended: true}, {Version: "4.20.5", Image: image("4.20.5"), Recommended: true},
	}, s.Updates())
	got := strings.Join(s.Obstacles(), "\n")
	for _, says := range []string{"does not accept another minor version: Cluster operator x should not be upgraded\n", "worker is paused", "infra is degraded: disk full"} {
		check.Contains(t, got, says, "it does not say")
	}
	for next, s := range map[string]*State{
		"": running("4.20.4", asked(desiredUpdate{Version: "4.20.4"})), "4.20.5": running("4.20.4", asked(desiredUpdate{Version: "4.20.5"})),
		"4.20.6": running("4.20.4", asked(desiredUpdate{Version: "4.20.7"}), towards("4.20.6", -5, "Working towards 4.20.6")),
	} {
		check.Equal(t, s.Next(), next, "it is on its way to")
	}
	if none := (&State{}); none.Current() != "" || none.Channel() != "" || none.Next() != "" || none.Updates() != nil || none.Obstacles() != nil {
		t.Errorf("of no OpenShift it shows %+v", none)
	}
}

// TestFault: each end but the wanted version has an exit code and says why, with commands alone where there are no fields.
func TestFault(t *testing.T) {
	for name, test := range map[string]struct {
		state *State
		want  Want
		code  model.Code
		says  string
	}{
		"done":           {state: running("4.20.5"), want: Want{Version: "4.20.5"}},
		"asked for":      {state: running("4.20.4", available("4.20.5")), want: Want{Version: "4.20.5"}},
		"no version":     {state: running("4.20.4"), want: Want{Version: "4.20"}, code: model.CodeUsage, says: `upgrade lab: "4.20" is not a complete version: write all three numbers, such as 4.20.5`},
		"not installed":  {state: &State{}, want: Want{Version: "4.20.5"}, code: model.CodeFailure, says: "the cluster is not installed"},
		"not offered":    {state: running("4.20.4", available("4.20.6")), want: Want{Version: "4.20.5"}, code: model.CodeNotFound, says: "It offers 4.20.6"},
		"the channel":    {state: running("4.19.4", on("fast-4.19")), want: Want{Version: "4.20.5"}, code: model.CodeNotFound, says: "does not contain an update to 4.20.5: oc adm upgrade channel fast-4.20. "},
		"no channel":     {state: running("4.20.4", on("")), want: Want{Version: "4.20.5"}, code: model.CodeNotFound, says: "with its digest, with oc adm upgrade --to-image"},
		"older":          {state: running("4.20.4"), want: Want{Version: "4.20.3"}, code: model.CodeInput, says: "OpenShift cannot be downgraded"},
		"a risk":         {state: running("4.20.4", risky("4.20.5", "X")), want: Want{Version: "4.20.5"}, code: model.CodeInput, says: "To accept the risk: oc adm upgrade --to=4.20.5 --allow-not-recommended"},
		"another update": {state: running("4.20.4", towards("4.20.5", -5, "Working towards 4.20.5")), want: Want{Version: "4.20.6"}, code: model.CodeFailure, says: "is being updated to another version"},
		"it fails": {
			state: running("4.20.4", towards("4.20.5", -50, "Working towards 4.20.5"), is("Failing", "True", "etcd is degraded", -30)), want: Want{Version: "4.20.5"},
			code: model.CodeFailed, says: "etcd is degraded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := test.state.Decide(&test.want)
			err := d.Fault("lab")
			if test.code == 0 && err != nil || test.code != 0 && (err == nil || model.FaultOf(err).Code != test.code || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("it is %v", err)
			}
			if err != nil && (strings.Contains(err.Error(), "spec.") || strings.Contains(err.Error(), "distributionVersion")) {
				t.Errorf("it names a field: %v", err)
			}
		})
	}
}
