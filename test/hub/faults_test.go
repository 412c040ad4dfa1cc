//go:build e2e

package hub

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

// trouble is what goes wrong with the calls of one kind, the first few times of
// each of them.
type trouble struct {
	name  string
	reads bool // strikes reads and watches, not writes
	times int
	// reaches says that the API server carries the call out all the same.
	reaches bool
	make    func(*http.Request) (*http.Response, error)
}

func passingTroubles() []trouble {
	answer := func(code int, reason, message string) func(*http.Request) (*http.Response, error) {
		return func(r *http.Request) (*http.Response, error) { return refusal(r, code, reason, message, ""), nil }
	}
	broken := func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNRESET }
	garbage := func(r *http.Request) (*http.Response, error) {
		response := refusal(r, http.StatusOK, "", "", "")
		response.Body = io.NopCloser(strings.NewReader("<html><title>Gateway</title>\x00\xff"))
		return response, nil
	}
	return []trouble{
		{name: "conflict", times: 2, make: answer(http.StatusConflict, "Conflict", "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again")},
		{name: "too many requests", times: 2, make: answer(http.StatusTooManyRequests, "TooManyRequests", "the server has received too many requests and has asked us to try again later")},
		{name: "error of the server", times: 2, make: answer(http.StatusInternalServerError, "InternalError", "Internal error occurred: etcdserver: leader changed")},
		{name: "reset", times: 2, make: broken},
		{name: "reset, but done", times: 1, reaches: true, make: broken},
		{name: "garbage, but done", times: 1, reaches: true, make: garbage},
		{name: "reads fail", reads: true, times: 1, make: answer(http.StatusInternalServerError, "InternalError", "Internal error occurred: etcdserver: request timed out")},
		{name: "reads are reset", reads: true, times: 2, make: broken},
	}
}

// TestPassingTroubles makes trouble at every write, or every read, of an install,
// of a kind that goes over: it ends as if nothing had happened, with one of
// everything.
func TestPassingTroubles(t *testing.T) {
	for _, kind := range passingTroubles() {
		t.Run(strings.ReplaceAll(kind.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			x := onHub().open(t, setup{cluster: fixture.Example(t, "sno")})
			untouched := x.strangers(t)
			var mu sync.Mutex
			struck := map[string]int{}
			w := &wire{strike: func(request *http.Request, pass func() (*http.Response, error)) (*http.Response, error, bool) {
				mu.Lock()
				strike := writes(request) != kind.reads && struck[placeOf(request)] < kind.times
				if strike {
					struck[placeOf(request)]++
				}
				mu.Unlock()
				if !strike {
					return nil, nil, false
				}
				if kind.reaches {
					if response, err := pass(); err == nil {
						_ = response.Body.Close()
					}
				}
				response, err := kind.make(request)
				return response, err, true
			}}
			x.installs(t, w)
			if len(struck) < 5 {
				t.Errorf("struck %d calls only: %v", len(struck), struck)
			}
			untouched()
		})
	}
}

// installs installs over a wire, and expects one of everything.
func (x *site) installs(t *testing.T, w *wire) {
	t.Helper()
	a := x.runWith(t, x.through(t, w), &model.Desired{Spec: x.cluster, Options: model.Options{Run: "run-1"}}, t.TempDir())
	if a.err != nil || a.result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %q: %v\n%s", a.result.Verdict, a.err, a.story())
	}
	x.once(t)
}

// cut is the body of a watch that ends early.
type cut struct {
	io.ReadCloser
	over func() bool
}

// Read is of io.Reader.
func (c *cut) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.over() {
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// TestWatchesEnd ends every watch soon after it has begun, in the middle of an
// event as often as not.
func TestWatchesEnd(t *testing.T) {
	t.Parallel()
	x := onHub().open(t, setup{cluster: fixture.Example(t, "sno")})
	var mu sync.Mutex
	ended := 0
	w := &wire{strike: func(request *http.Request, pass func() (*http.Response, error)) (*http.Response, error, bool) {
		if request.URL.Query().Get("watch") == "" {
			return nil, nil, false
		}
		response, err := pass()
		if err != nil {
			return nil, err, true
		}
		began := time.Now()
		response.Body = &cut{response.Body, func() bool {
			over := time.Since(began) > 700*time.Millisecond
			if over {
				mu.Lock()
				ended++
				mu.Unlock()
			}
			return over
		}}
		return response, nil, true
	}}
	x.installs(t, w)
	if ended < 10 {
		t.Errorf("only %d watches were ended", ended)
	}
}

// TestCredentialsExpire ends a run as not authorised when its credentials are no
// longer taken, wherever it stands, and another one with good ones goes on.
func TestCredentialsExpire(t *testing.T) {
	for name, after := range map[string]int{"at first": 0, "while it registers": 3, "while it installs": 6} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			x := onHub().open(t, setup{cluster: fixture.Example(t, "sno")})
			var mu sync.Mutex
			written := 0
			w := &wire{strike: func(request *http.Request, _ func() (*http.Response, error)) (*http.Response, error, bool) {
				mu.Lock()
				defer mu.Unlock()
				if written < after {
					if writes(request) {
						written++
					}
					return nil, nil, false
				}
				return refusal(request, http.StatusUnauthorized, "Unauthorized", "Unauthorized", ""), nil, true
			}}
			dir := t.TempDir()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			a := x.runIn(ctx, t, x.through(t, w), &model.Desired{Spec: x.cluster, Options: model.Options{Run: "run-1"}}, dir)
			if a.trace.Code != int(model.CodeAuth) || !strings.Contains(a.says(), "expired") || !strings.Contains(model.FaultOf(a.err).Next.String(), "log in") {
				t.Fatalf("ends with code %d: %s\n%s", a.trace.Code, a.says(), a.story())
			}
			x.installs(t, &wire{})
		})
	}
}

// TestServerRestarts kills the API server while a cluster is registered, and
// while it is being installed.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	own := kubetest.Start(t)
	x := onHub().open(t, setup{cluster: fixture.Example(t, "sno"), server: own})
	plane, dir := x.plane(t), t.TempDir()
	reached := make(chan string, 100)
	done := make(chan *attempt, 1)
	hear := install.Config{Events: func(e model.Event) {
		if e.Key == "cluster/state" {
			reached <- e.State
		}
	}}
	go func() {
		defer close(reached)
		done <- x.runWith(t, plane, &model.Desired{Spec: x.cluster, Options: model.Options{Run: "run-1"}}, dir, hear)
	}()
	restarts := []string{string(model.ClusterDraft), string(model.ClusterDiscovering), string(model.ClusterInstalling)}
	killed := 0
	for state := range reached {
		if slices.Contains(restarts, state) {
			own.Down(t)
			own.Up(t)
			killed++
		}
	}
	if a := <-done; a.err != nil || a.result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %q: %v", a.result.Verdict, a.err)
	}
	if killed < len(restarts) {
		t.Errorf("the server was restarted %d times", killed)
	}
	x.once(t)
}
