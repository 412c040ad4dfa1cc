package progress

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

var update = flag.Bool("update", false, "write the golden files again")

// golden compares with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile(path))(t)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

func number(n int) *int { return &n }

// events are a short install with some trouble.
func events() []model.Event {
	at := func(minute int, e model.Event) model.Event {
		e.V, e.Cluster, e.Time = 1, "lab", noon().Add(time.Duration(minute)*time.Minute)
		if e.Severity == "" {
			e.Severity = model.SeverityInfo
		}
		return e
	}
	return []model.Event{
		at(0, model.Event{Type: model.EventRun, Key: "cluster/state", State: "Absent"}),
		at(0, model.Event{Type: model.EventAction, Key: "cluster/register", Message: "register the cluster"}),
		at(1, model.Event{Type: model.EventRun, Key: "cluster/state", State: "Discovering", Message: "Cluster is not ready for install"}),
		at(2, model.Event{Type: model.EventHint, Host: "cp-0", Key: "host/cp-0/registered", Message: "waiting for cp-0 to boot"}),
		at(2, model.Event{Type: model.EventHost, Host: "cp-0", State: "Absent", Message: "cp-0 boots: its BMC reads the discovery image, 1 MB of 2 MB fetched"}),
		at(3, model.Event{Type: model.EventHost, Host: "cp-0", State: "Discovering", Message: "Waiting for host to send hardware details"}),
		at(4, model.Event{Type: model.EventHint, Host: "cp-0", Reason: "DiskWillBeWiped", Message: "/dev/sda, 120 GB, will be installed on"}),
		at(5, model.Event{
			Type: model.EventValidation, State: "failure", Severity: model.SeverityWarning, Reason: "ValidationFails",
			Message: "cp-0, cp-1: Host couldn't\nsynchronize with any NTP server", Next: "name servers in spec.network.ntp",
		}),
		at(6, model.Event{Type: model.EventProgress, State: "Installing", Percent: number(0)}),
		at(7, model.Event{Type: model.EventProgress, State: "Installing", Percent: number(12), ETA: number(3660)}),
		at(8, model.Event{Type: model.EventStage, Host: "cp-0", Stage: "Writing image to disk", Percent: number(30)}),
		at(8, model.Event{Type: model.EventStage, Host: "cp-0", Stage: "Writing image to disk", Percent: number(31), Message: "5%"}),
		at(9, model.Event{Type: model.EventStage, Host: "cp-0", Stage: "Writing image to disk", Percent: number(35), Message: "15%"}),
		at(9, model.Event{Type: model.EventStage, Host: "cp-0", Stage: "Writing image to disk", Percent: number(40), Message: "55%"}),
		at(10, model.Event{Type: model.EventProgress, State: "Installing", Percent: number(14)}),
		at(11, model.Event{Type: model.EventStage, Host: "cp-0", Stage: "Waiting for control plane", Message: "waiting for masters to join"}),
		at(12, model.Event{Type: model.EventHost, Host: "cp-1", State: "Failed", Severity: model.SeverityError, Message: "installation \x1b[31mfailed"}),
		at(13, model.Event{Type: model.EventRun, Key: "run/end", State: "failed", ExitCode: number(7), Message: "said elsewhere"}),
	}
}

func TestPlain(t *testing.T) {
	var out strings.Builder
	sink := Plain(&out, time.UTC, false)
	for _, e := range events() {
		sink.Event(e)
		sink.Event(e) // the same again says nothing
	}
	sink.Close()
	golden(t, "plain.txt", out.String())
}

// TestHostsOfBefore are reported on one line, with their number; later events of a host are reported as usual.
func TestHostsOfBefore(t *testing.T) {
	look := func(minute int, e model.Event) model.Event {
		e.Time, e.Severity = noon().Add(time.Duration(minute)*time.Minute), model.SeverityInfo
		return e
	}
	var all []model.Event
	for _, name := range []string{"cp-0", "cp-1", "w-0"} {
		all = append(all, look(0, model.Event{Type: model.EventHost, Host: name, State: "Installed", Message: "Done"}),
			look(0, model.Event{Type: model.EventStage, Host: name, State: "Installed", Stage: "Done"}))
	}
	all = append(all, look(0, model.Event{Type: model.EventRun, State: "AddingHosts", Message: "Cluster is installed"}),
		look(5, model.Event{Type: model.EventStage, Host: "w-1", State: "Added", Stage: "Done"}), look(5, model.Event{Type: model.EventHost, Host: "w-1", State: "Added"}))
	show := func(every bool, events ...model.Event) string {
		var out strings.Builder
		sink := Plain(&out, time.UTC, every)
		for _, e := range events {
			sink.Event(e)
		}
		sink.Close()
		return out.String()
	}
	const want = "12:00:00 3 hosts are part of the cluster already: cp-0, cp-1, w-0\n12:00:00 cluster is AddingHosts: Cluster is installed\n12:05:00 w-1: Done\n12:05:00 w-1 is Added\n"
	check.Equal(t, show(false, all...), want)
	check.Equal(t, show(false, all[0]), "12:00:00 1 host is part of the cluster already: cp-0\n", "alone")
	if got := show(true, all...); strings.Count(got, "is Installed: Done") != 3 {
		t.Errorf("with every line:\n%s", got)
	}
}

