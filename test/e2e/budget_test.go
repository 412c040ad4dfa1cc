//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const (
	budgetSpeed = 500 / slower
	// perMinute is how many requests a minute of the service's time may cost, for any number of hosts, and perInstall
	// how many more a whole install of five hosts.
	perMinute  = 12
	perInstall = 150
)

// stopwatch notes when requests are sent, on the service's clock.
type stopwatch struct {
	next http.RoundTripper
	time clock.Clock

	mu    sync.Mutex
	calls []timed
}

type timed struct {
	call
	at time.Time
}

func (s *stopwatch) RoundTrip(request *http.Request) (*http.Response, error) {
	at := s.time.Now()
	s.mu.Lock()
	s.calls = append(s.calls, timed{call{method: request.Method, path: request.URL.Path}, at})
	s.mu.Unlock()
	return s.next.RoundTrip(request)
}

// between are the requests of a stretch of time.
func (s *stopwatch) between(from, to time.Time) []timed {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []timed
	for _, c := range s.calls {
		if !c.at.Before(from) && c.at.Before(to) {
			out = append(out, c)
		}
	}
	return out
}

// TestRequestsOfAnInstall counts what an install of five hosts costs, from
// nothing to the kubeconfig on disk, and how many requests lie between the
// cluster's becoming ready and the install call.
func TestRequestsOfAnInstall(t *testing.T) {
	x := newTrial(t, "../../examples/ha-workers/cluster.yaml", budgetSpeed)
	watch := &stopwatch{next: x.wire.next, time: x.time}
	x.wire.next = watch
	began := x.time.Now()
	_, events, err := x.run(t, 0)
	if err != nil {
		t.Fatalf("%v\n%s", err, story(events))
	}
	minutes := x.time.Now().Sub(began).Minutes()
	sent := len(watch.between(began, x.time.Now()))
	t.Logf("%d requests in %.1f minutes; %d are allowed", sent, minutes, int(perMinute*minutes)+perInstall)
	if sent > int(perMinute*minutes)+perInstall {
		t.Errorf("%d requests in %.1f minutes: %d over %d a minute", sent, minutes, sent-int(perMinute*minutes), perMinute)
	}

	// How often it looks is counted, not how long it takes: this clock turns the
	// processor's own delays into many seconds.
	ready, looks := readySince(t, x), map[string]int{}
	for _, c := range watch.between(ready, x.time.Now()) {
		if c.method == http.MethodPost && strings.HasSuffix(c.path, "/actions/install") {
			t.Logf("the install call follows ready after %s and %v", c.at.Sub(ready), looks)
			break
		}
		if c.writes() {
			t.Errorf("%s %s between ready and the install call", c.method, c.path)
		}
		looks[path.Base(path.Dir(c.path))]++
	}
	// One look at the events that shows ready, one at the cluster that confirms it.
	// Another look at the events may have been sent just before.
	if looks["v2"] > 2 || looks["clusters"] > 1 || len(looks) > 2 {
		t.Errorf("between ready and the install call: %v", looks)
	}
}

// readySince is when the service said, in its events, that the cluster is
// ready.
func readySince(t *testing.T, x *trial) time.Time {
	t.Helper()
	for _, e := range list(t, x.address, "/v2/events?cluster_id="+list(t, x.address, "/v2/clusters")[0]["id"].(string)) {
		if text, _ := e["message"].(string); strings.Contains(text, "to ready") {
			at, err := time.Parse(time.RFC3339, e["event_time"].(string))
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
	}
	t.Fatal("no event says that the cluster is ready")
	return time.Time{}
}

// TestRequestsWhileNothingChanges waits for a host that never boots, and counts
// what an hour of that costs.
func TestRequestsWhileNothingChanges(t *testing.T) {
	for _, example := range []string{"sno", "ha-workers"} {
		x := newQuietTrial(t, "../../examples/"+example+"/cluster.yaml", budgetSpeed)
		watch := &stopwatch{next: x.wire.next, time: x.time}
		x.wire.next = watch
		ctx, cancel := context.WithCancel(t.Context())
		began := x.time.Now()
		go func() { // an hour, after a quarter of one in which the cluster is made
			_ = x.time.Sleep(ctx, 75*time.Minute)
			cancel()
		}()
		if _, err := x.runUntil(ctx, t); model.FaultOf(err).Code != model.CodeInterrupted {
			t.Fatalf("ends with %v", err)
		}
		quiet := began.Add(15 * time.Minute)
		sent := watch.between(quiet, quiet.Add(time.Hour))
		t.Logf("%s: %.1f requests a minute", example, float64(len(sent))/60)
		if len(sent) > 60*perMinute {
			t.Errorf("%s: %d requests in an hour in which nothing changes", example, len(sent))
		}
		for _, c := range sent {
			if c.writes() {
				t.Errorf("%s: %s %s, though nothing changes", example, c.method, c.path)
			}
		}
		cancel()
	}
}
