//go:build e2e

package upgrade

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

var update = flag.Bool("update", false, "record testdata anew, with the build that this test is part of")

// request is a write of oaictl. Placeholders stand for the ids that the service gives.
type request struct {
	When   state           `json:"when"` // what it was sent upon
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body,omitempty"`
	Status int             `json:"status"`
}

// requestOf is a request with placeholders.
func requestOf(ids map[string]string, method, path string, body []byte) request {
	var pairs []string
	for id, placeholder := range ids {
		pairs = append(pairs, id, placeholder)
	}
	placed := strings.NewReplacer(pairs...)
	r := request{Method: method, Path: placed.Replace(path)}
	if len(body) > 0 {
		r.Body = json.RawMessage(placed.Replace(string(body)))
	}
	return r
}

// String is what two builds are compared by: a body is the same for any order of its fields.
func (r request) String() string {
	body := []byte(r.Body)
	var content any
	if json.Unmarshal(body, &content) == nil {
		body, _ = json.Marshal(content) // it was JSON before
	}
	return fmt.Sprintf("%s %s %s", r.Method, r.Path, body)
}

// summary names a request in testdata/CASE/states.json.
func (r request) summary() string { return r.Method + " " + r.Path }

// texts are requests in alphabetic order: those of different hosts are sent side by side.
func texts(requests []request, text func(request) string) []string {
	out := []string{}
	for _, r := range requests {
		out = append(out, text(r))
	}
	slices.Sort(out)
	return out
}

// send sends a request of the earlier build once the service is where it was then. The
// machines of a cluster boot in any order: for a request to one, it alone has to be there.
func (s *site) send(t *testing.T, r request) {
	t.Helper()
	_, name, ofHost := strings.Cut(r.Path, "{host ")
	ofHost = ofHost && r.Method == http.MethodPatch
	ids := s.await(t, r.summary(), func(now state, ids map[string]string) bool {
		if !ofHost {
			return now.reached(r.When)
		}
		return slices.ContainsFunc(slices.Collect(maps.Values(ids)), func(placeholder string) bool { return strings.HasPrefix("{host "+name, placeholder) })
	})
	var pairs []string
	for id, placeholder := range ids {
		pairs = append(pairs, placeholder, id)
	}
	placed := strings.NewReplacer(pairs...)
	sent := must.Get(http.NewRequestWithContext(t.Context(), r.Method, address+apiPath+placed.Replace(r.Path), bytes.NewReader([]byte(placed.Replace(string(r.Body))))))(t)
	sent.Header.Set("Content-Type", "application/json")
	response := must.Get(wire{s.service}.RoundTrip(sent))(t)
	if response.StatusCode != r.Status {
		answer, _ := io.ReadAll(response.Body)
		t.Fatalf("%s, as the earlier build sent it: %s %s", r.summary(), response.Status, answer)
	}
	s.sleep(t, time.Second) // the earlier build took longer
}

// stop is a state in which an install was left.
type stop struct {
	Name  string `json:"name"`
	Sent  int    `json:"sent"`  // how many of the requests
	Until state  `json:"until"` // the service's state then
	// Through are states of the cluster on the way, in which nothing is to be done.
	Through  []string `json:"through,omitempty"`
	AddNodes bool     `json:"addNodes,omitempty"` // what continues from there is `add-node`
	// Then are the writes that the earlier build sent from there, by method and path.
	Then []string `json:"then"`
}

// testCase is a folder of testdata.
type testCase struct {
	name string
	late string // machine that boots once the cluster is installed
}

func testCases() []testCase {
	return []testCase{
		{name: "sno"}, {name: "compact"}, {name: "ha-workers"}, {name: "static-network"}, {name: "settings"},
		{name: "late-worker", late: "worker-1"},
	}
}

func (c testCase) path(name string) string { return filepath.Join("testdata", c.name, name) }

func (c testCase) load(t *testing.T) *spec.Cluster {
	t.Helper()
	return must.Get(spec.Load(t.Context(), c.path("cluster.yaml"), spec.OSEnv()))(t)
}

func (c testCase) read(t *testing.T, name string, into any) {
	t.Helper()
	data := must.Get(os.ReadFile(c.path(name)))(t)
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", c.path(name), err)
	}
}

func (c testCase) write(t *testing.T, name string, content any) {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	must.Do(t, encoder.Encode(content))
	must.Do(t, os.WriteFile(c.path(name), out.Bytes(), 0o600))
}
