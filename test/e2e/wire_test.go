//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// call is one request that oaictl made.
type call struct {
	method, path string
	status       int
}

func (c call) String() string { return fmt.Sprintf("%s %s %d", c.method, c.path, c.status) }

func (c call) writes() bool { return c.method != http.MethodGet && c.method != http.MethodHead }

// wire stands between oaictl and the service, and notes every request.
type wire struct {
	*httptest.Server
	mu    sync.Mutex
	calls []call
	// before may answer a request itself, by returning true; after sees the
	// service's answer before oaictl does, and may break it off. n counts the
	// requests, or only the writes, from 0.
	before func(n int, w http.ResponseWriter, r *http.Request) bool
	after  func(n int, r *http.Request)
	writes int
	total  int
	// counts says which writes are counted; nil counts all.
	counts func(r *http.Request) bool
}

// newWire listens for oaictl and passes on to the service at address.
func newWire(t *testing.T, address string) *wire {
	t.Helper()
	target := must.Get(url.Parse(address))(t)
	return newWireThrough(t, httputil.NewSingleHostReverseProxy(target))
}

// newWireThrough listens for oaictl and passes on through a proxy.
func newWireThrough(t *testing.T, proxy *httputil.ReverseProxy) *wire {
	w := &wire{}
	proxy.ErrorHandler = func(rw http.ResponseWriter, _ *http.Request, _ error) { rw.WriteHeader(http.StatusBadGateway) }
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.pass(proxy, rw, r) }))
	t.Cleanup(w.Close)
	return w
}

func (w *wire) pass(proxy http.Handler, rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	n := w.total
	w.total++
	if w.counted(r) {
		n = w.writes
		w.writes++
	}
	before, after := w.before, w.after
	w.mu.Unlock()

	if before != nil && before(n, rw, r) {
		w.note(r, 0)
		return
	}
	recorder := httptest.NewRecorder()
	proxy.ServeHTTP(recorder, r)
	w.note(r, recorder.Code)
	if after != nil {
		after(n, r)
	}
	for key, values := range recorder.Header() {
		rw.Header()[key] = values
	}
	rw.WriteHeader(recorder.Code)
	_, _ = io.Copy(rw, recorder.Body)
}

// counted reports whether a request is one of the writes.
func (w *wire) counted(r *http.Request) bool {
	return call{method: r.Method}.writes() && (w.counts == nil || w.counts(r))
}

func (w *wire) note(r *http.Request, status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call{r.Method, strings.TrimPrefix(r.URL.Path, "/api/assisted-install"), status})
}

// noted are the requests so far; reset forgets them.
func (w *wire) noted() []call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]call(nil), w.calls...)
}

func (w *wire) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls, w.writes, w.total = nil, 0, 0
}

func writesOf(calls []call) []call {
	var out []call
	for _, c := range calls {
		if c.writes() {
			out = append(out, c)
		}
	}
	return out
}

// list reads a collection of the service at address.
func list(t *testing.T, address, path string) []map[string]any {
	t.Helper()
	return must.Get(fetch(t.Context(), address, path))(t)
}

// fetch reads a collection of the service at address.
func fetch(ctx context.Context, address, path string) ([]map[string]any, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/api/assisted-install"+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s %w", path, response.Status, err)
	}
	var out []map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	return out, nil
}
