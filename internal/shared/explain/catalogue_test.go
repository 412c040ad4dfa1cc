package explain_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// allValidations are all validations with their facts.
func allValidations(t *testing.T) []explain.ValidationEntry {
	t.Helper()
	var all []explain.ValidationEntry
	for _, e := range explain.All(explain.KindValidation) {
		v, ok := explain.Validation(e.Subject, e.Name)
		if !ok {
			t.Fatalf("%s/%s is listed and not found", e.Subject, e.Name)
		}
		all = append(all, v)
	}
	return all
}

func allStates(t *testing.T) []explain.StateEntry {
	t.Helper()
	var all []explain.StateEntry
	for _, e := range explain.All(explain.KindState) {
		find := explain.HostState
		switch e.Subject {
		case explain.SubjectCluster:
			find = explain.ClusterState
		case explain.SubjectInfraEnv:
			find = explain.ImageState
		}
		s, ok := find(e.Name)
		if !ok {
			t.Fatalf("%s/%s is listed and not found", e.Subject, e.Name)
		}
		all = append(all, s)
	}
	return all
}

func TestEntriesExplain(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range explain.Kinds() {
		for _, e := range explain.All(kind) {
			id := string(kind) + " " + string(e.Subject) + "/" + e.Name
			if seen[id] {
				t.Errorf("%s is there twice", id)
			}
			seen[id] = true
			if e.Kind != kind {
				t.Errorf("%s has kind %q", id, e.Kind)
			}
			for name, text := range map[string]string{
				"title": e.Title, "meaning": e.Meaning, "cause": e.Cause, "check": e.Check.String(), "remedy": e.Remedy.String(),
			} {
				if name == "title" || name == "meaning" {
					if text == "" {
						t.Errorf("%s has no %s", id, name)
					}
				}
				checkProse(t, id, name, text)
			}
		}
	}
}

// checkProse finds what wrapping and copying leave behind.
func checkProse(t *testing.T, id, name, text string) {
	t.Helper()
	if text == "" {
		return
	}
	if text != strings.TrimSpace(text) || strings.Contains(text, "  ") {
		t.Errorf("%s: %s has stray blanks: %q", id, name, text)
	}
	if end := strings.HasSuffix(text, "."); end == (name == "title") {
		t.Errorf("%s: %s ends wrongly: %q", id, name, text)
	}
}

func TestValidations(t *testing.T) {
	for _, v := range allValidations(t) {
		id := explain.Ref{Subject: v.Subject, ID: v.Name}.String()
		for name, text := range map[string]string{"cause": v.Cause, "check": v.Check.String(), "remedy": v.Remedy.String()} {
			if text == "" {
				t.Errorf("%s has no %s", id, name)
			}
		}
		if v.Debounce < 1 || v.Debounce > 5 {
			t.Errorf("%s: debounce %d", id, v.Debounce)
		}
		if !slices.Contains([]explain.Cure{explain.CureFile, explain.CureMachine, explain.CureWait}, v.Cure) {
			t.Errorf("%s: cure %q", id, v.Cure)
		}
		if v.Cure == explain.CureFile && v.Field == "" {
			t.Errorf("%s: only the file cures it, and no field is named", id)
		}
		categories := map[explain.Subject][]string{
			explain.SubjectHost:    {"hardware", "network", "operators", "kube-api"},
			explain.SubjectCluster: {"network", "hosts-data", "configuration", "operators", "kube-api"},
		}
		if !slices.Contains(categories[v.Subject], v.Category) {
			t.Errorf("%s: category %q", id, v.Category)
		}
	}
}

