//go:build e2e

package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const (
	address = "http://assisted.example.com"
	apiPath = "/api/assisted-install"
)

// site is a simulated service with the machines of a cluster.
type site struct {
	time    clock.Clock
	cluster *spec.Cluster
	service *simulator.Service
	late    string // name of the machine that boots once the cluster is installed; may be empty

	ctx     context.Context
	running sync.WaitGroup
	booted  bool // the late machine

	mu   sync.Mutex
	sent []request // writes of oaictl that the service took
}

// inBubble runs something with a site of a synctest bubble, and stops the site afterwards:
// no time passes but by waiting, however busy the computer is.
func inBubble(t *testing.T, c testCase, do func(*testing.T, *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { inTime(t, c, clock.Real(), do) })
}

// inTime runs something with a site that lives by a clock, and stops the site afterwards.
func inTime(t *testing.T, c testCase, passing clock.Clock, do func(*testing.T, *site)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &site{cluster: c.load(t), late: c.late, ctx: ctx, time: passing}
	service, err := simulator.NewService(simulator.ServiceConfig{Clock: passing, Seed: 1, PublicURL: func() string { return address }}, "")
	if err != nil {
		t.Fatal(err)
	}
	s.service = service
	s.running.Go(func() { _ = service.Run(ctx) }) // it ends with ctx
	dark := &scenario.Scenario{}
	if c.late != "" {
		dark.Hosts = []scenario.Rule{{Match: scenario.Match{Name: c.late}, Do: scenario.DoNeverBoot}}
	}
	s.boot(host.Day1, dark)
	defer s.running.Wait()
	defer stop()
	do(t, s)
}

// sleep lets time of the site pass.
func (s *site) sleep(t *testing.T, d time.Duration) {
	t.Helper()
	if err := s.time.Sleep(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// boot switches machines on.
func (s *site) boot(day host.BootDay, trouble *scenario.Scenario) {
	s.running.Go(func() {
		_ = simulator.Boot(s.ctx, simulator.BootConfig{ // it ends with ctx
			ServiceURL: address, HTTPClient: &http.Client{Transport: wire{s.service}}, Clock: s.time, Seed: 1, Scenario: trouble, Cluster: s.cluster, Day: day,
		})
	})
}

// bootLate switches on the machine that is added to the installed cluster.
func (s *site) bootLate() {
	if !s.booted {
		s.booted = true
		s.boot(host.Day2, nil)
	}
}

// wire hands requests to a service in the same process. There is no connection in
// between, whose reader would keep a bubble's clock from going on.
type wire struct{ handler http.Handler }

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := context.Cause(r.Context()); err != nil {
		return nil, err
	}
	recorder := httptest.NewRecorder()
	in := r.Clone(r.Context())
	in.RequestURI, in.Host, in.RemoteAddr = r.URL.RequestURI(), r.URL.Host, "192.0.2.1:1234"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w.handler.ServeHTTP(recorder, in)
	response := recorder.Result()
	response.Request = r
	return response, nil
}

// RoundTrip passes on what oaictl sends, and records the writes.
func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		response, err := (wire{s.service}).RoundTrip(r)
		if err != nil {
			return nil, err
		}
		asBefore(r, response)
		return response, nil
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	before, ids, err := s.look(r.Context())
	if err != nil {
		return nil, err
	}
	response, err := (wire{s.service}).RoundTrip(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := requestOf(ids, r.Method, strings.TrimPrefix(r.URL.RequestURI(), apiPath), body)
	sent.When, sent.Status = before, response.StatusCode
	s.sent = append(s.sent, sent)
	return response, nil
}

// credentials are what every simulated cluster has here: kubeconfigs without keys, so that
// those of testdata are those of the cluster.
func credentials(file string) (string, bool) {
	text := func(address string) string {
		return "apiVersion: v1\nkind: Config\nclusters:\n- name: lab\n  cluster:\n    server: " + address + "\ncurrent-context: admin\ncontexts:\n- name: admin\n  context: {cluster: lab, user: admin}\nusers:\n- name: admin\n  user: {}\n"
	}
	switch file {
	case "kubeconfig":
		return text("https://api.lab.example.com:6443"), true
	case "kubeconfig-noingress":
		return text("https://api-int.lab.example.com:6443"), true
	case "kubeadmin-password":
		return "not-a-password", true
	}
	return "", false
}

// asBefore puts the credentials that the results in testdata hold in place of those that
// the simulator has made, which are different each time.
func asBefore(r *http.Request, response *http.Response) {
	if response.StatusCode != http.StatusOK {
		return
	}
	text, known := credentials(r.URL.Query().Get("file_name"))
	if !known {
		return
	}
	response.Body = io.NopCloser(strings.NewReader(text))
	response.ContentLength = int64(len(text))
	response.Header.Set("Content-Length", fmt.Sprint(len(text)))
}

// written are the writes of oaictl since the last call.
func (s *site) written() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

// state is how far a cluster and its hosts are in the service's words.
type state struct {
	Cluster string   `json:"cluster,omitempty"`
	Hosts   []string `json:"hosts,omitempty"` // their statuses in alphabetic order
}

func (s state) reached(want state) bool {
	return s.Cluster == want.Cluster && (len(want.Hosts) == 0 || slices.Equal(s.Hosts, want.Hosts))
}

// look reads the state of the service, and the ids that it has given. Each id is mapped to its placeholder in testdata.
func (s *site) look(ctx context.Context) (now state, ids map[string]string, err error) {
	type object struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Status    string `json:"status"`
		Inventory string `json:"inventory"`
	}
	var clusters, infraEnvs []object
	if err := s.get(ctx, "/v2/clusters", &clusters); err != nil {
		return now, nil, err
	}
	if err := s.get(ctx, "/v2/infra-envs", &infraEnvs); err != nil {
		return now, nil, err
	}
	ids = map[string]string{}
	for _, c := range clusters {
		now.Cluster, ids[c.ID] = c.Status, "{cluster}"
	}
	for _, e := range infraEnvs {
		ids[e.ID] = "{infraenv " + e.Name + "}"
		var hosts []object
		if err := s.get(ctx, "/v2/infra-envs/"+e.ID+"/hosts", &hosts); err != nil {
			return now, nil, err
		}
		for _, h := range hosts {
			now.Hosts = append(now.Hosts, h.Status)
			for i := range s.cluster.Spec.Hosts {
				if named := &s.cluster.Spec.Hosts[i]; strings.Contains(h.Inventory, named.Match.MAC) {
					ids[h.ID] = "{host " + named.Name + "}"
				}
			}
		}
	}
	slices.Sort(now.Hosts)
	return now, ids, nil
}

