package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// following is a service that changes from look to look, and a user who stops watching after the last.
type following struct {
	*fake
	steps []func(*fake) error
	stop  context.CancelCauseFunc
	looks int
}

func (f *following) next() error {
	if f.looks >= len(f.steps) {
		f.stop(&install.Interrupt{Signal: "interrupt", Code: model.CodeInterrupted})
		return nil
	}
	step := f.steps[f.looks]
	f.looks++
	return step(f.fake)
}

func (f *following) ListClusters(ctx context.Context) ([]model.Cluster, error) {
	if err := f.next(); err != nil {
		return nil, err
	}
	return f.fake.ListClusters(ctx)
}

func (f *following) Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error) {
	if err := f.next(); err != nil {
		return nil, err
	}
	return f.fake.Observe(ctx, query, prior)
}

// ClusterByNameOrID is the look itself where there is nothing to observe after it.
func (f *following) ClusterByNameOrID(ctx context.Context, text string) (model.ClusterRef, error) {
	ref, err := f.fake.ClusterByNameOrID(ctx, text)
	if err == nil {
		return ref, nil
	}
	if err := f.next(); err != nil {
		return model.ClusterRef{}, err
	}
	return ref, err
}

func (f *following) Events(ctx context.Context, filter install.EventFilter, offset int) (install.EventPage, error) {
	if err := f.next(); err != nil {
		return install.EventPage{}, err
	}
	return f.fake.Events(ctx, filter, offset)
}

func follow(t *testing.T, steps []func(*fake) error, arguments ...string) outcome {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	return runIn(ctx, t, &following{fake: lab(), steps: steps, stop: stop}, "", false, arguments...)
}

func asIs(*fake) error { return nil }

func TestWatchPrintsWhatChanges(t *testing.T) {
	steps := []func(*fake) error{
		asIs, asIs,
		func(f *fake) error {
			f.clusters[0].State, f.clusters[0].Progress.Percent = model.ClusterInstalling, 7
			return nil
		},
		func(*fake) error {
			return &model.Fault{Code: model.CodeFailure, Err: errors.New("gone for a while")}
		},
		func(f *fake) error {
			added := f.clusters[1]
			added.ID, added.Name = "c3", "new"
			f.clusters = append(f.clusters[:1], added)
			return nil
		},
	}
	got := follow(t, steps, "get", "clusters", "-w")
	want := `NAME    DOMAIN        STATE          %   HOSTS   VERSION
lab     example.com   Blocked        -       2   4.20.3
other   example.org   Installed    100%       0   -
lab     example.com   Installing     7%       2   4.20.3
new     example.org   Installed    100%       0   -
other   example.org   Deleted      100%       0   -
`
	fold := func(text string) string {
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return strings.Join(lines, "\n")
	}
	if fold(got.out) != fold(want) || got.code != 130 {
		t.Errorf("code %d:\n%s", got.code, got.out)
	}
	if n := strings.Count(got.errors, "warning: the service does not answer: gone for a while\n"); n != 1 {
		t.Errorf("told %d times that the service does not answer:\n%s", n, got.errors)
	}
	// Rows stay under their headings.
	lines := strings.Split(got.out, "\n")
	for _, line := range lines[1:6] {
		if at := strings.Index(lines[0], "DOMAIN"); !strings.HasPrefix(line[at:], "example.") {
			t.Errorf("%q is not under %q", line, lines[0])
		}
	}
}

// For programs each item is a line of its own.
func TestWatchAsJSON(t *testing.T) {
	steps := []func(*fake) error{asIs, func(f *fake) error { f.clusters[0].State = model.ClusterReady; return nil }}
	got := follow(t, steps, "get", "clusters", "-w", "-o", "json")
	var states []string
	for line := range strings.Lines(got.out) {
		var item struct{ Name, State string }
		must.Do(t, json.Unmarshal([]byte(line), &item), line)
		states = append(states, item.Name+" "+item.State)
	}
	check.Equal(t, strings.Join(states, ", "), "lab Blocked, other Installed, lab Ready")
	if got := follow(t, steps, "get", "clusters", "-w", "-o", "name"); got.out != "cluster/lab\ncluster/other\ncluster/lab\n" {
		t.Error(got.out)
	}
}

// What is not there yet is no mistake, and ends no watch.
func TestWatchOfWhatIsNotThereYet(t *testing.T) {
	steps := []func(*fake) error{asIs, func(f *fake) error { f.clusters[0].InstallCompleted = noon(); return nil }}
	got := follow(t, steps, "get", "cluster", "lab", "-w", "-o", "jsonpath={.name} {.installCompleted}")
	if want := "lab \nlab 2026-08-01T12:00:00Z\n"; got.out != want || got.code != 130 {
		t.Errorf("%+v", got)
	}
}

