package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/openshift/assisted-service/models"
)

const apiPath = "/api/assisted-install"

const agentAuthHeader = "X-Secret-Key"

// client is the machines' side of the REST API. When to try again is the caller's to decide.
type client struct {
	base  string
	http  *http.Client
	token *atomic.Value // a string
	clock clock.Clock
	// deadline is how long a request may take, in real time.
	deadline time.Duration
	// dateOffset is how far the service's Date was ahead at the last answer, in nanoseconds; one for a fleet.
	dateOffset *atomic.Int64
	// answered is when that answer came, in nanoseconds of the clock.
	answered *atomic.Int64
}

type statusError struct {
	Status int
	Reason string
}

func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.Status, e.Reason) }

func status(err error) int {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.Status
	}
	return 0
}

// refused tells that the service has understood and said no, so that the same request would fail again.
func refused(err error) bool {
	s := status(err)
	return s >= 400 && s < 500 && s != http.StatusRequestTimeout && s != http.StatusTooManyRequests
}

func newClient(cfg Config) (*client, error) {
	base := strings.TrimRight(cfg.ServiceURL, "/")
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("service URL %q is no http or https address", cfg.ServiceURL)
	}
	if !strings.HasSuffix(base, apiPath) {
		base += apiPath
	}
	c := &client{
		base: base, http: cfg.HTTPClient, token: &atomic.Value{}, clock: cfg.Clock, dateOffset: &atomic.Int64{},
		answered: &atomic.Int64{},
	}
	if c.http == nil {
		c.http = &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
			MaxIdleConns: 512, MaxIdleConnsPerHost: 512, IdleConnTimeout: 90 * time.Second,
		}}
	}
	c.token.Store(cfg.Token)
	c.deadline = max(cfg.Clock.Wall(time.Minute), 5*time.Second)
	return c, nil
}

// get reads a resource into out; a nil out reads and drops the body.
func (c *client) get(ctx context.Context, path string, out any) error {
	return c.do(ctx, http.MethodGet, path, "", nil, out)
}

// send writes in as JSON; a nil in sends no body.
func (c *client) send(ctx context.Context, method, path string, in, out any) error {
	if in == nil {
		return c.do(ctx, method, path, "", nil, out)
	}
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encoding the body of %s: %w", path, err)
	}
	return c.do(ctx, method, path, "application/json", body, out)
}

// upload posts content as the form file upfile.
func (c *client) upload(ctx context.Context, path, fileName string, content []byte) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("upfile", fileName)
	if err == nil {
		_, err = part.Write(content)
	}
	if err := errors.Join(err, form.Close()); err != nil {
		return fmt.Errorf("making the form for %s: %w", path, err)
	}
	return c.do(ctx, http.MethodPost, path, form.FormDataContentType(), body.Bytes(), nil)
}

func (c *client) do(ctx context.Context, method, path, contentType string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("making the request %s %s: %w", method, path, err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	// An agent tells its version where it registers and polls. Here it marks
	// all other calls too, so that a service can tell machines from people; an
	// instruction poll goes without, as there it would change the host.
	if !strings.Contains(path, "/instructions") {
		req.Header.Set("discovery_agent_version", defaultAgentVersion)
	}
	if token := c.token.Load().(string); token != "" {
		req.Header.Set(agentAuthHeader, token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	c.noteDate(resp.Header)
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %w", method, path, readError(resp))
	}
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		err = json.NewDecoder(resp.Body).Decode(out)
	}
	if err != nil {
		return fmt.Errorf("reading the answer to %s %s: %w", method, path, err)
	}
	return nil
}

// readError understands {reason} of the service itself and {message} of its framework.
func readError(resp *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var shape struct{ Reason, Message string }
	if json.Unmarshal(raw, &shape) != nil || shape.Reason+shape.Message == "" {
		shape.Reason = http.StatusText(resp.StatusCode)
	}
	return &statusError{Status: resp.StatusCode, Reason: shape.Reason + shape.Message}
}

func (c *client) noteDate(header http.Header) {
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now := c.clock.Now()
		c.dateOffset.Store(int64(date.Sub(now)))
		c.answered.Store(now.UnixNano())
	}
}

