//go:build e2e

package hub_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub"
)

// track is what the conditions of objects of a kind went through: by object and
// type, each status with its reason once in a row.
type track struct {
	mu     sync.Mutex
	seen   map[string]map[string][]string // by object, then type
	fields map[string]bool                // of the status of any object: .debugInfo.state
}

func newTrack() *track {
	return &track{seen: map[string]map[string][]string{}, fields: map[string]bool{}}
}

func (tr *track) add(o *unstructured.Unstructured) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	addFields(tr.fields, "", o.Object["status"])
	types := tr.seen[o.GetName()]
	if types == nil {
		types = map[string][]string{}
		tr.seen[o.GetName()] = types
	}
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		m := c.(map[string]any)
		kind, now := m["type"].(string), m["status"].(string)+" "+m["reason"].(string)
		if all := types[kind]; len(all) == 0 || all[len(all)-1] != now {
			types[kind] = append(all, now)
		}
	}
}

// addFields adds the paths of all fields. Those of the elements of a list are the
// same.
func addFields(fields map[string]bool, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			addFields(fields, path+"."+name, inner)
		}
	case []any:
		for _, inner := range v {
			addFields(fields, path+"[]", inner)
		}
	default:
		fields[path] = true
	}
}

// unlike gives the fields that only one of two tracks has. The recorded InfraEnv
// selects no static networks, as those of oaictl do.
func unlike(object string, have, want *track) []string {
	var wrong []string
	have.mu.Lock()
	defer have.mu.Unlock()
	for _, side := range []struct {
		what   string
		at, in map[string]bool
	}{{"is missing", want.fields, have.fields}, {"was never recorded", have.fields, want.fields}} {
		for path := range side.at {
			if !side.in[path] && path != ".debugInfo.staticNetworkDownloadURL" {
				wrong = append(wrong, object+" status"+path+" "+side.what)
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// byType gives the different sequences of a condition type over all objects.
func (tr *track) byType() map[string][][]string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	all := map[string][][]string{}
	for _, types := range tr.seen {
		for kind, list := range types {
			if !slices.ContainsFunc(all[kind], func(l []string) bool { return slices.Equal(l, list) }) {
				all[kind] = append(all[kind], list)
			}
		}
	}
	return all
}

// recorded reads the tracks of a real hub's objects.
func recorded(t *testing.T) map[string]*track {
	t.Helper()
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder with recordings of a real service")
	}
	file, err := os.Open(filepath.Join(folder, "hub", "compact.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	tracks := map[string]*track{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Object map[string]any }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{Object: line.Object}
		if tracks[o.GetKind()] == nil {
			tracks[o.GetKind()] = newTrack()
		}
		tracks[o.GetKind()].add(o)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return tracks
}

// follow keeps track of a kind's objects.
func (w *world) follow(kind schema.GroupVersionResource) *track {
	w.t.Helper()
	tr := newTrack()
	watch, err := w.client.Resource(kind).Namespace(w.space).Watch(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watch.ResultChan() {
			if o, ok := event.Object.(*unstructured.Unstructured); ok {
				tr.add(o)
			}
		}
	}()
	w.t.Cleanup(func() { watch.Stop(); <-done })
	return tr
}

// TestLikeTheRecording installs three hosts as the recording did: approved
// before they are ready. Every status has to have the fields that it had there, and
// every condition has to go through what it went through there. A status may be missed where a simulated clock
// runs fast, but nothing may come that the real service never showed in between,
// and the end has to be the same.
func TestLikeTheRecording(t *testing.T) {
	want := recorded(t)
	w := newWorld(t, "compact", hub.Config{})
	kinds := map[string]schema.GroupVersionResource{
		hubapi.KindAgentClusterInstall: hubapi.Resource(hubapi.KindAgentClusterInstall), hubapi.KindInfraEnv: hubapi.Resource(hubapi.KindInfraEnv), hubapi.KindAgent: hubapi.Resource(hubapi.KindAgent),
	}
	have := map[string]*track{}
	for name, kind := range kinds {
		have[name] = w.follow(kind)
	}
	for _, o := range w.objects() {
		if o.GetKind() == hubapi.KindInfraEnv { // a person might be too late
			if err := unstructured.SetNestedField(o.Object, true, "spec", "agentApproval", "autoApprove"); err != nil {
				t.Fatal(err)
			}
		}
		w.applyOne(o)
	}
	w.waitFor("day 2", hubapi.Resource(hubapi.KindAgentClusterInstall), w.name, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "debugInfo", "state") == "adding-hosts"
	})
	last := ""
	w.until("the conditions to be like those of the recording", func() bool { // a watch may be behind
		var wrong []string
		for name := range kinds {
			wrong = append(wrong, compare(name, have[name].byType(), want[name].byType())...)
			wrong = append(wrong, unlike(name, have[name], want[name])...)
		}
		last = strings.Join(wrong, "\n")
		return last == ""
	}, &last)
}

// compare says what is otherwise than in the recording.
func compare(object string, have, want map[string][][]string) []string {
	var wrong []string
	for kind := range want {
		if len(have[kind]) == 0 {
			wrong = append(wrong, fmt.Sprintf("no %s has the condition %s", object, kind))
		}
	}
	for kind, lists := range have {
		for _, list := range lists {
			list = slices.DeleteFunc(slices.Clone(list), late)
			if !slices.ContainsFunc(want[kind], func(real []string) bool { return fits(list, real) }) {
				wrong = append(wrong, fmt.Sprintf("%s of an %s went through\n  %q,\nin the recording\n  %q", kind, object, list, want[kind]))
			}
		}
	}
	return wrong
}

// late tells a step that the real service shows, too, where its operator is behind: a
// cluster that is ready before all of its Agents are there counts those as unapproved.
// The operator that was recorded had nothing else to do.
func late(step string) bool { return step == "False UnapprovedAgents" }

// fits reports whether a sequence is another one with some of it missed, but not
// the end.
func fits(list, real []string) bool {
	at := 0
	for _, step := range real {
		if at < len(list) && list[at] == step {
			at++
		}
	}
	return at == len(list) && list[len(list)-1] == real[len(real)-1]
}