// TestChecksAreNoTrouble while the service evaluates them for the first time.
func TestChecksAreNoTrouble(t *testing.T) {
	for want, e := range map[string]model.Event{
		"the service checks the cluster": {Type: model.EventRun, State: "Blocked", Severity: model.SeverityInfo, Message: "not ready"},
		"the service checks cp-0":        {Type: model.EventHost, Host: "cp-0", State: "Blocked", Severity: model.SeverityInfo},
		"cp-0 is Blocked: no disk":       {Type: model.EventHost, Host: "cp-0", State: "Blocked", Severity: model.SeverityWarning, Message: "no disk"},
	} {
		check.Equal(t, sentence(e), want)
	}
}

func TestPlainVerbose(t *testing.T) {
	var out strings.Builder
	sink := Plain(&out, time.UTC, true)
	for _, e := range events() {
		sink.Event(e)
	}
	for _, line := range []string{"Writing image to disk 15%", "14% done"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is left out:\n%s", line, out.String())
		}
	}
}

func TestJSON(t *testing.T) {
	var out strings.Builder
	sink := JSON(&out)
	for _, e := range events() {
		e.View = &model.View{} // never part of the line
		sink.Event(e)
	}
	sink.Close()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(events()) {
		t.Fatalf("%d lines for %d events", len(lines), len(events()))
	}
	for i, line := range lines {
		var back model.Event
		if err := json.Unmarshal([]byte(line), &back); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
		if diff := cmp.Diff(events()[i], back); diff != "" {
			t.Errorf("line %d: %s", i, diff)
		}
	}
}

// picture is a cluster of five hosts in the middle of an install.
func picture() *model.View {
	host := func(name string, role spec.Role, state model.HostState, stage string, percent int, since time.Duration) model.HostView {
		return model.HostView{Name: name, Role: role, State: state, Stage: stage, Percent: percent, Since: noon().Add(-since)}
	}
	view := &model.View{
		Desired:  &model.Desired{Spec: &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}, Spec: spec.ClusterSpec{BaseDomain: "example.com"}}},
		Observed: &model.Observed{At: noon(), Cluster: &model.Cluster{State: model.ClusterInstalling}},
		Percent:  42, ETA: 31 * time.Minute,
		Hosts: []model.HostView{
			host("cp-0", spec.ControlPlane, model.HostInstalling, "Writing image to disk 45%", 37, 2*time.Minute),
			host("cp-1", spec.ControlPlane, model.HostInstalling, "Waiting for control plane", 60, 95*time.Minute),
			host("cp-2", spec.ControlPlane, model.HostInstalled, "Done", 100, 3*time.Minute),
			host("worker-0", spec.Worker, model.HostNeedsUser, "Rebooting", 70, 50*time.Minute),
			{Name: "worker-1", Role: spec.Worker, State: model.HostAbsent},
		},
		Plan: model.Plan{
			Verdict: model.VerdictWaiting,
			Blockers: []model.Blocker{
				{Message: "worker-0: the host booted the discovery image again instead of its disk", Hosts: []string{"worker-0"}},
				{Message: "another"},
			},
		},
	}
	view.Hosts[3].Waiting, view.Hosts[3].Trouble = view.Plan.Blockers[0].Message, true
	view.Hosts[4].Waiting = "to boot the discovery image and register"
	return view
}

// rack is a cluster of 43 hosts, which are all blocked by one cause, a while after it was observed. One host is only
// being checked.
func rack() *model.View {
	view := picture()
	view.Observed.At, view.Hosts = noon().Add(-12*time.Minute), nil
	names := make([]string, 0, 43)
	for i := range cap(names) {
		names = append(names, fmt.Sprintf("rack-1-host-%02d", i))
		view.Hosts = append(view.Hosts, model.HostView{Name: names[i], Role: spec.Worker, State: model.HostBlocked, Trouble: true})
	}
	few := strings.Join(names[:7], ", ") + " and 36 more"
	view.Plan.Blockers = []model.Blocker{{Message: few + ": Host couldn't synchronize with any NTP server", Hosts: names}}
	view.Hosts = append(view.Hosts[:3], model.HostView{Name: "rack-2", Role: spec.Worker, State: model.HostBlocked})
	return view
}