func (s *site) get(ctx context.Context, path string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+apiPath+path, nil)
	if err != nil {
		return err
	}
	response, err := (wire{s.service}).RoundTrip(r)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// await lets time pass until the service is in a state, and gives the ids there.
func (s *site) await(t *testing.T, want string, reached func(now state, ids map[string]string) bool) map[string]string {
	t.Helper()
	var now state
	for range 6 * 60 * 60 / lookSeconds {
		var ids map[string]string
		var err error
		if now, ids, err = s.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if reached(now, ids) {
			return ids
		}
		s.sleep(t, lookSeconds*time.Second)
	}
	t.Fatalf("the simulated service never comes to: %s; it is at %v", want, now)
	return nil
}

// lookSeconds is the time between two looks, which is less than the service takes between
// two looks of its own, in which states change.
const lookSeconds = 5

// attempt is one run of the present build.
type attempt struct {
	events []model.Event
	result install.Result
	err    error
}

// plane is a service plane as a new process has one.
func (s *site) plane(t *testing.T) *rest.Plane {
	t.Helper()
	plane, err := rest.New(rest.Config{URL: address, Clock: s.time, HTTPClient: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	return plane
}

// run installs, or adds hosts, until that is done or stop says so.
func (s *site) run(t *testing.T, dir string, addNodes bool, stop func(model.Event) bool) *attempt {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := &attempt{}
	hear := func(e model.Event) {
		a.events = append(a.events, e)
		if stop != nil && stop(e) {
			cancel()
		}
	}
	installer := install.New(s.plane(t), install.Config{Clock: s.time, Files: install.Directory(dir), Events: hear, Timeout: 6 * time.Hour, UserTimeout: -1,
		PollInterval: 30 * time.Second}) // no more looks than it takes
	a.result, a.err = installer.Run(ctx, s.desired(addNodes))
	return a
}

func (s *site) desired(addNodes bool) *model.Desired {
	return &model.Desired{Spec: s.cluster, Options: model.Options{AddNodes: addNodes, Run: "run-1"}}
}

// filesIn are the files below a folder, with their content.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+string(filepath.Separator))] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