// A check that comes to pass is shown once more; a host that only reports is not.
func TestWatchOfChecksAndHosts(t *testing.T) {
	steps := []func(*fake) error{
		asIs,
		func(f *fake) error {
			passed := append([]model.Validation{}, f.hosts[0].Validations...)
			passed[1].Status = "success"
			f.hosts[0].Validations, f.hosts[0].CheckedIn = passed, noon().Add(time.Minute)
			return nil
		},
	}
	got := follow(t, steps, "get", "validations", "lab", "-w", "-o", "jsonpath={.id} {.status}")
	if want := "ntp-synced success\n"; !strings.HasSuffix(got.out, want) || strings.Count(got.out, "\n") != 6 {
		t.Errorf("%+v", got)
	}
	steps[1] = func(f *fake) error { f.hosts[0].CheckedIn = noon().Add(time.Minute); return nil }
	if got := follow(t, steps, "get", "hosts", "lab", "-w", "-o", "name"); strings.Count(got.out, "\n") != 2 {
		t.Errorf("%s", got.out)
	}
}

func TestWatchGivesUp(t *testing.T) {
	refused := func(*fake) error {
		return &model.Fault{Code: model.CodeAuth, Permanent: true, Err: errors.New("not any more")}
	}
	if got := follow(t, []func(*fake) error{asIs, refused}, "get", "clusters", "-w"); got.code != 4 {
		t.Errorf("%+v", got)
	}
	silent := func(*fake) error { return &model.Fault{Code: model.CodeFailure, Err: errors.New("no answer")} }
	steps := []func(*fake) error{asIs}
	for range 70 { // five minutes and some, five seconds each
		steps = append(steps, silent)
	}
	if got := follow(t, steps, "get", "clusters", "-w"); got.code != 1 || !strings.Contains(got.errors, "no answer") {
		t.Errorf("%+v", got)
	}
}

// gone has the cluster, and with it its hosts and events, deleted.
func gone(f *fake) error {
	f.clusters, f.hosts = f.clusters[1:], nil
	return nil
}

// again makes a cluster under the name of the one that is gone.
func again(f *fake) error {
	f.clusters = lab().clusters
	f.clusters[0].ID = "c9"
	return nil
}

// A watch of a named object goes on once that is gone, and reports the object that gets its name later.
func TestWatchGoesOnWhenTheNamedIsGone(t *testing.T) {
	here(t)
	must.Do(t, os.WriteFile("lab.yaml", []byte(installConfig), 0o600))
	for _, tt := range []struct{ line, want string }{
		{"get cluster lab -o jsonpath={.id}:{.state}", "c1:Blocked c1:Deleted c9:Blocked"},
		{"get cluster c1 -o jsonpath={.id}:{.state}", "c1:Blocked c1:Deleted"},
		{"get cluster -f lab.yaml -o jsonpath={.id}:{.state}", "c1:Blocked c1:Deleted c9:Blocked"},
		{"get hosts lab -o jsonpath={.name}:{.state}", "node-1:Blocked node-10:Blocked node-1:Deleted node-10:Deleted"},
		{"get validations lab -o jsonpath={.host}:{.status}", ":failure node-1:failure node-1:failure node-10:failure node-10:failure " +
			":Deleted node-1:Deleted node-1:Deleted node-10:Deleted node-10:Deleted :failure"},
	} {
		got := follow(t, []func(*fake) error{asIs, gone, asIs, again}, append(strings.Fields(tt.line), "-w")...)
		if text := strings.Join(strings.Fields(got.out), " "); text != tt.want || got.code != 130 {
			t.Errorf("%s: code %d\ngot  %s\nwant %s\n%s", tt.line, got.code, text, tt.want, got.errors)
		}
	}
	if got := follow(t, []func(*fake) error{gone}, "get", "cluster", "lab", "-w"); got.code != 5 {
		t.Errorf("one that was never there: %+v", got)
	}
}

// Another cluster of the same name does not disturb the watch of the first.
func TestWatchFollowsByID(t *testing.T) {
	steps := []func(*fake) error{asIs, func(f *fake) error {
		twin := f.clusters[0]
		twin.ID = "c9"
		f.clusters = append([]model.Cluster{twin}, f.clusters...)
		return nil
	}, func(f *fake) error { f.clusters[1].State = model.ClusterReady; return nil }}
	if got := follow(t, steps, "get", "cluster", "lab", "-w", "-o", "jsonpath={.id}:{.state}"); got.out != "c1:Blocked\nc1:Ready\n" {
		t.Errorf("%+v", got)
	}
}

