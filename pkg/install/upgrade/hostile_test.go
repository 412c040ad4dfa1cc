package upgrade

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestAnotherRequestIsNotReplaced: an update that was asked for, and has not begun, is another person's, until the cluster refuses it.
func TestAnotherRequestIsNotReplaced(t *testing.T) {
	other, ours := asked(desiredUpdate{Version: "4.20.5"}), available("4.20.5", "4.20.6")
	accepts := func(status, message string, minutes int) func(*State) {
		return is("ReleaseAccepted", status, message, minutes)
	}
	want := Want{Version: "4.20.6"}
	blocks := func(name string, edits ...func(*State)) row {
		return row{
			name: name, state: running("4.20.4", append([]func(*State){ours}, edits...)...), want: want,
			verdict: model.VerdictBlocked, reason: reasonOtherUpdate, says: []string{"is requested and has not started", "4.20.6 can only be requested after it"},
		}
	}
	gives := func(name string, edits ...func(*State)) row {
		return row{
			name: name, state: running("4.20.4", append([]func(*State){ours}, edits...)...), want: want,
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.6"},
		}
	}
	run(t, []row{
		blocks("read, and not looked at yet", other),
		blocks("accepted, and not begun", other, accepts("True", `Payload loaded version="4.20.5"`, 0)),
		blocks("after one that was refused", other, accepts("False", `Retrieving payload failed version="4.20.3"`, -60)),
		blocks("by its image alone", asked(desiredUpdate{Image: image("4.20.5")})),
		gives("refused", other, accepts("False", `Retrieving payload failed version="4.20.5"`, -1)),
		gives("refused, by its image", asked(desiredUpdate{Image: image("4.20.5")}), accepts("False", `Retrieving payload failed version="" image="`+image("4.20.5")+`"`, 0)),
		gives("not understood", other, is("Invalid", "True", "no such update", 0)),
		gives("only looked at", asked(desiredUpdate{Version: "4.20.5", Mode: "Preflight"})),
		gives("what runs, by its image alone", asked(desiredUpdate{Image: image("4.20.4")})),
		gives("nothing", asked(desiredUpdate{Architecture: "Multi"})),
	})
}

// TestLookIsNoRequest: a cluster that was asked only whether an update would be possible is on no way.
func TestLookIsNoRequest(t *testing.T) {
	if next := running("4.20.4", asked(desiredUpdate{Version: "4.20.5", Mode: "Preflight"})).Next(); next != "" {
		t.Errorf("it is on its way to %q", next)
	}
}

// TestConditionsThatSayNothing: what is refused without a message is refused all the same, and no sentence ends in the middle.
func TestConditionsThatSayNothing(t *testing.T) {
	was, offered := asked(desiredUpdate{Version: "4.20.5"}), available("4.20.5")
	silent := func(kind, status string) func(*State) { return is(kind, status, " \n.", -60) }
	want := Want{Version: "4.20.5"}
	run(t, []row{
		{name: "invalid", state: running("4.20.4", offered, was, silent("Invalid", "True")), want: want, verdict: model.VerdictBlocked, reason: reasonRefused, says: []string{": " + unsaid}},
		{name: "refused", state: running("4.20.4", offered, was, silent("ReleaseAccepted", "False")), want: want, verdict: model.VerdictBlocked, reason: reasonRefused, says: []string{": " + unsaid}},
		{name: "failing", state: running("4.20.4", offered, silent("Failing", "True")), want: want, verdict: model.VerdictBlocked, reason: reasonFailing, says: []string{"reports a failure: " + unsaid}},
		{name: "fails at it", state: running("4.20.4", towards("4.20.5", -90, ""), silent("Failing", "True")), want: want, verdict: model.VerdictFailed, reason: reasonFailed, says: []string{"fails: " + unsaid}},
		{name: "not available", state: running("4.20.4", offered, silent("Available", "False")), want: want, verdict: model.VerdictBlocked, reason: reasonNotAvailable, says: []string{"available: " + unsaid}},
		{name: "at work", state: running("4.20.4", offered, silent("Progressing", "True")), want: want, verdict: model.VerdictBlocked, reason: reasonOtherUpdate, says: []string{"being updated: " + unsaid}},
		{
			name: "a risk", state: running("4.20.4", risky("4.20.5", ""), func(s *State) { s.version.Conditional[0].Risks = []conditionalRisk{{}} }), want: want,
			verdict: model.VerdictBlocked, reason: reasonNotRecommended, says: []string{"a risk without a name: " + unsaid + ". To accept"},
		},
		{
			name: "no risk", want: want, state: running("4.20.4", func(s *State) { s.version.Conditional = []conditional{{payload: release("4.20.5")}} }),
			verdict: model.VerdictBlocked, reason: reasonNotRecommended, says: []string{"for this cluster: " + unsaid},
		},
		{
			name: "a release", want: want, verdict: model.VerdictBlocked, reason: reasonOtherUpdate, says: []string{"Update to a release without a name begins"},
			state: running("4.20.4", func(s *State) { s.version.History = append([]historyEntry{{Started: at(-1)}}, s.version.History...) }),
		},
	})
	pools := running("4.20.4", pool(model.Pool{Name: "worker", Degraded: true}))
	if got := pools.Obstacles(); len(got) != 1 || !strings.HasSuffix(got[0], "is degraded: "+unsaid) {
		t.Errorf("of a pool it says %q", got)
	}
}

