package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const (
	// apiPath is where the service's API lives under its URL.
	apiPath = "/api/assisted-install"
	// mostTries is how often a request is sent that may be repeated.
	mostTries = 4
)

// fakeClock passes as fast as its callers sleep.
type fakeClock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return context.Cause(ctx)
}

func (c *fakeClock) Wall(d time.Duration) time.Duration { return d }

// call is a request that the fake service got.
type call struct {
	method, path, query string
	header              http.Header
	body                string
}

func (c call) String() string { return c.method + " " + c.path }

// fake is an assisted-service that answers as a test sets it.
type fake struct {
	*httptest.Server
	clock   *fakeClock
	mu      sync.Mutex
	calls   []call
	answers map[string]http.HandlerFunc // by "METHOD /v2/path"
}

func newFake(t *testing.T) *fake {
	f := &fake{clock: newFakeClock(), answers: map[string]http.HandlerFunc{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	path := strings.TrimPrefix(r.URL.Path, apiPath)
	c := call{method: r.Method, path: path, query: r.URL.RawQuery, header: r.Header, body: string(data)}
	f.mu.Lock()
	f.calls = append(f.calls, c)
	answer := f.answers[c.String()]
	f.mu.Unlock()
	w.Header().Set("Date", f.clock.Now().UTC().Format(http.TimeFormat))
	if answer == nil {
		reply(w, 404, fmt.Sprintf(`{"code":"404","reason":"the fake has no %s"}`, c))
		return
	}
	answer(w, r)
}

func (f *fake) on(key string, answer http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[key] = answer
}

func (f *fake) json(key string, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	f.on(key, func(w http.ResponseWriter, _ *http.Request) { reply(w, status, string(data)) })
}

// took are the calls since the last time, without those that are not wanted.
func (f *fake) took() []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

func (f *fake) plane(t *testing.T, change ...func(*Config)) *Plane {
	t.Helper()
	config := Config{URL: f.URL, Clock: f.clock, UserAgent: "oaictl/test"}
	for _, c := range change {
		c(&config)
	}
	return must.Get(New(config))(t)
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// answering answers with each of the handlers in turn, then with the last.
func answering(handlers ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := handlers[0]
		if len(handlers) > 1 {
			handlers = handlers[1:]
		}
		mu.Unlock()
		h(w, r)
	}
}

func with(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { reply(w, status, body) }
}

// reset breaks the connection without an answer.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

const (
	clusterID  = "11111111-1111-1111-1111-111111111111"
	infraEnvID = "22222222-2222-2222-2222-222222222222"
)

func hostID(n int) string { return fmt.Sprintf("aaaaaaaa-0000-0000-0000-%012d", n) }

// clusterJSON is a cluster's record with some fields changed.
func clusterJSON(changes map[string]any) map[string]any {
	c := map[string]any{
		"id": clusterID, "name": "lab", "base_dns_domain": "example.com", "status": "insufficient", "status_info": "not ready", "kind": "Cluster",
		"href": "/x", "tags": "oaictl,oaictl_run_r1", "created_at": "2030-05-01T11:59:00.123456Z", "openshift_version": "4.20.33",
		"api_vips": []any{}, "ingress_vips": []any{}, "machine_networks": []any{}, "image_info": map[string]any{}, "something_new": map[string]any{"a": 1},
	}
	for key, value := range changes {
		c[key] = value
	}
	return c
}

func hostJSON(n int, changes map[string]any) map[string]any {
	h := map[string]any{
		"id": hostID(n), "infra_env_id": infraEnvID, "cluster_id": clusterID, "status": "known", "status_info": "", "kind": "Host", "href": "/x",
		"role": "auto-assign", "requested_hostname": fmt.Sprintf("host-%d", n), "something_new": true,
	}
	for key, value := range changes {
		h[key] = value
	}
	return h
}

func inventoryText(n int) string {
	return fmt.Sprintf(`{"hostname":"host-%d","interfaces":[{"mac_address":"52:54:00:00:00:%02X","name":"eth0","has_carrier":true}],"future":[1]}`, n, n%256)
}

func infraEnvJSON(changes map[string]any) map[string]any {
	e := map[string]any{
		"id": infraEnvID, "name": "lab", "cluster_id": clusterID, "href": "/x", "kind": "InfraEnv", "type": "full-iso",
		"created_at": "2030-05-01T11:59:30Z", "download_url": "https://images.example.com/byid/x/full.iso", "openshift_version": "4.20",
		"expires_at": "0001-01-01T00:00:00.000Z",
	}
	for key, value := range changes {
		e[key] = value
	}
	return e
}

func desired(t *testing.T) *model.Desired {
	t.Helper()
	const text = `
apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab, tags: [blue]}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network:
    machine: [192.168.127.0/24]
    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}
  manifests:
  - {name: 50-x.yaml, folder: openshift, content: "a: b\n"}
  hosts:
  - {name: cp-0, role: control-plane, match: {mac: "52:54:00:00:00:00"}, bmc: {address: "https://10.0.0.1/redfish/v1/Systems/1", insecure: true, credentials: {env: BMC}}}
  - {name: cp-1, role: control-plane, match: {mac: "52:54:00:00:00:01"}}
  - {name: cp-2, role: control-plane, match: {mac: "52:54:00:00:00:02"}}
`
	env := spec.OSEnv()
	env.LookupEnv = func(name string) (string, bool) {
		return map[string]string{"PULL": `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`, "BMC": "root:calvin-secret"}[name], true
	}
	c := must.Get(spec.Parse(t.Context(), "cluster.yaml", []byte(text), env))(t)
	return &model.Desired{Spec: c, Options: model.Options{Run: "r1"}}
}

// background is a context for tests that pass functions around.
func background() context.Context { return context.Background() }