func infraEnvPath(infraEnv string) string { return "/v2/infra-envs/" + infraEnv }

func clusterPath(cluster string) string { return "/v2/clusters/" + cluster }

func hostPath(infraEnv, host string) string { return infraEnvPath(infraEnv) + "/hosts/" + host }

// reader reads the service for all machines: many that wait for the same thing cost one request.
type reader struct {
	api      *client
	clock    clock.Clock
	readings sync.Map // a *reading by path
}

type reading[T any] struct {
	mu    sync.Mutex
	at    time.Time
	value T
	err   error
}

// read is the resource at path, at most age old.
func read[T any](ctx context.Context, r *reader, path string, age time.Duration) (T, error) {
	found, _ := r.readings.LoadOrStore(path, &reading[T]{})
	k := found.(*reading[T])
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.IsZero() || r.clock.Now().Sub(k.at) > age {
		k.value = *new(T)
		k.err = r.api.get(ctx, path, &k.value)
		k.at = r.clock.Now()
	}
	return k.value, k.err
}

func (r *reader) clusterAt(ctx context.Context, id string, age time.Duration) (clusterView, error) {
	return read[clusterView](ctx, r, clusterPath(id), age)
}

// host is one host of an infra-env, at most age old; an absent one is a 404.
func (r *reader) host(ctx context.Context, infraEnv, id string, age time.Duration) (hostView, error) {
	hosts, err := read[[]hostView](ctx, r, infraEnvPath(infraEnv)+"/hosts", age)
	if err != nil {
		return hostView{}, err
	}
	for _, h := range hosts {
		if h.ID == id {
			return h, nil
		}
	}
	return hostView{}, &statusError{Status: 404, Reason: "the service no longer lists host " + id}
}

// What machines read of the service's objects: as much as a service of any release has.

type hostView struct {
	ID                string             `json:"id"`
	InfraEnvID        string             `json:"infra_env_id"`
	ClusterID         string             `json:"cluster_id"`
	Status            string             `json:"status"`
	Role              string             `json:"role"`
	Bootstrap         bool               `json:"bootstrap"`
	RequestedHostname string             `json:"requested_hostname"`
	MachineConfigPool string             `json:"machine_config_pool_name"`
	CheckedInAt       time.Time          `json:"checked_in_at"`
	Progress          hostProgress       `json:"progress"`
	ProgressStages    []models.HostStage `json:"progress_stages"`
}

type hostProgress struct {
	CurrentStage models.HostStage `json:"current_stage"`
}

type clusterView struct {
	ID     string     `json:"id"`
	Kind   string     `json:"kind"`
	Status string     `json:"status"`
	Hosts  []hostView `json:"hosts"`
}

type infraEnvView struct {
	ClusterID string `json:"cluster_id"`
}

type registration struct {
	HostID       string `json:"host_id"`
	AgentVersion string `json:"discovery_agent_version"`
}

// installArgs is what the machines need of the install step's argument (models.InstallCmdRequest).
type installArgs struct {
	ClusterID         string `json:"cluster_id"`
	HostID            string `json:"host_id"`
	InfraEnvID        string `json:"infra_env_id"`
	Role              string `json:"role"`
	ControlPlaneCount int    `json:"control_plane_count"`
	HighAvailability  string `json:"high_availability_mode"` // of services that do not count: None | Full
	BootDevice        string `json:"boot_device"`
	OpenshiftVersion  string `json:"openshift_version"`
}

type completion struct {
	Success   bool                                      `json:"is_success"`
	ErrorInfo string                                    `json:"error_info"`
	Data      map[string][]models.OperatorMonitorReport `json:"data,omitempty"`
}
