package service

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const (
	infraEnv = strfmt.UUID("11111111-1111-4111-8111-111111111111")
	host     = strfmt.UUID("22222222-2222-4222-8222-222222222222")
	cluster  = strfmt.UUID("33333333-3333-4333-8333-333333333333")
	token    = "token-of-the-machine"
)

// stillClock stands until something sleeps on it.
type stillClock struct {
	mu     sync.Mutex
	now    time.Time
	sleeps []time.Duration
	// sleep is called instead of waiting, if it is not nil.
	sleep func()
}

func (c *stillClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stillClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.now, c.sleeps = c.now.Add(d), append(c.sleeps, d)
	c.mu.Unlock()
	if c.sleep != nil {
		c.sleep()
	}
	return context.Cause(ctx)
}

func (c *stillClock) Wall(d time.Duration) time.Duration { return d }

// rig is a client and the service that it speaks to.
type rig struct {
	*Client
	clock  *stillClock
	log    *bytes.Buffer
	server *httptest.Server
}

func newRig(t *testing.T, handler http.HandlerFunc) rig {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	clock := &stillClock{now: time.Unix(1795894918, 0)}
	var log bytes.Buffer
	client := must.Get(New(Config{
		URL: server.URL, Token: token, AgentVersion: "quay.io/agent:latest", Clock: clock, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}))(t)
	return rig{client, clock, &log, server}
}

