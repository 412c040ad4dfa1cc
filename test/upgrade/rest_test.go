//go:build e2e

package upgrade

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

// TestResumeOverREST goes on from every state that an earlier build left on a REST
// service, with the writes that the earlier build would have sent, and none beside.
func TestResumeOverREST(t *testing.T) {
	for _, c := range testCases() {
		if *update {
			t.Run(c.name, func(t *testing.T) { c.record(t) })
			continue
		}
		var requests []request
		var stops []stop
		c.read(t, "requests.json", &requests)
		c.read(t, "states.json", &stops)
		for _, left := range stops {
			t.Run(c.name+" "+left.Name, func(t *testing.T) {
				t.Parallel()
				inBubble(t, c, func(t *testing.T, s *site) { c.resume(t, s, requests, left) })
			})
		}
	}
}

// resume brings a service into a state, and goes on from there.
func (c testCase) resume(t *testing.T, s *site, requests []request, left stop) {
	s.reach(t, requests, left)
	dir := t.TempDir()
	if left.installed() {
		c.leaveResults(t, s, dir)
	}
	before := filesIn(t, dir)

	s.plans(t, dir, left)
	a := s.run(t, dir, left.AddNodes, nil)
	if a.err != nil || a.result.ExitCode != 0 || a.result.Verdict != model.VerdictInstalled {
		t.Fatalf("ends as %q: %v\n%s", a.result.Verdict, a.err, fixture.Story(a.events))
	}
	written := s.written()
	if diff := cmp.Diff(left.Then, texts(written, request.summary)); diff != "" {
		t.Errorf("writes (-earlier build +present build):\n%s\n%s", diff, fixture.Story(a.events))
	}
	known := texts(requests, request.String)
	for _, r := range written {
		if !slices.Contains(known, r.String()) {
			t.Errorf("the earlier build never sent %s", r)
		}
	}
	after := filesIn(t, dir)
	if left.installed() {
		if diff := cmp.Diff(before, after); diff != "" || rewritten(t, dir) {
			t.Errorf("the results are written anew: %s", diff)
		}
	} else if diff := cmp.Diff(c.results(t, s), after); diff != "" {
		t.Errorf("results: %s", diff)
	}
	if again := s.run(t, dir, left.AddNodes, nil); again.err != nil || len(s.written()) > 0 || rewritten(t, dir) && left.installed() {
		t.Errorf("a second run ends with %v and is not idle\n%s", again.err, fixture.Story(again.events))
	}
}

// plans holds the plan to what is to be done.
func (s *site) plans(t *testing.T, dir string, left stop) {
	t.Helper()
	plan, _, err := install.New(s.plane(t), install.Config{Clock: s.time, Files: install.Directory(dir)}).Plan(t.Context(), s.desired(left.AddNodes))
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	if written := s.written(); len(written) > 0 {
		t.Errorf("plan writes %v", written)
	}
	missing := len(filesIn(t, dir)) == 0
	actions := slices.DeleteFunc(plan.Actions, func(a model.Action) bool { return missing && strings.HasPrefix(string(a.Kind), "Save") })
	if len(left.Then) == 0 && len(actions) > 0 {
		t.Errorf("plan wants to do %v", actions)
	}
}

// installed reports whether the earlier build has written results.
func (left stop) installed() bool { return left.AddNodes || left.Until.Cluster == "installed" }

// reach sends what the earlier build sent, and waits until the state is there.
func (s *site) reach(t *testing.T, requests []request, left stop) {
	t.Helper()
	for _, r := range requests[:left.Sent] {
		if r.When.Cluster == "installed" {
			s.bootLate()
		}
		s.send(t, r)
	}
	if left.AddNodes {
		s.bootLate()
	}
	for _, phase := range left.Through {
		s.await(t, phase, func(now state, _ map[string]string) bool { return now.Cluster == phase })
		s.plans(t, t.TempDir(), left)
	}
	s.await(t, left.Name, func(now state, _ map[string]string) bool { return now.reached(left.Until) })
}

// old is the time of the results in a folder, and must not change.
var old = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// results are those that the earlier build wrote, for the cluster of a site.
func (c testCase) results(t *testing.T, s *site) map[string]string {
	t.Helper()
	_, ids, err := s.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files := filesIn(t, c.path("results"))
	for id, placeholder := range ids {
		for path, text := range files {
			files[path] = strings.ReplaceAll(text, placeholder, id)
		}
	}
	return files
}

// leaveResults writes the results of the earlier build into a folder.
func (c testCase) leaveResults(t *testing.T, s *site, dir string) {
	t.Helper()
	writeOld(t, dir, c.results(t, s))
}

// writeOld writes files that look as old as what an earlier build left.
func writeOld(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// rewritten reports whether a file in a folder is newer than what the earlier build left: any file, or one of those
// names.
func rewritten(t *testing.T, dir string, names ...string) bool {
	t.Helper()
	for name := range filesIn(t, dir) {
		if len(names) > 0 && !slices.Contains(names, filepath.Base(name)) {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !info.ModTime().Equal(old) {
			return true
		}
	}
	return false
}
