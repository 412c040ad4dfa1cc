package upgrade

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

const repository = "quay.io/openshift-release-dev/ocp-release@sha256:"

// image is the release image of a version.
func image(version string) string {
	return repository + strings.Repeat("0", 64-len(version)) + version
}

func release(version string) payload { return payload{Version: version, Image: image(version)} }

func releases(versions ...string) []payload {
	var list []payload
	for _, v := range versions {
		list = append(list, release(v))
	}
	return list
}

func at(minutes int) time.Time {
	return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

func completed(version string) historyEntry {
	return historyEntry{payload: release(version), Completed: true, Started: at(-600)}
}

func partial(version string, minutes int) historyEntry {
	return historyEntry{payload: release(version), Started: at(minutes)}
}

// running is a cluster that is well, with what is other about it.
func running(version string, edits ...func(*State)) *State {
	s := &State{At: at(0), version: &clusterVersion{
		ResourceVersion: "7", Generation: 3, Observed: 3, Channel: "stable-4.20", Target: release(version), History: []historyEntry{completed(version)},
		Conditions: map[string]condition{
			"Available":        {Status: "True", Message: "Done applying " + version, Since: at(-500)},
			"Failing":          {Status: "False", Since: at(-500)},
			"Progressing":      {Status: "False", Message: "Cluster version is " + version, Since: at(-500)},
			"RetrievedUpdates": {Status: "True", Since: at(-500)},
			"ReleaseAccepted":  {Status: "True", Reason: "PayloadLoaded", Message: `Payload loaded version="` + version + `"`, Since: at(-500)},
		},
	}}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func available(versions ...string) func(*State) {
	return func(s *State) { s.version.Available = releases(versions...) }
}

func is(kind, status, message string, minutes int) func(*State) {
	return func(s *State) {
		s.version.Conditions[kind] = condition{Status: status, Message: message, Since: at(minutes)}
	}
}

func asked(a desiredUpdate) func(*State) { return func(s *State) { s.version.Asked = &a } }

func on(channel string) func(*State) { return func(s *State) { s.version.Channel = channel } }

// towards has the cluster on its way to a version since so many minutes, with what it says of it.
func towards(version string, minutes int, message string) func(*State) {
	return func(s *State) {
		s.version.Target = release(version)
		s.version.History = append([]historyEntry{partial(version, minutes)}, s.version.History...)
		is("Progressing", "True", message, minutes)(s)
	}
}

func risky(version, risk string) func(*State) {
	return func(s *State) {
		s.version.Conditional = append(s.version.Conditional, conditional{
			payload: release(version), Reason: risk, Message: "It may break.\nSee the page.", Risks: []conditionalRisk{{Name: risk, Message: "It may\nbreak.", URL: "https://example.com/" + risk}},
		})
	}
}

func gate(name string, acknowledged bool) func(*State) {
	return func(s *State) {
		s.gates = append(s.gates, adminGate{Name: name, Message: "Kubernetes 1.33 removes APIs.", Acknowledged: acknowledged})
	}
}

func pool(p model.Pool) func(*State) { return func(s *State) { s.Pools = append(s.Pools, p) } }

func behind(s *State) { s.version.Generation++ }

type row struct {
	name    string
	state   *State
	want    Want
	verdict model.Verdict
	reason  string
	says    []string // of the message
	notes   []string
	update  *updateRequest
	write   *writeRequest // one that is no update
}

func (r *row) check(t *testing.T) {
	t.Helper()
	r.want.Fields.Version, r.want.Fields.Image = "distributionVersion", "spec.config.releaseImage"
	r.want.Fields.Channel, r.want.Fields.AcceptConditional = "spec.upgrade.channel", "spec.upgrade.acceptConditional"
	d := r.state.Decide(&r.want)
	if d.Verdict != r.verdict || d.Reason != r.reason {
		t.Errorf("it is %s, %s (%s), and should be %s, %s", d.Verdict, d.Reason, d.Message, r.verdict, r.reason)
	}
	for _, text := range r.says {
		if !strings.Contains(d.Message, text) {
			t.Errorf("the message %q does not say %q", d.Message, text)
		}
	}
	for _, text := range r.notes {
		if !slices.ContainsFunc(d.Notes, func(note string) bool { return strings.Contains(note, text) }) {
			t.Errorf("the notes %q do not say %q", d.Notes, text)
		}
	}
	if r.notes == nil && len(d.Notes) > 0 {
		t.Errorf("there are notes: %q", d.Notes)
	}
	switch {
	case r.update != nil:
		if d.request == nil || d.request.Update == nil || *d.request.Update != *r.update {
			t.Errorf("it asks for %+v, and should for %+v", d.request, r.update)
		} else if d.request.resourceVersion != "7" {
			t.Error("the request does not say what it was decided on")
		}
	case r.write != nil:
		if d.request == nil || d.request.Channel != r.write.Channel || !slices.Equal(d.request.Acknowledge, r.write.Acknowledge) || d.request.Update != nil {
			t.Errorf("it asks for %+v, and should for %+v", d.request, r.write)
		}
	case d.request != nil:
		t.Errorf("it asks for %+v", d.request)
	}
}

func run(t *testing.T, rows []row) {
	t.Helper()
	for i := range rows {
		t.Run(rows[i].name, func(t *testing.T) { rows[i].check(t) })
	}
}

func TestNothingToDo(t *testing.T) {
	run(t, []row{
		{name: "no version is wanted", state: running("4.20.4"), verdict: "", reason: reasonNotWanted},
		{name: "no ClusterVersion", state: &State{}, want: Want{Version: "4.20.5"}, verdict: "", reason: reasonNotInstalled},
		{name: "no history", state: &State{version: &clusterVersion{}}, want: Want{Version: "4.20.5"}, verdict: "", reason: reasonNotInstalled},
		{
			name: "it is being installed", state: running("4.20.4", func(s *State) { s.version.History[0].Completed = false }), want: Want{Version: "4.20.5"},
			verdict: "", reason: reasonNotInstalled,
		},
		{
			name: "it is being installed with the wanted version", state: running("4.20.4", func(s *State) { s.version.History[0].Completed = false }), want: Want{Version: "4.20.4"},
			verdict: "", reason: reasonNotInstalled,
		},
		{name: "it runs the version", state: running("4.20.4"), want: Want{Version: "4.20.4"}, verdict: model.VerdictInstalled, reason: reasonDone},
		{
			name: "it runs the version and fails at something else", state: running("4.20.4", is("Failing", "True", "x", -60), is("Available", "False", "y", -60)), want: Want{Version: "4.20.4"},
			verdict: model.VerdictInstalled, reason: reasonDone,
		},
		{
			name:  "it runs the version, by another image of it",
			state: running("4.20.4"), want: Want{Version: "4.20.4", Image: image("4.20.9")}, verdict: model.VerdictInstalled, reason: reasonDone,
		},
		{
			name: "it runs the version by image, and the history has no version",
			state: running("4.20.4", func(s *State) {
				s.version.History = append([]historyEntry{{payload: payload{Image: "mirror.example.com/ocp" + digestMark + strings.TrimPrefix(image("4.20.5"), repository)}, Completed: true}}, s.version.History...)
			}),
			want: Want{Version: "4.20.5", Image: image("4.20.5")}, verdict: model.VerdictInstalled, reason: reasonDone,
		},
		{
			name: "somebody has asked for another version", state: running("4.20.4", asked(desiredUpdate{Version: "4.20.6"})), want: Want{Version: "4.20.4"},
			verdict: model.VerdictInstalled, reason: reasonDone, notes: []string{"ClusterVersion requests 4.20.6", "oc adm upgrade --clear"},
		},
		{
			name: "its channel is another", state: running("4.20.4"), want: Want{Version: "4.20.4", Channel: "fast-4.20"},
			verdict: model.VerdictInstalled, reason: reasonDone, write: &writeRequest{Channel: "fast-4.20"},
		},
	})
}

func TestRequests(t *testing.T) {
	run(t, []row{
		{
			name: "a patch", state: running("4.20.4", available("4.20.6", "4.20.5")), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWorking, reason: reasonRequesting, says: []string{"from 4.20.4 to 4.20.5"}, update: &updateRequest{Version: "4.20.5"},
		},
		{
			name: "a patch, of a cluster that takes no minor version", state: running("4.20.4", available("4.20.5"), is("Upgradeable", "False", "an operator says no", -60)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5"},
		},
		{
			name: "a minor version", state: running("4.19.20", available("4.20.5"), gate("ack-4.19-kube", true)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5"},
		},
		{
			name: "a minor version that nobody knows whether the cluster takes", state: running("4.19.20", available("4.20.5"), is("Upgradeable", "Unknown", "x", -60)), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5"},
		},
		{
			name: "the next major version", state: running("4.23.4", available("5.0.1"), on("stable-5.0")), want: Want{Version: "5.0.1"},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "5.0.1"},
		},
		{
			name: "a candidate", state: running("4.20.4", available("4.21.0-rc.1")), want: Want{Version: "4.21.0-rc.1"}, // a channel of the minor version before may have it
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.21.0-rc.1"},
		},
		{
			name: "by image, without a graph", state: running("4.20.4", is("RetrievedUpdates", "False", "no route", -60), on("")), want: Want{Version: "4.20.5", Image: image("4.20.5")},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5", Image: image("4.20.5")},
		},
		{
			name: "by image, though the graph has it", state: running("4.20.4", available("4.20.5")), want: Want{Version: "4.20.5", Image: image("4.20.5")},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5", Image: image("4.20.5")},
		},
		{
			name: "a risk that was accepted", state: running("4.20.4", risky("4.20.5", "Trouble")), want: Want{Version: "4.20.5", AcceptConditional: true},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5", Image: image("4.20.5")},
		},
		{
			name: "a risk that this cluster does not run", state: running("4.20.4", risky("4.20.5", "Trouble"), available("4.20.5")), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5"},
		},
		{
			name: "a risk that was judged a moment ago", state: running("4.20.4", risky("4.20.5", "Trouble"), func(s *State) { s.version.Conditional[0].Recommended = true }), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5", Image: image("4.20.5")},
		},
		{
			name: "the next one, after one that was asked for long ago, with force", state: running("4.20.4", available("4.20.5"), asked(desiredUpdate{Version: "4.20.4", Image: image("4.20.4"), Force: true})),
			want: Want{Version: "4.20.5"}, verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5"},
		},
		{
			name: "instead of one that the cluster refuses", want: Want{Version: "4.20.5"},
			state:   running("4.20.4", available("4.20.5"), asked(desiredUpdate{Version: "4.20.7"}), is("ReleaseAccepted", "False", `Retrieving payload failed version="4.20.7"`, -30), is("Invalid", "True", "x", -30)),
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5"},
		},
		{
			name: "instead of looking only whether it would be possible", state: running("4.20.4", available("4.20.5"), asked(desiredUpdate{Version: "4.20.5", Mode: "Preflight"})), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5"},
		},
		{
			name: "now by image, that was asked for by version and refused", state: running("4.20.4", asked(desiredUpdate{Version: "4.20.5"}), is("Invalid", "True", "no such update", -30)),
			want: Want{Version: "4.20.5", Image: image("4.20.5")}, verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5", Image: image("4.20.5")},
		},
		{
			name: "its channel first", state: running("4.19.4", on("stable-4.19")), want: Want{Version: "4.20.5", Channel: "stable-4.20"},
			verdict: model.VerdictWorking, reason: reasonRequesting, write: &writeRequest{Channel: "stable-4.20"},
		},
		{
			name: "gates that were agreed to", state: running("4.19.20", available("4.20.5"), gate("ack-4.19-a", false), gate("ack-4.19-b", true)),
			want:    Want{Version: "4.20.5", Acknowledge: []string{"ack-4.19-a", "ack-4.19-b", "ack-4.18-c"}},
			verdict: model.VerdictWorking, reason: reasonRequesting, write: &writeRequest{Acknowledge: []string{"ack-4.19-a"}},
		},
	})
}

func TestForce(t *testing.T) {
	unwell := []func(*State){is("Failing", "True", "x", -60), is("Available", "False", "y", -60), is("Upgradeable", "False", "z", -60), gate("ack-4.19-a", false)}
	run(t, []row{
		{
			name: "of the version, which the graph has", state: running("4.20.4", available("4.20.5")), want: Want{Version: "4.20.5", Force: true},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5", Image: image("4.20.5"), Force: true},
		},
		{
			name: "of a cluster with everything against it", state: running("4.19.4", append(unwell, available("4.20.5"))...), want: Want{Version: "4.20.5", Force: true},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5", Image: image("4.20.5"), Force: true},
		},
		{
			name: "of a version with risks", state: running("4.20.4", risky("4.20.5", "Trouble")), want: Want{Version: "4.20.5", Force: true},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5", Image: image("4.20.5"), Force: true},
		},
		{
			name: "by image", state: running("4.20.4"), want: Want{Version: "4.20.5", Force: true, Image: image("4.20.5")},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5", Image: image("4.20.5"), Force: true},
		},
		{
			name: "by image without digest", state: running("4.20.4"), want: Want{Version: "4.20.5", Force: true, Image: "quay.io/a/b:4.20.5"},
			verdict: model.VerdictBlocked, reason: reasonImageUnavailable, says: []string{"has no digest"},
		},
		{
			name: "of a version that nobody knows", state: running("4.20.4", available("4.20.6")), want: Want{Version: "4.20.5", Force: true},
			verdict: model.VerdictBlocked, reason: reasonImageUnavailable, says: []string{"spec.config.releaseImage"},
		},
		{
			name: "backwards", state: running("4.20.4"), want: Want{Version: "4.20.3", Force: true, Image: image("4.20.3")},
			verdict: model.VerdictBlocked, reason: reasonDowngradeRefused,
		},
		{
			name: "over a minor version", state: running("4.18.4", available("4.20.5")), want: Want{Version: "4.20.5", Force: true},
			verdict: model.VerdictBlocked, reason: reasonMinorSkipped,
		},
		{
			name: "while another update goes on", state: running("4.20.4", towards("4.20.5", -5, "Working towards 4.20.5"), available("4.20.6")), want: Want{Version: "4.20.6", Force: true},
			verdict: model.VerdictBlocked, reason: reasonOtherUpdate,
		},
		{
			name: "while another update fails", want: Want{Version: "4.20.6", Force: true},
			state:   running("4.20.4", towards("4.20.5", -5, "Working towards 4.20.5"), available("4.20.6"), is("Failing", "True", "x", -2)),
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.6", Image: image("4.20.6"), Force: true},
		},
		{
			name: "asked for before without force", state: running("4.20.4", available("4.20.5"), asked(desiredUpdate{Version: "4.20.5"}), is("ReleaseAccepted", "False", `no signature version="4.20.5"`, -2)),
			want: Want{Version: "4.20.5", Force: true}, verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5", Image: image("4.20.5"), Force: true},
		},
		{
			name: "asked for before by image, without force", state: running("4.20.4", asked(desiredUpdate{Version: "4.20.5", Image: image("4.20.5")})), want: Want{Version: "4.20.5", Force: true, Image: image("4.20.5")},
			verdict: model.VerdictWorking, reason: reasonRequesting, update: &updateRequest{Version: "4.20.5", Image: image("4.20.5"), Force: true},
		},
		{
			name: "asked for already", state: running("4.20.4", available("4.20.5"), asked(desiredUpdate{Version: "4.20.5", Image: image("4.20.5"), Force: true})), want: Want{Version: "4.20.5", Force: true},
			verdict: model.VerdictWaiting, reason: reasonRequested,
		},
		{
			name: "asked for by a person", state: running("4.20.4", available("4.20.5"), asked(desiredUpdate{Version: "4.20.5", Force: true})), want: Want{Version: "4.20.5"},
			verdict: model.VerdictWaiting, reason: reasonRequested,
		},
	})
}
