package rest_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
)

// weather spoils every so many requests: before they reach the service, or
// after it has carried them out.
type weather struct {
	mu       sync.Mutex
	chance   *rand.Rand
	spoiled  int
	accepted map[string]int // POSTs that the service carried out
}

func (w *weather) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	fate := w.chance.IntN(40)
	if fate < 5 {
		w.spoiled++
	}
	w.mu.Unlock()
	switch fate {
	case 0:
		return nil, syscall.ECONNRESET
	case 1:
		return page(req, 503, "<html><title>Service Unavailable</title>"), nil
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if req.Method == http.MethodPost && resp.StatusCode < 300 {
		w.mu.Lock()
		w.accepted[req.URL.Path[strings.LastIndex(req.URL.Path, "/"):]]++
		w.mu.Unlock()
	}
	switch fate {
	case 2:
		resp.Body.Close()
		return nil, errors.New("read tcp: connection reset by peer")
	case 3:
		resp.Body.Close()
		return page(req, 200, "<html><title>Log in</title>"), nil
	case 4:
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(resp.Body, 30), broken{}), resp.Body}
	}
	return resp, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func page(req *http.Request, status int, text string) *http.Response {
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Request: req, Body: io.NopCloser(strings.NewReader(text)),
		Header: http.Header{"Content-Type": {"text/html"}},
	}
}

// One request in eight goes wrong, before or after the service carried it out,
// and yet there is one cluster, one InfraEnv and one install in the end.
func TestInstallInBadWeather(t *testing.T) {
	t.Parallel()
	cluster := loadExample(t, "compact")
	fast := clock.Scaled(600)
	s, err := simulator.Start(t.Context(), simulator.Config{Clock: fast, Seed: 3, Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	w := &weather{chance: rand.New(rand.NewPCG(7, 7)), accepted: map[string]int{}}
	plane, err := rest.New(rest.Config{URL: s.URL(), Clock: fast, HTTPClient: &http.Client{Transport: w}})
	if err != nil {
		t.Fatal(err)
	}
	installer := install.New(plane, install.Config{Clock: fast, Files: &memoryFiles{}})
	result, err := installer.Run(t.Context(), &model.Desired{Spec: cluster, Options: model.Options{Run: "bad-weather"}})
	if err != nil || result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %q, error %v", result.Verdict, err)
	}
	t.Logf("%d requests were spoiled", w.spoiled)
	if w.spoiled < 20 {
		t.Errorf("only %d requests were spoiled", w.spoiled)
	}
	for what, want := range map[string]int{"/clusters": 1, "/infra-envs": 1, "/install": 1} {
		if w.accepted[what] != want {
			t.Errorf("the service carried out %d POSTs to %s", w.accepted[what], what)
		}
	}
}
