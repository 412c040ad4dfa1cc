//go:build linux

package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/disk/disktest"
	"github.com/oaictl/oaictl/internal/host/hosttest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/shared/pipes"
	"github.com/oaictl/oaictl/internal/simulator"
)

const (
	serviceURL = "http://assisted.example.com:8090"
	pullSecret = `{"auths":{"cloud.openshift.com":{"auth":"c2VjcmV0OmNsb3Vk"},"quay.io":{"auth":"c2VjcmV0OnF1YXkw"}}}`
	network127 = "192.168.127.0/24"
	apiVIP     = "192.168.127.100"
	ingressVIP = "192.168.127.101"
)

// site is a service, machines, and the cluster that they become.
type site struct {
	t        *testing.T
	ctx      context.Context
	group    sync.WaitGroup
	clock    clock.Clock // of the service, and of all that is neither the service nor a machine's program
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	user     *http.Client
	log      *slog.Logger
	image    []byte        // of CoreOS
	writing  time.Duration // how long a disk takes to be written
	infraEnv string
	cluster  string
	boxes    []*box
	api      *hosttest.API

	mu         sync.Mutex
	logged     bytes.Buffer
	posts      map[string][]string // stages and infos that the service got, by the id of the host
	replies    map[string][]int64  // exit codes of the steps install, by the id of the host
	installs   map[string]*again   // by the id of the host
	refused    []string            // requests that the service refused
	bootstrap  *box                // while it is the bootstrap
	serving    bool                // a machine-config-server answers
	ready      map[string]bool     // nodes
	exit       chan int            // the exit code of the controller
	controller sync.Once
}

// lines is where logs go.
type lines struct{ *site }

// Write implements io.Writer.
func (l lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.logged.Write(p)
}

// newSite runs a service whose time passes at some speed. It must be made in a synctest bubble.
func newSite(t *testing.T, speed float64) (s *site, stop func()) {
	t.Helper()
	// The simulated service knows releases of OpenShift that are supported then.
	must.Do(t, clock.Real().Sleep(t.Context(), time.Until(time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))))
	ctx, cancel := context.WithCancel(t.Context())
	s = &site{
		t: t, ctx: ctx, clock: clock.Scaled(speed), image: disktest.RHCOS(), writing: 90 * time.Second, api: hosttest.New(t), posts: map[string][]string{},
		replies: map[string][]int64{}, installs: map[string]*again{},
		ready: map[string]bool{}, exit: make(chan int, 1),
	}
	s.log = slog.New(slog.NewTextHandler(lines{s}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	simulated := must.Get(simulator.NewService(
		simulator.ServiceConfig{Clock: s.clock, Seed: 1, PublicURL: func() string { return serviceURL }}, ""))(t)
	server := pipes.Serve(ctx, s.watched(simulated))
	s.dial = server.Dial
	transport := &http.Transport{DialContext: server.Dial}
	s.user = &http.Client{Transport: transport}
	s.group.Go(func() { _ = simulated.Run(ctx) })
	return s, func() {
		cancel()
		s.group.Wait()
		transport.CloseIdleConnections()
		must.Do(t, server.Close())
	}
}

// again is a step install that the service gives several times.
type again struct {
	step  *models.Step
	times int
}

// watched notes what machines tell the service, and gives each the step install twice more: a service does so at each poll until
// the installer tells its first stage.
func (s *site) watched(next http.Handler) http.Handler {
	machines := regexp.MustCompile(`/hosts/([^/]+)/(progress|instructions|downloads/ignition)$`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found := machines.FindStringSubmatch(r.URL.Path)
		if found == nil {
			noted := &answer{ResponseWriter: w, status: http.StatusOK}
			next.ServeHTTP(noted, r)
			if noted.status >= http.StatusBadRequest {
				s.refuse(r, noted.status, noted.body.Bytes())
			}
			return
		}
		if got := r.Header.Get("X-Secret-Key"); got != token {
			s.t.Errorf("%s %s has the token %q", r.Method, r.URL, got)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		whole := httptest.NewRecorder()
		next.ServeHTTP(whole, r)
		content := whole.Body.Bytes()
		switch {
		case whole.Code >= http.StatusBadRequest:
			s.refuse(r, whole.Code, content)
		case found[2] == "progress":
			s.takePost(found[1], body)
		case found[2] == "instructions" && r.Method == http.MethodPost:
			s.takeReply(found[1], body)
		case found[2] == "instructions":
			content = s.giveAgain(found[1], content)
		}
		w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
		w.WriteHeader(whole.Code)
		_, _ = w.Write(content)
	})
}

func (s *site) refuse(r *http.Request, status int, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, fmt.Sprintf("%s %s: %d %s", r.Method, r.URL, status, body))
}

