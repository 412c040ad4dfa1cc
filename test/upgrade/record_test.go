//go:build e2e

package upgrade

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

// record writes testdata anew, with the build that the test is part of: the requests of
// a whole install, the results, and what is still sent from each state.
func (c testCase) record(t *testing.T) {
	var requests []request
	day1 := 0
	inBubble(t, c, func(t *testing.T, s *site) {
		dir := t.TempDir()
		s.installs(t, dir, false)
		requests = s.written()
		day1 = len(requests)
		if c.late != "" {
			s.bootLate()
			s.installs(t, dir, true)
			requests = append(requests, s.written()...)
		}
		c.keepResults(t, s, dir)
	})
	c.write(t, "requests.json", requests)

	stops := stopsOf(requests, day1)
	for i := range stops {
		if stops[i].Until.Cluster == settles {
			inBubble(t, c, func(t *testing.T, s *site) { stops[i].Until = s.settle(t, requests[:stops[i].Sent]) })
		}
		inBubble(t, c, func(t *testing.T, s *site) {
			s.reach(t, requests, stops[i])
			dir := t.TempDir()
			if stops[i].installed() {
				c.leaveResults(t, s, dir)
			}
			s.installs(t, dir, stops[i].AddNodes)
			stops[i].Then = texts(s.written(), request.summary)
		})
	}
	c.write(t, "states.json", stops)
}

// settles is in the place of the state that a service reaches by itself after some requests.
const settles = "?"

// settle sends requests, and finds out to which state the service comes then.
func (s *site) settle(t *testing.T, requests []request) state {
	t.Helper()
	for _, r := range requests {
		s.send(t, r)
	}
	s.sleep(t, 20*time.Minute) // all machines boot, and are checked
	settled, _, err := s.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return settled
}

func (s *site) installs(t *testing.T, dir string, addNodes bool) {
	t.Helper()
	if a := s.run(t, dir, addNodes, nil); a.err != nil || a.result.Verdict != model.VerdictInstalled {
		t.Fatalf("ends as %q: %v\n%s", a.result.Verdict, a.err, fixture.Story(a.events))
	}
}

// keepResults copies results into testdata.
func (c testCase) keepResults(t *testing.T, s *site, dir string) {
	t.Helper()
	_, ids, err := s.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.keep(t, "results", filesIn(t, dir), ids)
}

// keep copies files into testdata, with placeholders.
func (c testCase) keep(t *testing.T, folder string, files, placeholders map[string]string) {
	t.Helper()
	must.Do(t, os.RemoveAll(c.path(folder)))
	for name, text := range files {
		for id, placeholder := range placeholders {
			text = strings.ReplaceAll(text, id, placeholder)
		}
		path := filepath.Join(c.path(folder), name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o750))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// stopsOf are the states in which an install with these requests is left; the first day1 requests install the cluster.
func stopsOf(requests []request, day1 int) []stop {
	var stops []stop
	settled := state{Cluster: settles}
	before := func(name string, sent int, until state) {
		if sent < day1 && !slices.ContainsFunc(stops, func(s stop) bool { return s.Sent == sent && s.Until.reached(until) }) {
			stops = append(stops, stop{Name: name, Sent: sent, Until: until})
		}
	}
	first := func(part string) int {
		return slices.IndexFunc(requests[:day1], func(r request) bool { return strings.Contains(r.Path, part) })
	}
	before("nothing", 0, state{})
	before("registered", 1, requests[1].When)
	image := first("/infra-envs")
	before("half of the settings", (1+image)/2, requests[(1+image)/2].When)
	before("image", image+1, requests[image].When)
	if hosts := first("/hosts/"); hosts >= 0 {
		before("discovered", hosts, settled)
		before("one host configured", hosts+1, settled)
	}
	before("ready", day1-1, requests[day1-1].When)
	stops = append(stops,
		stop{Name: "installing", Sent: day1, Through: []string{"preparing-for-installation"}, Until: state{Cluster: "installing"}},
		stop{Name: "installed", Sent: day1, Through: []string{"finalizing"}, Until: state{Cluster: "installed"}},
	)
	for sent := day1; sent < len(requests); sent++ {
		stops = append(stops, stop{Name: fmt.Sprintf("adding, %d sent", sent-day1), Sent: sent, Until: requests[sent].When, AddNodes: true})
	}
	if len(requests) > day1 {
		added := append(slices.Clone(requests[day1].When.Hosts), "added-to-existing-cluster")
		slices.Sort(added)
		stops = append(stops, stop{Name: "added", Sent: len(requests), Until: state{"adding-hosts", added}, AddNodes: true})
	}
	return stops
}