// The service refuses to ignore exactly these.
func TestIgnorable(t *testing.T) {
	var never, warnings []string
	for _, v := range allValidations(t) {
		id := explain.Ref{Subject: v.Subject, ID: v.Name}.String()
		if !v.Ignorable {
			never = append(never, id)
		}
		if !v.Blocking {
			warnings = append(warnings, id)
		}
	}
	slices.Sort(never)
	if diff := cmp.Diff([]string{
		"cluster/all-hosts-are-ready-to-install", "cluster/api-vips-defined", "cluster/ingress-vips-defined",
		"cluster/pull-secret-set", "cluster/spec-synced", "cluster/sufficient-masters-count",
		"host/connected", "host/has-inventory", "host/hostname-unique", "host/hostname-valid",
		"host/inventory-not-fully-truncated", "host/machine-cidr-defined", "host/spec-synced",
	}, never); diff != "" {
		t.Errorf("not ignorable (-want +got):\n%s", diff)
	}
	slices.Sort(warnings)
	if diff := cmp.Diff([]string{
		"host/inventory-not-partially-truncated", "host/mtu-valid", "host/ntp-synced",
		"host/release-domain-name-resolved-correctly",
	}, warnings); diff != "" {
		t.Errorf("not blocking (-want +got):\n%s", diff)
	}
}

// A consequence of itself would explain nothing.
func TestConsequencesFormNoCircle(t *testing.T) {
	causes := map[explain.Ref][]explain.Ref{}
	for _, v := range allValidations(t) {
		causes[explain.Ref{Subject: v.Subject, ID: v.Name}] = v.ConsequenceOf
	}
	var walk func(ref explain.Ref, path []explain.Ref)
	walk = func(ref explain.Ref, path []explain.Ref) {
		if slices.Contains(path, ref) {
			t.Fatalf("circle: %v", append(path, ref))
		}
		for _, cause := range causes[ref] {
			if cause.ID == explain.AnyBlocking {
				continue
			}
			if _, known := causes[cause]; !known {
				t.Errorf("%s is a consequence of %s, which is unknown", ref, cause)
			}
			walk(cause, append(path, ref))
		}
	}
	for ref := range causes {
		walk(ref, nil)
	}
}

// Every field that is named exists in cluster.yaml.
func TestFieldsExist(t *testing.T) {
	for _, kind := range explain.Kinds() {
		for _, e := range explain.All(kind) {
			if e.Field != "" && !fieldExists(reflect.TypeFor[spec.Cluster](), strings.Split(e.Field, ".")) {
				t.Errorf("%s %s names field %s, which cluster.yaml does not have", kind, e.Name, e.Field)
			}
		}
	}
	if fieldExists(reflect.TypeFor[spec.Cluster](), []string{"spec", "network", "vip"}) {
		t.Error("spec.network.vip is found; the test sees nothing")
	}
}

func fieldExists(in reflect.Type, path []string) bool {
	for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice {
		in = in.Elem()
	}
	if len(path) == 0 {
		return true
	}
	if in.Kind() != reflect.Struct {
		return false
	}
	key, list := strings.CutSuffix(path[0], "[]")
	for field := range in.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name == key && (!list || field.Type.Kind() == reflect.Slice) {
			return fieldExists(field.Type, path[1:])
		}
	}
	return false
}