func (s *site) takePost(host string, body []byte) {
	var post models.HostProgress
	if err := json.Unmarshal(body, &post); err != nil {
		s.t.Errorf("a stage cannot be read: %s", body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts[host] = append(s.posts[host], fmt.Sprintf("%s %q", post.CurrentStage, post.ProgressInfo))
}

func (s *site) takeReply(host string, body []byte) {
	var reply models.StepReply
	if err := json.Unmarshal(body, &reply); err != nil {
		s.t.Errorf("the reply to a step cannot be read: %s", body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if reply.StepType == models.StepTypeInstall {
		s.replies[host] = append(s.replies[host], reply.ExitCode)
	}
}

// giveAgain adds the step install to the steps of a host that had it before.
func (s *site) giveAgain(host string, content []byte) []byte {
	var steps models.Steps
	if err := json.Unmarshal(content, &steps); err != nil {
		s.t.Errorf("the steps cannot be read: %s", content)
		return content
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, step := range steps.Instructions {
		if step.StepType == models.StepTypeInstall {
			s.installs[host] = &again{step: step}
			return content
		}
	}
	had := s.installs[host]
	if had == nil || had.times == 2 {
		return content
	}
	had.times++
	steps.Instructions = append(steps.Instructions, had.step)
	content, err := json.Marshal(steps)
	if err != nil {
		s.t.Error(err)
	}
	return content
}

// answer notes the status of an answer.
type answer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer // of a refusal
}

// Write implements http.ResponseWriter.
func (w *answer) Write(p []byte) (int, error) {
	if w.status >= http.StatusBadRequest {
		w.body.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// WriteHeader implements http.ResponseWriter.
func (w *answer) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// ask is a request of a user. The answer is read as JSON, unless it is a text.
func (s *site) ask(method, path string, body any, into any) {
	s.t.Helper()
	content := must.Get(json.Marshal(body))(s.t)
	request := must.Get(http.NewRequestWithContext(s.ctx, method, serviceURL+"/api/assisted-install/v2"+path, bytes.NewReader(content)))(s.t)
	request.Header.Set("Content-Type", "application/json")
	response := must.Get(s.user.Do(request))(s.t)
	defer response.Body.Close()
	answer := must.Get(io.ReadAll(response.Body))(s.t)
	if response.StatusCode >= http.StatusMultipleChoices {
		s.t.Fatalf("%s %s: %s %s", method, path, response.Status, answer)
	}
	switch into := into.(type) {
	case nil:
	case *string:
		*into = string(answer)
	default:
		must.Do(s.t, json.Unmarshal(answer, into), path)
	}
}

type fields = map[string]any

// make makes a cluster with its InfraEnv.
func (s *site) make(controlPlane int) {
	s.t.Helper()
	params := fields{
		"name": "demo", "base_dns_domain": "example.com", "openshift_version": "4.21", "pull_secret": pullSecret, "control_plane_count": controlPlane,
	}
	if controlPlane > 1 {
		params["api_vips"], params["ingress_vips"] = []fields{{"ip": apiVIP}}, []fields{{"ip": ingressVIP}}
	}
	var made struct{ ID string }
	s.ask(http.MethodPost, "/clusters", params, &made)
	s.cluster = made.ID
	s.ask(http.MethodPost, "/infra-envs", fields{
		"name": "demo", "cluster_id": s.cluster, "openshift_version": "4.21", "pull_secret": pullSecret,
	}, &made)
	s.infraEnv = made.ID
}

// await waits until the cluster has a status.
func (s *site) await(status string, limit time.Duration) {
	s.t.Helper()
	var now models.Cluster
	for end := s.clock.Now().Add(limit); s.clock.Now().Before(end); s.pause(5 * time.Second) {
		s.ask(http.MethodGet, "/clusters/"+s.cluster, nil, &now)
		if *now.Status == status {
			return
		}
		if *now.Status == models.ClusterStatusError {
			break
		}
	}
	for _, h := range now.Hosts {
		s.t.Logf("%s is %s: %s %s", h.RequestedHostname, *h.Status, *h.StatusInfo, h.ValidationsInfo)
	}
	s.t.Fatalf("the cluster is %s instead of %s: %s %s", *now.Status, status, *now.StatusInfo, now.ValidationsInfo)
}

// pause lets time pass that is the cluster's.
func (s *site) pause(d time.Duration) { _ = s.clock.Sleep(s.ctx, d) }

// known waits until the service has a machine, and gives it its role.
func (s *site) assign(b *box) {
	s.t.Helper()
	path := "/infra-envs/" + s.infraEnv + "/hosts"
	for range 60 {
		var hosts []models.Host
		s.ask(http.MethodGet, path, nil, &hosts)
		if slices.ContainsFunc(hosts, func(h models.Host) bool { return *h.ID == b.id && h.Inventory != "" }) {
			s.ask(http.MethodPatch, path+"/"+b.id.String(), fields{"host_role": b.role}, nil)
			return
		}
		s.pause(5 * time.Second)
	}
	s.t.Fatalf("%s has not registered", b.name)
}

// told are the stages of a machine, without percents below 100.
func (s *site) told(b *box) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.posts[b.id.String()]), func(post string) bool {
		return strings.HasSuffix(post, `%"`) && !strings.HasSuffix(post, `"100%"`)
	})
}

// text is the log so far.
func (s *site) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logged.String()
}

// before is a moment on the clock of the file system.
func before(t *testing.T) time.Time {
	t.Helper()
	path := filepath.Join(t.TempDir(), "before")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	return must.Get(os.Stat(path))(t).ModTime()
}
