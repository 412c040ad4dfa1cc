//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const (
	faultSpeed = 1000 / slower
	// hangSpeed is lower: a client waits some seconds of real time for an
	// answer, which are hours at the other speed.
	hangSpeed = 400 / slower
)

// place is where a fault strikes: a request and the phase that the cluster is in.
type place struct {
	method, path, phase string
}

// String has no slashes: they would part the names of subtests.
func (p place) String() string {
	return p.phase + " " + p.method + " " + strings.ReplaceAll(strings.TrimPrefix(p.path, "/v2/"), "/", ".")
}

func (p place) writes() bool { return p.method != http.MethodGet }

// faultKind is what goes wrong with a request.
type faultKind struct {
	name string
	// times is how many matching requests it strikes, more than a client
	// repeats by itself.
	times int
	// reaches says that the service has carried the request out all the same.
	reaches bool
	make    func(*http.Request) (*http.Response, error)
	speed   float64
}

func answer(request *http.Request, status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// passingFaults go over: the install ends as if nothing had happened.
func passingFaults() []faultKind {
	broken := func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNRESET }
	garbage := func(r *http.Request) (*http.Response, error) {
		return answer(r, http.StatusOK, "application/json", "<html><title>Gateway</title>\x00\xff"), nil
	}
	return []faultKind{
		{name: "500", times: 3, speed: faultSpeed, make: func(r *http.Request) (*http.Response, error) {
			return answer(r, http.StatusInternalServerError, "application/json", `{"kind":"Error","id":500,"code":"500","reason":"the database is being restarted"}`), nil
		}},
		{name: "reset", times: 3, speed: faultSpeed, make: broken},
		{name: "reset, but done", times: 1, speed: faultSpeed, reaches: true, make: broken},
		{name: "garbage", times: 3, speed: faultSpeed, make: garbage},
		{name: "garbage, but done", times: 1, speed: faultSpeed, reaches: true, make: garbage},
		{name: "no answer, but done", times: 1, speed: hangSpeed, reaches: true, make: func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		}},
	}
}

// fromFile reports whether a request is made of what cluster.yaml says.
func (p place) fromFile() bool {
	return p.method != http.MethodGet && !strings.Contains(p.path, "/actions/")
}

// lastingFault is one that repeating does not cure, with what it ends as.
type lastingFault struct {
	status int
	body   string
	code   model.Code
}

// lastingFaults are refusals. They end a run at once, save for those that a
// later look may find gone.
func lastingFaults() []lastingFault {
	return []lastingFault{
		{status: http.StatusBadRequest, body: `{"kind":"Error","id":400,"code":"400","reason":"it is not to my liking"}`, code: model.CodeInput},
		{status: http.StatusUnauthorized, body: `{"code":401,"message":"token is expired"}`, code: model.CodeAuth},
		{status: http.StatusForbidden, body: `{"code":403,"message":"not yours"}`, code: model.CodeAuth},
	}
}

// faulty makes trouble on the way to the service.
type faulty struct {
	address string
	next    http.RoundTripper

	mu     sync.Mutex
	calls  []call
	places []place // in the order in which they were first seen
	at     []place
	kind   *faultKind
	struck map[place]int // how often, at each place
}

var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

func (f *faulty) RoundTrip(request *http.Request) (*http.Response, error) {
	path := ids.ReplaceAllString(strings.TrimPrefix(request.URL.Path, "/api/assisted-install"), "*")
	if name := request.URL.Query().Get("file_name"); name != "" {
		path += "?" + name
	}
	here := place{request.Method, path, f.phase(request.Context())}

	f.mu.Lock()
	if !slices.Contains(f.places, here) {
		f.places = append(f.places, here)
	}
	strike := f.kind != nil && slices.Contains(f.at, here) && (f.kind.times == 0 || f.struck[here] < f.kind.times)
	if strike {
		f.struck[here]++
	}
	f.mu.Unlock()

	if strike && !f.kind.reaches {
		f.note(request, 0)
		return f.kind.make(request)
	}
	response, err := f.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	f.note(request, response.StatusCode)
	if strike {
		_ = response.Body.Close()
		return f.kind.make(request)
	}
	return response, nil
}