// TestRequests holds each call against the request that the original programs send.
func TestRequests(t *testing.T) {
	id := host
	state := models.LogsStateCollecting
	version := "quay.io/agent:latest"
	for name, test := range map[string]struct {
		call   func(ctx context.Context, c *Client) error
		status int
		answer string
		want   string // method, path and query
		body   string
		header string // discovery_agent_version
		accept string
	}{
		"register": {
			call: func(ctx context.Context, c *Client) error {
				return check.Err(c.Register(ctx, infraEnv, &models.HostCreateParams{HostID: &id, DiscoveryAgentVersion: version}))
			},
			status: 201, answer: `{"id":"22222222-2222-4222-8222-222222222222"}`, want: "POST /v2/infra-envs/{ie}/hosts", header: version,
			body: `{"discovery_agent_version":"quay.io/agent:latest","host_id":"22222222-2222-4222-8222-222222222222"}`,
		},
		"instructions": {
			call: func(ctx context.Context, c *Client) error {
				return check.Err(c.Instructions(ctx, infraEnv, host, version))
			},
			answer: `{"instructions":null}`, want: "GET /v2/infra-envs/{ie}/hosts/{host}/instructions?timestamp=1795894918", header: version,
		},
		"reply": {
			call: func(ctx context.Context, c *Client) error {
				return c.Reply(ctx, infraEnv, host, &models.StepReply{StepID: "inventory-c7b9018e", StepType: models.StepTypeInventory, Output: "{}"})
			},
			status: 204, want: "POST /v2/infra-envs/{ie}/hosts/{host}/instructions", header: version,
			body: `{"output":"{}","step_id":"inventory-c7b9018e","step_type":"inventory"}`,
		},
		"reply that a container exists": {
			call: func(ctx context.Context, c *Client) error {
				return c.Reply(ctx, infraEnv, host, &models.StepReply{
					StepID: "install-338f2953", StepType: models.StepTypeInstall, ExitCode: 125,
					Error: "Error: the container name \"assisted-installer\" is already in use\n",
				})
			},
			status: 204, want: "POST /v2/infra-envs/{ie}/hosts/{host}/instructions", header: version,
			body: `{"error":"Error: the container name \"assisted-installer\" is already in use\n","exit_code":125,` +
				`"step_id":"install-338f2953","step_type":"install"}`,
		},
		"progress": {
			call: func(ctx context.Context, c *Client) error {
				return c.Progress(ctx, infraEnv, host, models.HostStageStartingInstallation, "master")
			},
			want: "PUT /v2/infra-envs/{ie}/hosts/{host}/progress",
			body: `{"current_stage":"Starting installation","progress_info":"master"}`,
		},
		"progress without a text": {
			call: func(ctx context.Context, c *Client) error {
				return c.Progress(ctx, infraEnv, host, models.HostStageRebooting, "")
			},
			want: "PUT /v2/infra-envs/{ie}/hosts/{host}/progress", body: `{"current_stage":"Rebooting"}`,
		},
		"cluster without hosts": {
			call:   func(ctx context.Context, c *Client) error { return check.Err(c.Cluster(ctx, cluster, false)) },
			answer: `{}`, want: "GET /v2/clusters/{cluster}?exclude-hosts=true",
		},
		"cluster with hosts": {
			call:   func(ctx context.Context, c *Client) error { return check.Err(c.Cluster(ctx, cluster, true)) },
			answer: `{}`, want: "GET /v2/clusters/{cluster}?exclude-hosts=false",
		},
		"hosts": {
			call:   func(ctx context.Context, c *Client) error { return check.Err(c.InfraEnvHosts(ctx, infraEnv)) },
			answer: `[{"status":"known"}]`, want: "GET /v2/infra-envs/{ie}/hosts",
		},
		"host": {
			call:   func(ctx context.Context, c *Client) error { return check.Err(c.Host(ctx, infraEnv, host)) },
			answer: `{"status":"known"}`, want: "GET /v2/infra-envs/{ie}/hosts/{host}",
		},
		"status": {
			call:   func(ctx context.Context, c *Client) error { return check.Err(c.Status(ctx, infraEnv, host)) },
			answer: `{"status":"known"}`, want: "GET /v2/infra-envs/{ie}/hosts/{host}",
		},
		"file": {
			call: func(ctx context.Context, c *Client) error {
				return check.Err(c.ClusterFile(ctx, cluster, "bootstrap.ign"))
			},
			answer: `{}`, want: "GET /v2/clusters/{cluster}/downloads/files?file_name=bootstrap.ign", accept: "application/octet-stream",
		},
		"credential": {
			call: func(ctx context.Context, c *Client) error {
				return check.Err(c.ClusterCredential(ctx, cluster, "kubeconfig-noingress"))
			},
			answer: `{}`, want: "GET /v2/clusters/{cluster}/downloads/credentials?file_name=kubeconfig-noingress", accept: "application/octet-stream",
		},
		"ignition": {
			call:   func(ctx context.Context, c *Client) error { return check.Err(c.HostIgnition(ctx, infraEnv, host)) },
			answer: `{}`, want: "GET /v2/infra-env/{ie}/hosts/{host}/downloads/ignition", accept: "application/octet-stream",
		},
		"host logs": {
			call:   func(ctx context.Context, c *Client) error { return c.HostLogsProgress(ctx, infraEnv, host, state) },
			status: 204, want: "PUT /v2/infra-envs/{ie}/hosts/{host}/logs-progress", body: `{"logs_state":"collecting"}`,
		},
		"cluster logs": {
			call:   func(ctx context.Context, c *Client) error { return c.ClusterLogsProgress(ctx, cluster, state) },
			status: 204, want: "PUT /v2/clusters/{cluster}/logs-progress", body: `{"logs_state":"collecting"}`,
		},
		"ingress": {
			call:   func(ctx context.Context, c *Client) error { return c.UploadIngressCert(ctx, cluster, "-----BEGIN\n") },
			status: 201, want: "POST /v2/clusters/{cluster}/uploads/ingress-cert", body: `"-----BEGIN\n"`,
		},
		"completed": {
			call:   func(ctx context.Context, c *Client) error { return c.CompleteInstallation(ctx, cluster, true, "", nil) },
			status: 202, answer: "{}", want: "POST /v2/clusters/{cluster}/actions/complete-installation", body: `{"is_success":true}`,
		},
		"failed": {
			call: func(ctx context.Context, c *Client) error {
				return c.CompleteInstallation(ctx, cluster, false, "why", map[string]any{"a": 1})
			},
			status: 202, answer: "{}", want: "POST /v2/clusters/{cluster}/actions/complete-installation",
			body: `{"data":{"a":1},"error_info":"why","is_success":false}`,
		},
		"operators": {
			call:   func(ctx context.Context, c *Client) error { return check.Err(c.MonitoredOperators(ctx, cluster)) },
			answer: `[{"name":"console"}]`, want: "GET /v2/clusters/{cluster}/monitored-operators",
		},
		"operator": {
			call: func(ctx context.Context, c *Client) error {
				return c.UpdateOperator(ctx, cluster, "console", "", models.OperatorStatusAvailable, "All is well")
			},
			want: "PUT /v2/clusters/{cluster}/monitored-operators", body: `{"name":"console","status":"available","status_info":"All is well"}`,
		},
		"finalizing": {
			call: func(ctx context.Context, c *Client) error {
				return c.FinalizingProgress(ctx, cluster, models.FinalizingStageWaitingForClusterOperators)
			},
			want: "PUT /v2/clusters/{cluster}/progress", body: `{"finalizing_stage":"Waiting for cluster operators"}`,
		},
		"event": {
			call: func(ctx context.Context, c *Client) error {
				message, severity := "It rebooted", models.EventSeverityInfo
				return c.TriggerEvent(ctx, &models.Event{Message: &message, Severity: &severity, Name: "reboots_for_node"})
			},
			status: 201, want: "POST /v2/events",
			body: `{"event_time":"2026-11-28T19:41:58.000Z","message":"It rebooted","name":"reboots_for_node","severity":"info"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got *http.Request
			var body []byte
			r := newRig(t, func(w http.ResponseWriter, request *http.Request) {
				got = request
				body, _ = io.ReadAll(request.Body)
				w.WriteHeader(max(test.status, 200))
				_, _ = io.WriteString(w, test.answer)
			})
			must.Do(t, test.call(t.Context(), r.Client))
			want := strings.NewReplacer("{ie}", infraEnv.String(), "{host}", host.String(), "{cluster}", cluster.String()).Replace(test.want)
			check.Equal(t, got.Method+" "+strings.TrimPrefix(got.URL.String(), basePath), want)
			if test.body == "" {
				check.Equal(t, string(body), "")
			} else {
				check.Equal(t, canonical(t, body), canonical(t, []byte(test.body)))
				check.Equal(t, got.Header.Get("Content-Type"), "application/json")
			}
			check.Equal(t, got.Header.Get("discovery_agent_version"), test.header)
			check.Equal(t, got.Header.Get("X-Secret-Key"), token)
			accept := test.accept
			if accept == "" {
				accept = "application/json"
			}
			check.Equal(t, got.Header.Get("Accept"), accept)
			if !strfmt.IsUUID4(got.Header.Get("X-Request-ID")) {
				t.Errorf("the request's identifier is %q", got.Header.Get("X-Request-ID"))
			}
		})
	}
}

// canonical is JSON with its keys in order.
func canonical(t *testing.T, content []byte) string {
	t.Helper()
	var value any
	must.Do(t, json.Unmarshal(content, &value), string(content))
	return string(must.Get(json.Marshal(value))(t))
}

func TestAnswersAreRead(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, request *http.Request) {
		switch {
		case request.Method == post:
			_, _ = io.WriteString(w, `{"id":"22222222-2222-4222-8222-222222222222","next_step_runner_command":{"args":["{}"],"retry_seconds":7}}`)
		case strings.Contains(request.URL.Path, "instructions"):
			_, _ = io.WriteString(w, `{"instructions":[{"args":["a b"],"step_id":"i-1","step_type":"inventory"}],"next_instruction_seconds":60,"post_step_action":"exit"}`)
		default:
			_, _ = io.WriteString(w, "binary\x00")
		}
	})
	id := host
	registered := must.Get(r.Register(t.Context(), infraEnv, &models.HostCreateParams{HostID: &id}))(t)
	check.Equal(t, *registered.ID, host)
	check.Slice(t, registered.NextStepRunnerCommand.Args, []string{"{}"})
	steps := must.Get(r.Instructions(t.Context(), infraEnv, host, ""))(t)
	check.Equal(t, steps.NextInstructionSeconds, 60)
	check.Equal(t, *steps.PostStepAction, models.StepsPostStepActionExit)
	check.Slice(t, steps.Instructions[0].Args, []string{"a b"})
	check.Equal(t, string(must.Get(r.HostIgnition(t.Context(), infraEnv, host))(t)), "binary\x00")
}

// TestRetries says how often a request is sent again after each status.
func TestRetries(t *testing.T) {
	patientCall := func(c *Client) error { return c.Progress(t.Context(), infraEnv, host, "Installing", "") }
	briefCall := func(c *Client) error { return check.Err(c.Instructions(t.Context(), infraEnv, host, "")) }
	for status, want := range map[int][2]int{ // of the installer, of the agent
		400: {1, 1}, 401: {1, 1}, 403: {1, 1}, 404: {11, 1}, 405: {1, 1}, 409: {1, 1}, 413: {1, 1}, 422: {1, 1}, 423: {11, 1}, 425: {11, 1},
		408: {361, 1}, 429: {361, 1}, 500: {361, 1}, 501: {361, 1}, 502: {361, 1}, 503: {361, 4}, 504: {361, 4}, 599: {361, 1},
	} {
		for i, call := range []func(*Client) error{patientCall, briefCall} {
			t.Run(fmt.Sprint(status, i), func(t *testing.T) {
				tries := 0
				r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
					tries++
					w.WriteHeader(status)
				})
				err := call(r.Client)
				check.Equal(t, tries, want[i])
				check.Equal(t, StatusOf(err), status)
				if want[i] > 1 {
					check.Says(t, err, fmt.Sprintf("sent %d times", want[i]))
				}
				for n, d := range r.clock.sleeps {
					if most := min(10*time.Second, 2*time.Second<<min(n, 8)); d < most/2 || d > most {
						t.Errorf("wait %d is %s, want between %s and %s", n, d, most/2, most)
					}
				}
			})
		}
	}
}

func TestRecovery(t *testing.T) {
	tries := 0
	r := newRig(t, func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		if tries++; tries < 4 {
			w.Header().Set("Retry-After", []string{"7", "soon", "9999999"}[tries-1])
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		check.Equal(t, string(body), `{"current_stage":"Installing"}`)
	})
	must.Do(t, r.Progress(t.Context(), infraEnv, host, "Installing", ""))
	check.Equal(t, r.clock.sleeps[0], 7*time.Second)
	check.Equal(t, r.clock.sleeps[2], time.Minute)
	check.Contains(t, r.log.String(), "report the stage Installing")
	check.Contains(t, r.log.String(), "busy")
}

func TestNoAnswer(t *testing.T) {
	t.Run("connection refused", func(t *testing.T) {
		r := newRig(t, nil)
		r.server.Close()
		err := r.Progress(t.Context(), infraEnv, host, "Installing", "")
		check.Equal(t, len(r.clock.sleeps), 360)
		check.Says(t, err, "connection refused")
		check.Equal(t, StatusOf(err), 0)
	})
	t.Run("connection closed", func(t *testing.T) {
		r := newRig(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		check.Says(t, check.Err(r.Instructions(t.Context(), infraEnv, host, "")), "EOF")
		check.Equal(t, len(r.clock.sleeps), 3)
	})
	t.Run("answer breaks off", func(t *testing.T) {
		r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		})
		check.Says(t, check.Err(r.Instructions(t.Context(), infraEnv, host, "")), "breaks off")
	})
	t.Run("hang", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newRig(t, func(_ http.ResponseWriter, request *http.Request) {
			_, _ = io.Copy(io.Discard, request.Body) // so that the server sees the end of the connection
			cancel()
			<-request.Context().Done()
		})
		err := r.Progress(ctx, infraEnv, host, "Installing", "")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		check.Equal(t, len(r.clock.sleeps), 0)
	})
	t.Run("attempt too long", func(t *testing.T) {
		r := newRig(t, func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() })
		_, _, failed := r.attempt(t.Context(), call{doing: "x", method: get, path: "/v2", limit: 20 * time.Millisecond})
		check.Says(t, failed, "it took longer than 20ms")
		check.Equal(t, briefRetries(failed), 3)
	})
	t.Run("cancelled while it waits", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newRig(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
		r.clock.sleep = cancel
		err := r.Progress(ctx, infraEnv, host, "Installing", "")
		check.Equal(t, StatusOf(err), http.StatusBadGateway)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestReasons(t *testing.T) {
	for body, want := range map[string]string{
		`{"code":"409","href":"","id":409,"kind":"Error","reason":"host is busy"}`: "the service answered 409 Conflict: host is busy (request ID",
		`{"code":409,"message":"infra \u001b[31mred"}`:                             `infra \u001b[31mred`,
		"<html>\n <b>no</b></html>":                                                "<html> <b>no</b></html>",
		"":                                                                         "409 Conflict (request ID",
		`{"reason":"your token is ` + token + `"}`:                                 "your token is [redacted]",
		`["x"]`:                   `["x"]`,
		strings.Repeat("x", 3000): strings.Repeat("x", 1000) + "...",
	} {
		r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, body)
		})
		err := r.Progress(t.Context(), infraEnv, host, "Installing", "")
		check.Says(t, err, want)
		check.Says(t, err, "report the stage Installing: PUT "+r.server.URL)
		if strings.Contains(err.Error()+r.log.String(), token) {
			t.Errorf("the token is in %v or in %s", err, r.log)
		}
		if !HasStatus(err, 404, 409) || HasStatus(err, 404) || HasStatus(nil, 0) {
			t.Errorf("wrong status: %v", err)
		}
	}
}

func TestGarbage(t *testing.T) {
	for _, body := range []string{"", "<html>log in</html>", `{"instructions":`, `{"instructions":"x"}`, `[]`, "\x00\x01"} {
		r := newRig(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		err := check.Err(r.Instructions(t.Context(), infraEnv, host, ""))
		check.Says(t, err, "its body is not the JSON of the assisted-service", body)
		check.Equal(t, len(r.clock.sleeps), 0)
	}
}

// TestLongAnswer serves more than a client keeps.
func TestLongAnswer(t *testing.T) {
	chunk := bytes.Repeat([]byte(" "), 1<<20)
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		for range largestAnswer>>20 + 8 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	check.Says(t, check.Err(r.HostIgnition(t.Context(), infraEnv, host)), "its answer is longer than 64 MiB")
	check.Equal(t, len(r.clock.sleeps), 0)
}

func TestRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		t.Errorf("the other host got %s with the token %q", request.URL, request.Header.Get("X-Secret-Key"))
	}))
	t.Cleanup(elsewhere.Close)
	other := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)
	for name, test := range map[string]struct {
		status   int
		to, want string
		method   string
	}{
		"another host":   {http.StatusFound, other, "where the token is not sent", get},
		"another method": {http.StatusFound, "/moved", "redirects a PUT", put},
		"a loop":         {http.StatusTemporaryRedirect, "/api/again", "again and again", put},
		"the same host":  {http.StatusTemporaryRedirect, "/moved", "", put},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(w http.ResponseWriter, request *http.Request) {
				if request.URL.Path != "/moved" {
					http.Redirect(w, request, test.to, test.status)
				}
			})
			var err error
			if test.method == get {
				_, err = r.HostIgnition(t.Context(), infraEnv, host)
			} else {
				err = r.Progress(t.Context(), infraEnv, host, "Installing", "")
			}
			if test.want == "" {
				check.Do(t, err)
				return
			}
			check.Says(t, err, test.want)
			check.Equal(t, len(r.clock.sleeps), 0)
		})
	}
}

func TestCertificates(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	good, empty := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "empty.pem")
	must.Do(t, os.WriteFile(good, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	must.Do(t, os.WriteFile(empty, nil, 0o600))
	for name, test := range map[string]struct {
		file     string
		insecure bool
		want     string
	}{
		"unknown":         {want: "give the CA certificate of the service"},
		"from a file":     {file: good},
		"not verified":    {insecure: true},
		"missing file":    {file: empty + "x", want: "read the CA certificates"},
		"no certificates": {file: empty, want: "has no certificate in PEM"},
		// As in the original, the file is not read.
		"not verified, missing file": {file: empty + "x", insecure: true},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &stillClock{}
			client, err := New(Config{
				URL: server.URL, CACertFile: test.file, Insecure: test.insecure, Log: slog.New(slog.DiscardHandler), Clock: clock,
			})
			if err == nil {
				_, err = client.HostIgnition(t.Context(), infraEnv, host)
			}
			if test.want == "" {
				check.Do(t, err)
			} else {
				check.Says(t, err, test.want)
			}
			check.Equal(t, len(clock.sleeps), 0)
		})
	}
}

func TestURLs(t *testing.T) {
	for text, want := range map[string]string{
		"https://assisted.example.com":         "https://assisted.example.com/api/assisted-install",
		"http://192.0.2.1:8090/":               "http://192.0.2.1:8090/api/assisted-install",
		"http://[2001:db8::1]:8090/a/b":        "http://[2001:db8::1]:8090/a/b/api/assisted-install",
		"":                                     "",
		"assisted.example.com":                 "",
		"ftp://assisted.example.com":           "",
		"http://":                              "",
		"http://a\x00b":                        "",
		"http://user:secret@ho st/":            "",
		"https://assisted.example.com?token=a": "",
		"https://assisted.example.com#a":       "",
	} {
		base, err := baseURL(text)
		if want == "" {
			check.Says(t, err, "the URL of the assisted-service", text)
			if strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
			continue
		}
		must.Do(t, err, text)
		check.Equal(t, base.String(), want)
	}
}

// TestUpload reads a form that comes in chunks, and the same again after an error.
func TestUpload(t *testing.T) {
	const content = "a tar.gz"
	id, ie := host, infraEnv
	for name, test := range map[string]struct {
		content  io.Reader
		failures int
		tries    int
		hostless bool
	}{
		"at once":         {content: strings.NewReader(content), tries: 1},
		"controller":      {content: strings.NewReader(content), tries: 1, hostless: true},
		"again":           {content: strings.NewReader(content), failures: 2, tries: 3},
		"no second time":  {content: io.MultiReader(strings.NewReader(content)), failures: 1, tries: 1},
		"a reader's once": {content: io.MultiReader(strings.NewReader(content)), tries: 1},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			r := newRig(t, func(w http.ResponseWriter, request *http.Request) {
				if tries++; tries <= test.failures {
					w.WriteHeader(http.StatusServiceUnavailable) // without reading the body
					return
				}
				check.Slice(t, request.TransferEncoding, []string{"chunked"})
				check.Equal(t, request.ContentLength, -1)
				file, header, err := request.FormFile("upfile")
				must.Do(t, err)
				check.Equal(t, string(must.Get(io.ReadAll(file))(t)), content)
				if test.hostless {
					check.Equal(t, header.Filename, "controller_logs.tar.gz")
					check.Equal(t, request.URL.RawQuery, "logs_type=controller")
				} else {
					check.Equal(t, header.Filename, "logs.tar.gz")
					check.Equal(t, request.URL.RawQuery, "host_id="+host.String()+"&infra_env_id="+infraEnv.String()+"&logs_type=host")
				}
			})
			var err error
			if test.hostless {
				err = r.UploadLogs(t.Context(), cluster, nil, nil, models.LogsTypeController, test.content)
			} else {
				err = r.UploadLogs(t.Context(), cluster, &ie, &id, models.LogsTypeHost, test.content)
			}
			check.Equal(t, tries, test.tries)
			if test.failures < test.tries {
				check.Do(t, err)
			} else {
				check.Says(t, err, "upload logs")
			}
		})
	}
}

// TestUploadOfABrokenFile shows that part of a file is not taken for the whole.
func TestUploadOfABrokenFile(t *testing.T) {
	broken := errors.New("the disk is gone")
	r := newRig(t, func(_ http.ResponseWriter, request *http.Request) {
		if _, _, err := request.FormFile("upfile"); err == nil {
			t.Error("the service got a whole file")
		}
	})
	content := io.MultiReader(strings.NewReader("part"), errorReader{broken})
	err := r.UploadLogs(t.Context(), cluster, nil, nil, models.LogsTypeController, content)
	check.Says(t, err, "the disk is gone")
}

type errorReader struct{ err error }

func (e errorReader) Read([]byte) (int, error) { return 0, e.err }

func TestHangingServiceIsLeft(t *testing.T) {
	// A listener that accepts and never answers.
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	client := must.Get(New(Config{URL: "http://" + listener.Addr().String(), Log: slog.New(slog.DiscardHandler), Clock: &stillClock{}}))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := client.Progress(ctx, infraEnv, host, "Installing", ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestDownload carries no token, and repeats no secret of the URL.
func TestDownload(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, request *http.Request) {
		check.Equal(t, request.Header.Get("X-Secret-Key"), "")
		if request.URL.Path != "/kernel" {
			http.Error(w, "no such file", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, "kernel")
	})
	content, size, err := r.Download(t.Context(), r.server.URL+"/kernel?token=abc")
	must.Do(t, err)
	check.Equal(t, size, 6)
	check.Equal(t, string(must.Get(io.ReadAll(content))(t)), "kernel")
	must.Do(t, content.Close())
	for from, want := range map[string]string{
		r.server.URL + "/initrd?token=abc":    "404 Not Found: no such file",
		"http://a\x00b?token=abc":             "the URL is malformed",
		"http://127.0.0.1:1/initrd?token=abc": "refused",
	} {
		_, _, err := r.Download(t.Context(), from)
		check.Says(t, err, want)
		if strings.Contains(err.Error(), "abc") {
			t.Error(err)
		}
	}
}

// TestHostOfAServiceWithUsers is found among all hosts of the InfraEnv.
func TestHostOfAServiceWithUsers(t *testing.T) {
	hosts := `[null,{},{"id":"` + string(cluster) + `"},{"id":"` + string(host) + `","status":"installing"}]`
	status := http.StatusUnauthorized
	r := newRig(t, func(w http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/hosts") {
			_, _ = io.WriteString(w, hosts)
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"status":"known"}`)
	})
	check.Equal(t, *must.Get(r.Host(t.Context(), infraEnv, host))(t).Status, "installing")
	_, err := r.Status(t.Context(), infraEnv, host)
	check.Equal(t, StatusOf(err), http.StatusUnauthorized)
	hosts = "[]"
	_, err = r.Host(t.Context(), infraEnv, host)
	check.Says(t, err, "the InfraEnv has no such host")
	check.Equal(t, StatusOf(err), http.StatusNotFound)
	hosts = "{"
	check.Says(t, check.Err(r.Host(t.Context(), infraEnv, host)), "JSON")
	status = http.StatusOK
	check.Equal(t, must.Get(r.Status(t.Context(), infraEnv, host))(t), "known")
}

// TestNull: an answer of null is no answer. Its callers use what is there without a further look.
func TestNull(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, " null\n") })
	ctx, id := t.Context(), host
	for name, err := range map[string]error{
		"Register":     check.Err(r.Register(ctx, infraEnv, &models.HostCreateParams{HostID: &id})),
		"Instructions": check.Err(r.Instructions(ctx, infraEnv, host, "")),
		"Status":       check.Err(r.Status(ctx, infraEnv, host)),
		"Host":         check.Err(r.Host(ctx, infraEnv, host)),
		"Cluster":      check.Err(r.Cluster(ctx, cluster, true)),
	} {
		check.Says(t, err, "its body is null", name)
	}
	// An empty list may be null.
	check.Equal(t, len(must.Get(r.InfraEnvHosts(ctx, infraEnv))(t)), 0)
	check.Equal(t, len(must.Get(r.MonitoredOperators(ctx, cluster))(t)), 0)
}

// TestSilentConnection gives up a connection of HTTP/2 that leads nowhere any more, as after a change of address.
func TestSilentConnection(t *testing.T) {
	client := must.Get(New(Config{URL: "https://192.0.2.1", Log: slog.New(slog.DiscardHandler), Clock: &stillClock{}}))(t)
	used := client.http.Transport.(*http.Transport)
	if used.HTTP2.SendPingTimeout == 0 || used.HTTP2.PingTimeout == 0 {
		t.Error("a silent connection is never tried")
	}
}