func TestNeutralStates(t *testing.T) {
	words := map[explain.Subject][]string{
		explain.SubjectCluster: {
			string(model.ClusterDraft), string(model.ClusterDiscovering), string(model.ClusterBlocked),
			string(model.ClusterReady), string(model.ClusterPreparing), string(model.ClusterInstalling),
			string(model.ClusterNeedsUser), string(model.ClusterFinalizing), string(model.ClusterInstalled),
			string(model.ClusterFailed), string(model.ClusterCancelled), string(model.ClusterAddingHosts),
		},
		explain.SubjectHost: {
			// Absent is for hosts that have no status at all.
			string(model.HostUnbound), string(model.HostBinding), string(model.HostDiscovering),
			string(model.HostDisconnected), string(model.HostBlocked), string(model.HostReady),
			string(model.HostPreparing), string(model.HostInstalling), string(model.HostNeedsUser),
			string(model.HostResetting), string(model.HostReleasing), string(model.HostInstalled),
			string(model.HostAdded), string(model.HostFailed), string(model.HostCancelled),
		},
	}
	used := map[explain.Subject]map[string]bool{explain.SubjectCluster: {}, explain.SubjectHost: {}}
	for _, s := range allStates(t) {
		if !s.Own() {
			if !slices.Contains(words[s.Subject], s.Neutral) {
				t.Errorf("%s %s: %q is no neutral state", s.Subject, s.Name, s.Neutral)
			}
			used[s.Subject][s.Neutral] = true
		}
		needsRemedy := s.NeedsUser || slices.Contains([]string{"Blocked", "Failed", "NeedsUser", "Disconnected"}, s.Neutral)
		if needsRemedy && (s.Remedy == "" || s.Cause == "" && s.Neutral != "Blocked") {
			t.Errorf("%s %s needs a cause and a remedy", s.Subject, s.Name)
		}
		if s.Terminal && s.NeedsUser {
			t.Errorf("%s %s is an end and waits for somebody", s.Subject, s.Name)
		}
	}
	for subject, want := range words {
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(used[subject]))); diff != "" {
			t.Errorf("neutral states of a %s (-all +used):\n%s", subject, diff)
		}
	}
}