func (f *faulty) note(request *http.Request, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call{request.Method, strings.TrimPrefix(request.URL.Path, "/api/assisted-install"), status})
}

// phase is where the service's only cluster stands, in few words.
func (f *faulty) phase(ctx context.Context) string {
	clusters, err := fetch(ctx, f.address, "/v2/clusters")
	switch {
	case err != nil:
		return "unknown"
	case len(clusters) == 0:
		return "without a cluster"
	}
	switch status := clusters[0]["status"]; status {
	case "pending-for-input", "insufficient", "ready":
		return "before"
	case "preparing-for-installation", "installing", "installing-pending-user-action", "finalizing":
		return "during"
	case "installed", "adding-hosts":
		return "after"
	default:
		return fmt.Sprint(status)
	}
}

// trial is one install in this process, with trouble on the wire.
type trial struct {
	address string
	wire    *faulty
	time    clock.Clock
	cluster *spec.Cluster
	dir     string
}

// newTrial starts a service, and the machines of a cluster.
func newTrial(t *testing.T, file string, speed float64) *trial {
	t.Helper()
	return startTrial(t, file, speed, func(*simulator.Config) {})
}

// newQuietTrial starts a service whose machines are never switched on.
func newQuietTrial(t *testing.T, file string, speed float64) *trial {
	t.Helper()
	return startTrial(t, file, speed, func(c *simulator.Config) {
		c.Scenario = &scenario.Scenario{Name: "dark", Hosts: []scenario.Rule{{Do: scenario.DoNeverBoot}}}
	})
}

func startTrial(t *testing.T, file string, speed float64, change func(*simulator.Config)) *trial {
	t.Helper()
	cluster := must.Get(spec.Load(t.Context(), file, spec.OSEnv()))(t)
	time := clock.Scaled(speed)
	config := simulator.Config{Clock: time, Seed: 1, Cluster: cluster}
	change(&config)
	s := must.Get(simulator.Start(t.Context(), config))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("the simulator: %v", err)
		}
	})
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &trial{address: s.URL(), wire: &faulty{address: s.URL(), next: transport, struck: map[place]int{}}, time: time, cluster: cluster, dir: t.TempDir()}
}

// run installs, as `oaictl create cluster` does. A total of zero is no limit.
func (x *trial) run(t *testing.T, total time.Duration) (install.Result, []model.Event, error) {
	t.Helper()
	var events []model.Event
	result, err := x.installer(t, install.Config{Timeout: total, UserTimeout: -1, Events: func(e model.Event) { events = append(events, e) }}).
		Run(t.Context(), &model.Desired{Spec: x.cluster, Options: model.Options{Run: "run-1"}})
	return result, events, err
}

// runUntil installs until ctx ends, or the install does.
func (x *trial) runUntil(ctx context.Context, t *testing.T) (install.Result, error) {
	t.Helper()
	return x.installer(t, install.Config{Timeout: -1, UserTimeout: -1}).Run(ctx, &model.Desired{Spec: x.cluster, Options: model.Options{Run: "run-1"}})
}

func (x *trial) installer(t *testing.T, options ...install.Config) *install.Client {
	t.Helper()
	plane := must.Get(rest.New(rest.Config{URL: x.address, Clock: x.time, HTTPClient: &http.Client{Transport: x.wire}}))(t)
	return install.New(plane, append([]install.Config{{Clock: x.time, Files: install.Directory(x.dir)}}, options...)...)
}

// story is what a run reported, for a test that failed.
func story(events []model.Event) string {
	var lines []string
	for _, e := range events {
		if e.Type == model.EventAction || e.Type == model.EventRun || e.Severity != model.SeverityInfo {
			lines = append(lines, fmt.Sprintf("%s %s %s %s: %s", e.Time.Format(time.TimeOnly), e.Type, e.Key, e.State, e.Message))
		}
	}
	return strings.Join(lines, "\n")
}

