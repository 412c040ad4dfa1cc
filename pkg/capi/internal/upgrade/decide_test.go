package upgrade

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const repository = "quay.io/openshift-release-dev/ocp-release@sha256:"

// image is the release image of a version.
func image(version string) string {
	return repository + strings.Repeat("0", 64-len(version)) + version
}

func release(version string) Release { return Release{Version: version, Image: image(version)} }

func releases(versions ...string) []Release {
	var list []Release
	for _, v := range versions {
		list = append(list, release(v))
	}
	return list
}

func at(minutes int) time.Time {
	return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

func completed(version string) Update {
	return Update{Release: release(version), Completed: true, Started: at(-600)}
}

func partial(version string, minutes int) Update {
	return Update{Release: release(version), Started: at(minutes)}
}

// running is a cluster that is well, with what is other about it.
func running(version string, edits ...func(*State)) *State {
	s := &State{At: at(0), Version: &ClusterVersion{
		ResourceVersion: "7", Generation: 3, Observed: 3, Channel: "stable-4.20", Target: release(version), History: []Update{completed(version)},
		Conditions: map[string]Condition{
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
	return func(s *State) { s.Version.Available = releases(versions...) }
}

func is(kind, status, message string, minutes int) func(*State) {
	return func(s *State) {
		s.Version.Conditions[kind] = Condition{Status: status, Message: message, Since: at(minutes)}
	}
}

func asked(a Asked) func(*State) { return func(s *State) { s.Version.Asked = &a } }

func on(channel string) func(*State) { return func(s *State) { s.Version.Channel = channel } }

// towards has the cluster on its way to a version since so many minutes, with what it says of it.
func towards(version string, minutes int, message string) func(*State) {
	return func(s *State) {
		s.Version.Target = release(version)
		s.Version.History = append([]Update{partial(version, minutes)}, s.Version.History...)
		is("Progressing", "True", message, minutes)(s)
	}
}

func risky(version, risk string) func(*State) {
	return func(s *State) {
		s.Version.Conditional = append(s.Version.Conditional, Conditional{
			Release: release(version), Reason: risk, Message: "It may break.\nSee the page.", Risks: []Risk{{Name: risk, Message: "It may\nbreak.", URL: "https://example.com/" + risk}},
		})
	}
}

func gate(name string, acknowledged bool) func(*State) {
	return func(s *State) {
		s.Gates = append(s.Gates, Gate{Name: name, Message: "Kubernetes 1.33 removes APIs.", Acknowledged: acknowledged})
	}
}

func pool(p Pool) func(*State) { return func(s *State) { s.Pools = append(s.Pools, p) } }

func behind(s *State) { s.Version.Generation++ }

type row struct {
	name   string
	state  *State
	want   Want
	phase  Phase
	reason string
	says   []string // of the message
	notes  []string
	update *UpdateRequest
	write  *Request // one that is no update
}

func (r *row) check(t *testing.T) {
	t.Helper()
	d := Decide(r.state, &r.want)
	if d.Phase != r.phase || d.Reason != r.reason {
		t.Errorf("it is %s, %s (%s), and should be %s, %s", d.Phase, d.Reason, d.Message, r.phase, r.reason)
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
		if d.Request == nil || d.Request.Update == nil || *d.Request.Update != *r.update {
			t.Errorf("it asks for %+v, and should for %+v", d.Request, r.update)
		} else if d.Request.resourceVersion != "7" {
			t.Error("the request does not say what it was decided on")
		}
	case r.write != nil:
		if d.Request == nil || d.Request.Channel != r.write.Channel || !slices.Equal(d.Request.Acknowledge, r.write.Acknowledge) || d.Request.Update != nil {
			t.Errorf("it asks for %+v, and should for %+v", d.Request, r.write)
		}
	case d.Request != nil:
		t.Errorf("it asks for %+v", d.Request)
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
		{name: "no version is wanted", state: running("4.20.4"), phase: Idle, reason: ReasonNotWanted},
		{name: "no ClusterVersion", state: &State{}, want: Want{Version: "4.20.5"}, phase: Idle, reason: ReasonNotInstalled},
		{name: "no history", state: &State{Version: &ClusterVersion{}}, want: Want{Version: "4.20.5"}, phase: Idle, reason: ReasonNotInstalled},
		{
			name: "it is being installed", state: running("4.20.4", func(s *State) { s.Version.History[0].Completed = false }), want: Want{Version: "4.20.5"},
			phase: Idle, reason: ReasonNotInstalled,
		},
		{
			name: "it is being installed with the wanted version", state: running("4.20.4", func(s *State) { s.Version.History[0].Completed = false }), want: Want{Version: "4.20.4"},
			phase: Idle, reason: ReasonNotInstalled,
		},
		{name: "it runs the version", state: running("4.20.4"), want: Want{Version: "4.20.4"}, phase: Done, reason: ReasonDone},
		{
			name: "it runs the version and fails at something else", state: running("4.20.4", is("Failing", "True", "x", -60), is("Available", "False", "y", -60)), want: Want{Version: "4.20.4"},
			phase: Done, reason: ReasonDone,
		},
		{
			name:  "it runs the version, by another image of it",
			state: running("4.20.4"), want: Want{Version: "4.20.4", Image: image("4.20.9")}, phase: Done, reason: ReasonDone,
		},
		{
			name: "it runs the version by image, and the history has no version",
			state: running("4.20.4", func(s *State) {
				s.Version.History = append([]Update{{Release: Release{Image: "mirror.example.com/ocp" + digestMark + strings.TrimPrefix(image("4.20.5"), repository)}, Completed: true}}, s.Version.History...)
			}),
			want: Want{Version: "4.20.5", Image: image("4.20.5")}, phase: Done, reason: ReasonDone,
		},
		{
			name: "somebody has asked for another version", state: running("4.20.4", asked(Asked{Version: "4.20.6"})), want: Want{Version: "4.20.4"},
			phase: Done, reason: ReasonDone, notes: []string{"asks for 4.20.6", "oc adm upgrade --clear"},
		},
		{
			name: "its channel is another", state: running("4.20.4"), want: Want{Version: "4.20.4", Channel: "fast-4.20"},
			phase: Done, reason: ReasonDone, write: &Request{Channel: "fast-4.20"},
		},
	})
}

func TestRequests(t *testing.T) {
	run(t, []row{
		{
			name: "a patch", state: running("4.20.4", available("4.20.6", "4.20.5")), want: Want{Version: "4.20.5"},
			phase: Requesting, reason: ReasonRequesting, says: []string{"from 4.20.4 to 4.20.5"}, update: &UpdateRequest{Version: "4.20.5"},
		},
		{
			name: "a patch, of a cluster that takes no minor version", state: running("4.20.4", available("4.20.5"), is("Upgradeable", "False", "an operator says no", -60)), want: Want{Version: "4.20.5"},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5"},
		},
		{
			name: "a minor version", state: running("4.19.20", available("4.20.5"), gate("ack-4.19-kube", true)), want: Want{Version: "4.20.5"},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5"},
		},
		{
			name: "a minor version that nobody knows whether the cluster takes", state: running("4.19.20", available("4.20.5"), is("Upgradeable", "Unknown", "x", -60)), want: Want{Version: "4.20.5"},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5"},
		},
		{
			name: "the next major version", state: running("4.23.4", available("5.0.1"), on("stable-5.0")), want: Want{Version: "5.0.1"},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "5.0.1"},
		},
		{
			name: "a candidate", state: running("4.20.4", available("4.21.0-rc.1")), want: Want{Version: "4.21.0-rc.1"}, // a channel of the minor version before may have it
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.21.0-rc.1"},
		},
		{
			name: "by image, without a graph", state: running("4.20.4", is("RetrievedUpdates", "False", "no route", -60), on("")), want: Want{Version: "4.20.5", Image: image("4.20.5")},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5", Image: image("4.20.5")},
		},
		{
			name: "by image, though the graph has it", state: running("4.20.4", available("4.20.5")), want: Want{Version: "4.20.5", Image: image("4.20.5")},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5", Image: image("4.20.5")},
		},
		{
			name: "a risk that was accepted", state: running("4.20.4", risky("4.20.5", "Trouble")), want: Want{Version: "4.20.5", AcceptConditional: true},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5", Image: image("4.20.5")},
		},
		{
			name: "a risk that this cluster does not run", state: running("4.20.4", risky("4.20.5", "Trouble"), available("4.20.5")), want: Want{Version: "4.20.5"},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5"},
		},
		{
			name: "a risk that was judged a moment ago", state: running("4.20.4", risky("4.20.5", "Trouble"), func(s *State) { s.Version.Conditional[0].Recommended = true }), want: Want{Version: "4.20.5"},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5", Image: image("4.20.5")},
		},
		{
			name: "the next one, after one that was asked for long ago, with force", state: running("4.20.4", available("4.20.5"), asked(Asked{Version: "4.20.4", Image: image("4.20.4"), Force: true})),
			want: Want{Version: "4.20.5"}, phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5"},
		},
		{
			name: "instead of one that the cluster refuses", want: Want{Version: "4.20.5"},
			state: running("4.20.4", available("4.20.5"), asked(Asked{Version: "4.20.7"}), is("ReleaseAccepted", "False", `Retrieving payload failed version="4.20.7"`, -30), is("Invalid", "True", "x", -30)),
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5"},
		},
		{
			name: "instead of looking only whether it would be possible", state: running("4.20.4", available("4.20.5"), asked(Asked{Version: "4.20.5", Mode: "Preflight"})), want: Want{Version: "4.20.5"},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5"},
		},
		{
			name: "now by image, that was asked for by version and refused", state: running("4.20.4", asked(Asked{Version: "4.20.5"}), is("Invalid", "True", "no such update", -30)),
			want: Want{Version: "4.20.5", Image: image("4.20.5")}, phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5", Image: image("4.20.5")},
		},
		{
			name: "its channel first", state: running("4.19.4", on("stable-4.19")), want: Want{Version: "4.20.5", Channel: "stable-4.20"},
			phase: Requesting, reason: ReasonRequesting, write: &Request{Channel: "stable-4.20"},
		},
		{
			name: "gates that were agreed to", state: running("4.19.20", available("4.20.5"), gate("ack-4.19-a", false), gate("ack-4.19-b", true)),
			want:  Want{Version: "4.20.5", Acknowledge: []string{"ack-4.19-a", "ack-4.19-b", "ack-4.18-c"}},
			phase: Requesting, reason: ReasonRequesting, write: &Request{Acknowledge: []string{"ack-4.19-a"}},
		},
	})
}

func TestForce(t *testing.T) {
	unwell := []func(*State){is("Failing", "True", "x", -60), is("Available", "False", "y", -60), is("Upgradeable", "False", "z", -60), gate("ack-4.19-a", false)}
	run(t, []row{
		{
			name: "of another version", state: running("4.20.4", available("4.20.5")), want: Want{Version: "4.20.5", Force: "4.20.6"},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5"}, notes: []string{`oaictl.io/force-upgrade is "4.20.6"`},
		},
		{
			name: "by a word", state: running("4.20.4", available("4.20.5")), want: Want{Version: "4.20.5", Force: "true"},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5"}, notes: []string{"forces nothing"},
		},
		{
			name: "of the version, which the graph has", state: running("4.20.4", available("4.20.5")), want: Want{Version: "4.20.5", Force: "4.20.5"},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5", Image: image("4.20.5"), Force: true},
		},
		{
			name: "of a cluster with everything against it", state: running("4.19.4", append(unwell, available("4.20.5"))...), want: Want{Version: "4.20.5", Force: "4.20.5"},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5", Image: image("4.20.5"), Force: true},
		},
		{
			name: "of a version with risks", state: running("4.20.4", risky("4.20.5", "Trouble")), want: Want{Version: "4.20.5", Force: "4.20.5"},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5", Image: image("4.20.5"), Force: true},
		},
		{
			name: "by image", state: running("4.20.4"), want: Want{Version: "4.20.5", Force: "4.20.5", Image: image("4.20.5")},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5", Image: image("4.20.5"), Force: true},
		},
		{
			name: "by image without digest", state: running("4.20.4"), want: Want{Version: "4.20.5", Force: "4.20.5", Image: "quay.io/a/b:4.20.5"},
			phase: Blocked, reason: ReasonImageUnavailable, says: []string{"without its digest"},
		},
		{
			name: "of a version that nobody knows", state: running("4.20.4", available("4.20.6")), want: Want{Version: "4.20.5", Force: "4.20.5"},
			phase: Blocked, reason: ReasonImageUnavailable, says: []string{"spec.config.releaseImage"},
		},
		{
			name: "backwards", state: running("4.20.4"), want: Want{Version: "4.20.3", Force: "4.20.3", Image: image("4.20.3")},
			phase: Blocked, reason: ReasonDowngradeRefused,
		},
		{
			name: "over a minor version", state: running("4.18.4", available("4.20.5")), want: Want{Version: "4.20.5", Force: "4.20.5"},
			phase: Blocked, reason: ReasonMinorSkipped,
		},
		{
			name: "while another update goes on", state: running("4.20.4", towards("4.20.5", -5, "Working towards 4.20.5"), available("4.20.6")), want: Want{Version: "4.20.6", Force: "4.20.6"},
			phase: Blocked, reason: ReasonOtherUpdate,
		},
		{
			name: "while another update fails", want: Want{Version: "4.20.6", Force: "4.20.6"},
			state: running("4.20.4", towards("4.20.5", -5, "Working towards 4.20.5"), available("4.20.6"), is("Failing", "True", "x", -2)),
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.6", Image: image("4.20.6"), Force: true},
		},
		{
			name: "asked for before without force", state: running("4.20.4", available("4.20.5"), asked(Asked{Version: "4.20.5"}), is("ReleaseAccepted", "False", `no signature version="4.20.5"`, -2)),
			want: Want{Version: "4.20.5", Force: "4.20.5"}, phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5", Image: image("4.20.5"), Force: true},
		},
		{
			name: "asked for before by image, without force", state: running("4.20.4", asked(Asked{Version: "4.20.5", Image: image("4.20.5")})), want: Want{Version: "4.20.5", Force: "4.20.5", Image: image("4.20.5")},
			phase: Requesting, reason: ReasonRequesting, update: &UpdateRequest{Version: "4.20.5", Image: image("4.20.5"), Force: true},
		},
		{
			name: "asked for already", state: running("4.20.4", available("4.20.5"), asked(Asked{Version: "4.20.5", Image: image("4.20.5"), Force: true})), want: Want{Version: "4.20.5", Force: "4.20.5"},
			phase: Requested, reason: ReasonRequested,
		},
		{
			name: "asked for by a person", state: running("4.20.4", available("4.20.5"), asked(Asked{Version: "4.20.5", Force: true})), want: Want{Version: "4.20.5"},
			phase: Requested, reason: ReasonRequested,
		},
	})
}