// Events are followed through a silence, and past the end of what they are of.
func TestWatchOfEventsGoesOn(t *testing.T) {
	silent := func(*fake) error { return &model.Fault{Code: model.CodeFailure, Err: errors.New("no answer")} }
	lost := func(*fake) error { return app.NotFound("read events of", "c1", "there is none", "") }
	one := func(f *fake) error { f.events = f.events[:1]; return nil }
	got := follow(t, []func(*fake) error{one, silent, silent, asIs, lost, lost, asIs}, "get", "events", "lab", "-w", "-o", "jsonpath={.message}")
	if got.out != "one\none\n" || got.code != 130 {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{"does not answer: no answer\n", "read events of c1: there is none\n"} {
		if strings.Count(got.errors, text) != 1 {
			t.Errorf("%q is not told once:\n%s", text, got.errors)
		}
	}
}

// A cluster that is being deleted is waited for, however long its deletion takes.
func TestWatchOutlastsADeletion(t *testing.T) {
	deleting := func(*fake) error {
		return &model.Fault{Code: model.CodeFailure, Err: fmt.Errorf("its ClusterDeployment %w", install.ErrDeleting)}
	}
	steps := []func(*fake) error{asIs}
	for range 70 {
		steps = append(steps, deleting)
	}
	got := follow(t, append(steps, gone), "get", "cluster", "lab", "-w", "-o", "jsonpath={.state}")
	if got.out != "Blocked\nDeleted\n" || got.code != 130 || strings.Count(got.errors, "is being deleted") != 1 {
		t.Errorf("%+v", got)
	}
}

// TestHintsAreInTheProgramsWords follows what is to be typed next to a plugin.
func TestHintsAreInTheProgramsWords(t *testing.T) {
	tests := []struct {
		called, line string
		hint         model.Advice
		want         string
	}{
		{"kubectl-oai", "", "{why lab}", "kubectl oai why lab"},
		{"kubectl-oai", "-n clusters --context hub", "{logs lab}, then {delete cluster lab}", "kubectl oai --context hub --namespace clusters logs lab, then kubectl oai --context hub --namespace clusters delete cluster lab"},
		{"kubectl-oai", "", "cure it; {explain validation x}, or {get hosts}", "cure it; kubectl oai explain validation x, or kubectl oai get hosts"},
		{"kubectl-oai", "", "see what oaictl made", "see what oaictl made"},
		{"oaictl", "--backend hub -A", "{get hosts}", "oaictl --backend hub --all-namespaces get hosts"},
		{"clusterctl-oai", "", "`{simulator serve}`", "`clusterctl oai simulator serve`"},
	}
	for _, tt := range tests {
		words := append([]string{tt.called, "get", "clusters"}, strings.Fields(tt.line)...)
		a := app.New(app.Identify(words), streams.Streams{}, streams.Env{})
		command, _, err := rootCommand(a).Find(words[1:])
		if err == nil {
			err = command.ParseFlags(words[3:])
		}
		if err == nil {
			err = a.Prepare(command)
		}
		if err != nil {
			t.Fatal(err)
		}
		check.Equal(t, a.Hint(tt.hint), tt.want, tt.called)
	}
}

// telling is a service that reports its changes itself.
type telling struct {
	*following
	followed int
}

func (s *telling) Follow() { s.followed++ }

// TestWatchLetsTheServiceTell makes a service report its changes where a list is watched, and nowhere else.
func TestWatchLetsTheServiceTell(t *testing.T) {
	for arguments, want := range map[string]int{"get clusters": 0, "get clusters -w": 1, "get hosts lab -w": 1, "get infraenvs": 0} {
		ctx, stop := context.WithCancelCause(t.Context())
		service := &telling{following: &following{fake: lab(), steps: []func(*fake) error{asIs}, stop: stop}}
		runIn(ctx, t, service, "", false, strings.Fields(arguments)...)
		stop(nil)
		if service.followed != want {
			t.Errorf("%s: followed %d times, want %d", arguments, service.followed, want)
		}
	}
}

// TestWatchTellsOfLossesOnce watches by a file in another format, which is read
// again with each look.
func TestWatchTellsOfLossesOnce(t *testing.T) {
	here(t)
	must.Do(t, os.WriteFile("install-config.yaml", []byte(installConfig+"odd: 1\n"), 0o600))
	got := follow(t, []func(*fake) error{asIs, asIs, asIs}, "get", "hosts", "-f", "install-config.yaml", "-w")
	if n := strings.Count(got.errors, "1 value of install-config.yaml without a place in cluster.yaml: oaictl convert -f install-config.yaml"); n != 1 {
		t.Errorf("told %d times:\n%s", n, got.errors)
	}
}

// A host of the file that registers has come: the placeholder for it was not deleted.
func TestWatchOfAHostThatComes(t *testing.T) {
	here(t)
	must.Do(t, os.WriteFile("cluster.yaml", []byte(clusterYAML), 0o600))
	var came []model.Host
	steps := []func(*fake) error{
		func(f *fake) error { came, f.hosts = f.hosts, nil; return nil },
		func(f *fake) error { f.hosts = came[:1]; return nil },
	}
	got := follow(t, steps, "get", "hosts", "-f", "cluster.yaml", "-w", "-o", "jsonpath={.name} {.state}")
	if !strings.Contains(got.out, " Absent\n") || !strings.Contains(got.out, " Blocked\n") || strings.Contains(got.out, "Deleted") {
		t.Errorf("%+v", got)
	}
}