// TestHostileTexts: what an API server says steers no terminal, ends no command, shows no secret, and is short.
func TestHostileTexts(t *testing.T) {
	const steers, secret = "\x1b[2J\u202e\u009b", "https://admin:hunter22@proxy.example.com/graph?token=hunter22"
	bad := steers + secret
	want := Want{Version: "4.20.5"}
	many := make([]conditionalRisk, 500)
	for i := range many {
		many[i] = conditionalRisk{Name: bad, Message: strings.Repeat(bad, 90), URL: bad + strings.Repeat("x", 9000)}
	}
	for name, s := range map[string]*State{
		"fails":       running("4.20.4", available("4.20.5"), is("Failing", "True", bad, -60)),
		"refuses":     running("4.20.4", available("4.20.5"), asked(desiredUpdate{Version: "4.20.5"}), is("Invalid", "True", bad, -60)),
		"progress":    running("4.20.4", towards("4.20.5", -5, "Unable to apply 4.20.5: "+bad)),
		"no graph":    running("4.20.4", is("RetrievedUpdates", "False", bad, -60)),
		"many images": running("4.20.4", func(s *State) { s.version.Available = manyImages(5000) }),
		"risks": running("4.20.4", func(s *State) {
			s.version.Conditional = []conditional{{payload: release("4.20.5"), Risks: many}}
		}),
	} {
		texts := []string{s.Decide(&want).Message}
		for _, u := range s.Updates() {
			texts = append(texts, u.Risks...)
		}
		for _, text := range append(texts, s.Obstacles()...) {
			if escape.Needed(text) || strings.Contains(text, "hunter22") || len(text) > mostRisks*3*longest {
				t.Errorf("%s: %d bytes: %.900q", name, len(text), text)
			}
		}
	}
	for _, text := range []string{strings.Repeat(" \n", 9<<20) + "x", strings.Repeat("x", 9<<20)} {
		if got := oneLine(text); len(got) > longest+len("…") {
			t.Errorf("a text of %d bytes has %d", len(text), len(got))
		}
	}
}

func manyImages(count int) []payload {
	var list []payload
	for i := range count {
		list = append(list, payload{Version: "4.20.5", Image: repository + strings.Repeat("a", i%60) + strings.Repeat("b", i/60)})
	}
	return list
}

// TestHostileNamesInCommands: a command that is shown is one, however a channel, a pool or a gate is called.
func TestHostileNamesInCommands(t *testing.T) {
	channel := running("4.19.4", on("x; reboot #-4.19")).Decide(&Want{Version: "4.20.5"})
	if strings.Contains(channel.Message, "channel x; reboot") {
		t.Errorf("of a channel it says %s", channel.Message)
	}
	notes := running("4.20.4", available("4.20.5"), pool(model.Pool{Name: "w; reboot", Paused: true})).Decide(&Want{Version: "4.20.5"}).Notes
	if len(notes) != 1 || !strings.Contains(notes[0], "kubectl patch machineconfigpool 'w; reboot' --type") {
		t.Errorf("of a pool it says %q", notes)
	}
	gates := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: gateNamespace, Name: gateName}, Data: map[string]string{"ack-4.19-x'; reboot #": "Agree", "ack-4.19-y": "Agree"}}
	want := &Want{Version: "4.20.5"}
	s, err := Read(t.Context(), newWorkload(t, object(t, theVersion), gates), at(0), want)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.gates) != 1 || s.gates[0].Name != "ack-4.19-y" {
		t.Errorf("the gates are %+v", s.gates)
	}
}

// TestOddClusters: what a cluster says that is not installed, or was asked for what it cannot do, is shown; an update without a
// version is not.
func TestOddClusters(t *testing.T) {
	fresh := &State{version: &clusterVersion{Available: []payload{{Image: "x"}}, Conditional: []conditional{{}}}}
	if got := fresh.Obstacles(); len(got) != 1 || !strings.Contains(got[0], "is not installed") || len(fresh.Updates()) != 0 {
		t.Errorf("of a cluster without history it says %q, %v", got, fresh.Updates())
	}
	refused := running("4.20.4", asked(desiredUpdate{Image: "x"}), is("Invalid", "True", "nobody knows x", 0))
	if got := refused.Obstacles(); len(got) != 1 || !strings.HasSuffix(got[0], "the requested update: nobody knows x") {
		t.Errorf("of a refusal it says %q", got)
	}
}

// TestAnotherCluster is neither read nor asked.
func TestAnotherCluster(t *testing.T) {
	const id = "5C1E2D5E-9a54-4a5c-8a60-2c8f7a5f3c11"
	for meant, other := range map[string]bool{"": false, id: false, "5c1e2d5e": true} {
		s, err := Read(t.Context(), newWorkload(t, object(t, theVersion)), at(0), &Want{Version: "4.20.5", ClusterID: meant})
		if (s == nil) != other || (err != nil) != other || other && (!strings.Contains(err.Error(), strings.ToLower(id)) || model.FaultOf(err).Code != model.CodeInput) {
			t.Errorf("meant is %q: %+v, %v", meant, s, err)
		}
	}
}

// TestGatesWithoutTarget: a cluster that does not say where it is brought to has the gates of the version that it runs.
func TestGatesWithoutTarget(t *testing.T) {
	of := object(t, strings.Replace(theVersion, "desired: {version: 4.19.7,", "desired: {", 1))
	w := newWorkload(t, of, configMap(gateNamespace, gateName, map[string]string{"ack-4.19-y": "Agree"}))
	d, err := turn(t, w, &Want{Version: "4.20.5"})
	if err != nil || d.Reason != reasonAdminAckRequired || len(w.writes) != 0 {
		t.Errorf("it is %+v, %v: %q", d, err, w.writes)
	}
}