// TestOwnStates holds the states that oaictl shows against those that there are.
func TestOwnStates(t *testing.T) {
	file := must.Get(parser.ParseFile(token.NewFileSet(), "../../../pkg/install/model/state.go", nil, 0))(t)
	subjects := map[string]explain.Subject{"ClusterState": explain.SubjectCluster, "HostState": explain.SubjectHost, "ImageState": explain.SubjectInfraEnv}
	var want, got []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || spec.Type == nil {
			return true
		}
		if subject := subjects[fmt.Sprint(spec.Type)]; subject != "" {
			want = append(want, string(subject)+"/"+strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
		}
		return true
	})
	for _, s := range allStates(t) {
		if s.Own() {
			got = append(got, string(s.Subject)+"/"+s.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 30 {
		t.Errorf("states of oaictl (-there are +explained):\n%s", diff)
	}
	blocked, _ := explain.HostState("Blocked")
	check.Slice(t, explain.StatusesOf(blocked), []string{"disabled", "insufficient", "pending-for-input"}, "a blocked host has the statuses")
}

func TestStagesOfPaths(t *testing.T) {
	cases := map[explain.Path]string{
		explain.PathBootstrap: "Starting installation, Installing, Writing image to disk, Copying registry data to disk, " +
			"Waiting for control plane, Waiting for bootkube, Waiting for controller, Rebooting, Configuring, Joined, Done",
		explain.PathControlPlane: "Starting installation, Installing, Writing image to disk, Copying registry data to disk, " +
			"Rebooting, Configuring, Joined, Done",
		explain.PathWorker: "Starting installation, Installing, Writing image to disk, Waiting for control plane, " +
			"Rebooting, Waiting for ignition, Configuring, Joined, Done",
		explain.PathSingleNode: "Starting installation, Installing, Waiting for bootkube, Writing image to disk, " +
			"Copying registry data to disk, Rebooting, Joined, Done",
		explain.PathAdded: "Starting installation, Installing, Writing image to disk, Waiting for control plane, Rebooting, Done",
	}
	for path, want := range cases {
		t.Run(string(path), func(t *testing.T) {
			var names []string
			var usual time.Duration
			for _, s := range explain.Stages(path) {
				names = append(names, s.Name)
				usual += s.Usual
				if !slices.Contains(s.Paths, path) {
					t.Errorf("%s does not know that it lies on this path", s.Name)
				}
				if s.Name != "Done" && (s.Usual <= 0 || s.Budget <= s.Usual || s.Cause == "" || s.Remedy == "" || s.Check == "") {
					t.Errorf("%s: usual %s, budget %s, cause %q, check %q, remedy %q", s.Name, s.Usual, s.Budget, s.Cause, s.Check, s.Remedy)
				}
			}
			if diff := cmp.Diff(want, strings.Join(names, ", ")); diff != "" {
				t.Errorf("stages (-want +got):\n%s", diff)
			}
			if usual < 10*time.Minute || usual > time.Hour {
				t.Errorf("the whole path usually takes %s", usual)
			}
		})
	}
	if got := explain.Stages("other"); got != nil {
		t.Errorf("stages of an unknown path: %v", got)
	}
}

// finalizingStages are the stages of finalizing in their order.
func finalizingStages() []explain.StageEntry {
	var found []explain.StageEntry
	for _, e := range explain.All(explain.KindStage) {
		if s, ok := explain.FinalizingStage(e.Name); ok && e.Subject == explain.SubjectCluster {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b explain.StageEntry) int { return a.Order - b.Order })
	return found
}

func TestStageFacts(t *testing.T) {
	reboot, _ := explain.Stage("Rebooting")
	if reboot.Budget != 40*time.Minute || reboot.SingleNodeBudget != 80*time.Minute {
		t.Errorf("Rebooting: %s, on a single node %s", reboot.Budget, reboot.SingleNodeBudget)
	}
	failed, ok := explain.Stage("Failed")
	if !ok || failed.Order != 0 || failed.Paths != nil || failed.Remedy == "" {
		t.Errorf("Failed: %+v", failed)
	}
	final := finalizingStages()
	if len(final) != 7 || final[0].Hard != 10*time.Hour || final[0].Budget != 70*time.Minute || final[6].Name != "Done" {
		t.Errorf("finalizing: %+v", final)
	}
	for i, s := range final {
		if s.Order != i+1 || s.Subject != explain.SubjectCluster {
			t.Errorf("%s: order %d, subject %s", s.Name, s.Order, s.Subject)
		}
	}
}

func TestEvents(t *testing.T) {
	for _, entry := range explain.All(explain.KindEvent) {
		e, ok := explain.Event(entry.Name)
		if !ok || e.Watch == "" {
			t.Errorf("%s: does not say what it means for a watcher", entry.Name)
		}
		checkProse(t, e.Name, "watch", e.Watch.String())
		serious := e.Severity == explain.SeverityError || e.Severity == explain.SeverityCritical
		if serious && e.Remedy == "" && e.Name != "cancel_installation_failed" {
			t.Errorf("%s is %s and has no remedy", e.Name, e.Severity)
		}
	}
}

// TestAdviceFitsAHub: a cluster is not reset there.
func TestAdviceFitsAHub(t *testing.T) {
	resets := 0
	for _, kind := range explain.Kinds() {
		for _, entry := range explain.All(kind) {
			if !strings.Contains(string(entry.Remedy), "{reset cluster NAME}") {
				continue
			}
			resets++
			if !strings.Contains(string(entry.Remedy), "on a hub") || !strings.Contains(string(entry.Remedy), "{delete cluster NAME}") {
				t.Errorf("%s %s: %s", kind, entry.Name, entry.Remedy)
			}
		}
	}
	if resets == 0 {
		t.Error("no entry advises to reset a cluster")
	}
}

func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		explain.Validation(explain.SubjectHost, "ntp-synced")
	}
}

func BenchmarkSuggest(b *testing.B) {
	for b.Loop() {
		explain.Suggest(explain.KindEvent, "host_status_update")
	}
}

// TestCommandsAreMarked: a command that is to be typed stands in braces, so that it can be
// completed. What oaictl does is prose.
func TestCommandsAreMarked(t *testing.T) {
	typed := regexp.MustCompile(`oaictl ([a-z-]+ ){1,3}(NAME|-f)\b`)
	marked := 0
	for _, kind := range explain.Kinds() {
		for _, entry := range explain.All(kind) {
			for _, text := range []model.Advice{entry.Check, entry.Remedy} {
				marked += len(text.Commands())
				if found := typed.FindString(string(text)); found != "" {
					t.Errorf("%s %s says %q without braces", kind, entry.Name, found)
				}
			}
		}
	}
	if marked < 50 {
		t.Errorf("only %d commands are marked", marked)
	}
}