// placesOf are all requests of an install, with the phases that they are made in.
func placesOf(t *testing.T, file string) []place {
	t.Helper()
	x := newTrial(t, file, faultSpeed)
	if _, events, err := x.run(t, 0); err != nil {
		t.Fatalf("an install without trouble: %v\n%s", err, story(events))
	}
	once(t, x.address, x.wire.calls)
	return x.wire.places
}

// bears installs with trouble of one kind at some places: the install ends with one cluster, one InfraEnv and one install.
func bears(t *testing.T, file string, kind faultKind, at ...place) {
	t.Helper()
	x := newTrial(t, file, kind.speed)
	x.wire.at, x.wire.kind = at, &kind
	result, events, err := x.run(t, 0)
	if err != nil || result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %q: %v\n%s", result.Verdict, err, story(events))
	}
	once(t, x.address, x.wire.calls)
	for _, p := range at {
		if x.wire.struck[p] == 0 {
			t.Logf("this install made no such request, which is made now and then only: %s", p)
		}
	}
}

// TestFaultsAtEveryCall makes every kind of trouble at every request in every
// phase. What passes is borne: the install ends with one cluster, one InfraEnv
// and one install. What lasts ends the run with its word and exit code.
// A read changes nothing, so that one install bears the trouble of all reads that
// fails at once, each of them in turn.
func TestFaultsAtEveryCall(t *testing.T) {
	file := "testdata/everything/cluster.yaml"
	places := placesOf(t, file)
	t.Logf("%d places: %v", len(places), places)
	reads := slices.DeleteFunc(slices.Clone(places), place.writes)
	for _, kind := range passingFaults() {
		if kind.reaches {
			continue // for a read it is the same as one that does not reach, save for a missing answer: see below
		}
		t.Run("every read, "+kind.name, func(t *testing.T) {
			t.Parallel()
			bears(t, file, kind, reads...)
		})
	}
	for _, at := range places {
		for _, kind := range passingFaults() {
			if !at.writes() && kind.speed == faultSpeed {
				continue // see above
			}
			t.Run(at.String()+", "+kind.name, func(t *testing.T) {
				t.Parallel()
				bears(t, file, kind, at)
			})
		}
		for _, fault := range lastingFaults() {
			t.Run(fmt.Sprintf("%s, %d", at, fault.status), func(t *testing.T) {
				t.Parallel()
				x := newTrial(t, file, faultSpeed)
				x.wire.at = []place{at}
				x.wire.kind = &faultKind{make: func(r *http.Request) (*http.Response, error) {
					return answer(r, fault.status, "application/json", fault.body), nil
				}}
				result, events, err := x.run(t, 0)
				switch {
				case len(x.wire.struck) == 0:
					t.Skip("this install made no such request: it is made now and then only")
				case at.path == "/v2/events" && fault.status == http.StatusBadRequest:
					// A service that does not understand the question for events
					// is asked for everything else the more often.
					if err != nil || result.Verdict != model.VerdictInstalled {
						t.Fatalf("verdict %q: %v\n%s", result.Verdict, err, story(events))
					}
					return
				}
				if fault.code == model.CodeInput && !at.fromFile() {
					fault.code = model.CodeFailure // there is no file to be blamed for it
				}
				var said *model.Fault
				if !errors.As(err, &said) || model.FaultOf(err).Code != fault.code || result.ExitCode != int(fault.code) || model.FaultOf(err).Next == "" {
					t.Fatalf("ends as %q with %v (code %d, next %q); want code %d\n%s", result.Verdict, err, model.FaultOf(err).Code, model.FaultOf(err).Next, fault.code, story(events))
				}
				last := events[len(events)-1]
				if last.Type != model.EventRun || last.ExitCode == nil || *last.ExitCode != int(fault.code) || (last.State != "blocked" && last.State != "error") {
					t.Errorf("last event %+v", last)
				}
			})
		}
	}
}