func TestFrame(t *testing.T) {
	large := picture()
	large.Plan.Blockers = nil
	for i := range 300 {
		large.Hosts = append(large.Hosts, model.HostView{Name: "rack-" + strings.Repeat("x", i%7), Role: spec.Worker, State: model.HostInstalling, Stage: "Writing image to disk " + "45%"})
		large.Hosts = append(large.Hosts, model.HostView{Name: "more", Role: spec.Worker, State: model.HostReady})
	}
	empty := &model.View{Plan: model.Plan{Actions: []model.Action{{}}, Message: "about to register the cluster"}}
	tests := []struct {
		name          string
		view          *model.View
		width, height int
		paint         paint
	}{
		{"frame-80.txt", picture(), 79, 24, false},
		{"frame-160.txt", picture(), 159, 50, false},
		{"frame-color.txt", picture(), 79, 24, true},
		{"frame-narrow.txt", picture(), 39, 24, false},
		{"frame-large.txt", large, 79, 14, false},
		{"frame-empty.txt", empty, 79, 24, false},
		{"frame-rack.txt", rack(), 79, 24, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := frame{view: tt.view, now: noon(), elapsed: 41 * time.Minute, width: tt.width, height: tt.height, paint: tt.paint, spin: "*"}.lines()
			if len(lines) > tt.height-1 {
				t.Errorf("%d lines on %d rows", len(lines), tt.height)
			}
			for _, line := range lines {
				if have := width(bareText(line)); have > tt.width {
					t.Errorf("a line of %d cells on a width of %d: %q", have, tt.width, line)
				}
			}
			golden(t, tt.name, strings.Join(lines, "\n")+"\n")
		})
	}
}

func TestWidths(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "über": 4, "日本": 4, "e\u0301": 1, "█░": 2, "🚀": 2} {
		if got := width(text); got != want {
			t.Errorf("width(%q) = %d, want %d", text, got, want)
		}
	}
	for _, tt := range []struct {
		text  string
		cells int
		want  string
	}{{"abc", 5, "abc  "}, {"abcdef", 4, "abc…"}, {"日本語", 4, "日… "}, {"x", 0, ""}, {"ab", 1, "…"}} {
		if got := fit(tt.text, tt.cells); got != tt.want {
			t.Errorf("fit(%q, %d) = %q, want %q", tt.text, tt.cells, got, tt.want)
		}
	}
	check.Same(t, []string{"one two", "three", "a-very-long-word", "x"}, Wrap("one two three a-very-long-word x", 8))
}

// TestNothingNewIsForPlainOutput: a table shows by itself what is waited for.
func TestNothingNewIsForPlainOutput(t *testing.T) {
	e := model.Event{Type: model.EventHint, Key: "run/quiet", Reason: "NothingNew", Message: "nothing new for 5m: waiting for cp-0"}
	var out strings.Builder
	Plain(&out, time.UTC, false).Event(e)
	check.Contains(t, out.String(), "nothing new for 5m: waiting for cp-0", "plain")
	if keep(e) {
		t.Error("kept above a table")
	}
}

// heard keeps the messages of events.
type heard struct{ messages []string }

func (h *heard) Event(e model.Event) { h.messages = append(h.messages, e.Message) }
func (h *heard) Close()              { h.messages = append(h.messages, "closed") }

func TestOnce(t *testing.T) {
	event := func(kind model.EventType, severity model.Severity, message string) model.Event {
		return model.Event{Type: kind, Severity: severity, Message: message}
	}
	refused := event(model.EventAction, model.SeverityError, "could not register: no")
	tried := event(model.EventAction, model.SeverityWarning, "could not register: busy")
	lost := event(model.EventHost, model.SeverityError, "cp-0 failed")
	cured := model.Event{Type: model.EventHint, State: "cured", Message: "no longer in the way"}
	end := func(message string) model.Event {
		code := 3
		return model.Event{Type: model.EventRun, ExitCode: &code, Message: message}
	}
	tests := map[string]struct {
		events []model.Event
		want   []string
	}{
		"what ends the run is left to the end": {
			[]model.Event{tried, refused, refused, end("install lab: could not register: no (cluster.yaml:3:1)")},
			[]string{tried.Message, "install lab: could not register: no (cluster.yaml:3:1)", "closed"},
		},
		"another end does not say it": {
			[]model.Event{refused, end("stopped by signal")},
			[]string{refused.Message, "stopped by signal", "closed"},
		},
		"no end at all":           {[]model.Event{refused}, []string{refused.Message, "closed"}},
		"it was cured after all":  {[]model.Event{refused, cured}, []string{refused.Message, cured.Message, "closed"}},
		"what a host does stays":  {[]model.Event{lost, end("cp-0 failed")}, []string{lost.Message, "cp-0 failed", "closed"}},
		"what is tried again too": {[]model.Event{tried, end(tried.Message)}, []string{tried.Message, tried.Message, "closed"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			to := &heard{}
			sink := Once(to)
			for _, e := range tt.events {
				sink.Event(e)
			}
			sink.Close()
			check.Same(t, tt.want, to.messages)
		})
	}
}
