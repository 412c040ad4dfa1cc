package rest_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// wireCount counts requests as they leave.
type wireCount struct {
	mu     sync.Mutex
	all    int
	writes []string
	by     map[string]int
}

func (w *wireCount) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.all++
	if req.Method != http.MethodGet {
		w.writes = append(w.writes, req.Method+" "+req.URL.Path)
	}
	parts := strings.Split(strings.TrimPrefix(req.URL.Path, "/api/assisted-install/v2/"), "/")
	for i := range parts {
		if len(parts[i]) == 36 {
			parts[i] = "*"
		}
	}
	if w.by == nil {
		w.by = map[string]int{}
	}
	w.by[req.Method+" "+strings.Join(parts, "/")]++
	w.mu.Unlock()
	return http.DefaultTransport.RoundTrip(req)
}

func (w *wireCount) take() (all int, writes []string, by map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, writes, by = w.all, w.writes, w.by
	w.all, w.writes, w.by = 0, nil, nil
	return all, writes, by
}

// memoryFiles keeps results in memory.
type memoryFiles struct {
	mu    sync.Mutex
	saved map[string][]byte
}

func (f *memoryFiles) Observe(context.Context, model.ClusterRef) (map[string]model.SavedResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := map[string]model.SavedResult{}
	for name, data := range f.saved {
		kept[name] = model.SavedResult{Digest: model.Digest(data), Private: true}
	}
	return kept, nil
}

func (f *memoryFiles) Claim(context.Context, model.ClusterRef, func(string) ([]byte, error)) (string, error) {
	return "", nil
}

func (f *memoryFiles) Save(_ context.Context, _ model.ClusterRef, name string, data []byte) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.saved == nil {
		f.saved = map[string][]byte{}
	}
	f.saved[name] = data
	return "", nil
}

func loadExample(t *testing.T, name string) *spec.Cluster {
	t.Helper()
	c, err := spec.Load(t.Context(), filepath.Join("..", "..", "..", "examples", name, "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestInstallOnTheSimulator installs examples over HTTP, from empty to the
// credentials, within the request budget; a second run writes nothing.
func TestInstallOnTheSimulator(t *testing.T) {
	for _, example := range []string{"sno", "ha-workers"} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			cluster := loadExample(t, example)
			fast := clock.Scaled(1200)
			s, err := simulator.Start(t.Context(), simulator.Config{Clock: fast, Seed: 1, Cluster: cluster})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			wire, files := &wireCount{}, &memoryFiles{}
			run := func(mark string) (install.Result, error) {
				plane, err := rest.New(rest.Config{URL: s.URL(), Clock: fast, HTTPClient: &http.Client{Transport: wire}})
				if err != nil {
					t.Fatal(err)
				}
				installer := install.New(plane, install.Config{Clock: fast, Files: files, Events: func(e model.Event) {
					if e.Type == model.EventAction || e.Type == model.EventWarning || e.Type == model.EventRun {
						t.Logf("%s %s %s %s: %s", e.Time.Format("15:04:05"), e.Type, e.Key, e.State, e.Message)
					}
				}})
				return installer.Run(t.Context(), &model.Desired{Spec: cluster, Options: model.Options{Run: mark}})
			}
			began := fast.Now()
			result, err := run("first-run")
			if err != nil || result.Verdict != model.VerdictInstalled {
				t.Fatalf("verdict %q, error %v", result.Verdict, err)
			}
			minutes := fast.Now().Sub(began).Minutes()
			all, writes, by := wire.take()
			t.Logf("%d requests in %.1f minutes, %d of them writes: %v", all, minutes, len(writes), by)
			if limit := int(12*minutes) + 150; all > limit {
				t.Errorf("%d requests in %.1f minutes; at most %d are allowed", all, minutes, limit)
			}
			if got := stagesSeen(result.Observed); got != "" {
				t.Error(got)
			}
			for _, name := range []string{"kubeconfig", "kubeconfig-noingress", "kubeadmin-password"} {
				if len(files.saved[name]) == 0 {
					t.Errorf("%s was not saved", name)
				}
			}
			if late := readyToInstall(t, s.URL(), fast, result.Observed.Cluster.ID); late > 3*time.Minute {
				// A third of a second of the machine's time, which others want too.
				t.Errorf("the install call came %s after ready", late)
			}
			wire.take()
			if result, err = run("second-run"); err != nil || result.Verdict != model.VerdictInstalled {
				t.Fatalf("second run: verdict %q, error %v", result.Verdict, err)
			}
			if _, writes, _ = wire.take(); len(writes) != 0 {
				t.Errorf("the second run wrote: %v", writes)
			}
		})
	}
}

// readyToInstall is how long after the cluster became ready its install began,
// by the service's own events.
func readyToInstall(t *testing.T, url string, c clock.Clock, id string) time.Duration {
	t.Helper()
	plane, err := rest.New(rest.Config{URL: url, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	page, err := plane.Events(t.Context(), install.EventFilter{ClusterID: id}, 0)
	if err != nil || page.Total != len(page.Events) {
		t.Fatalf("%d of %d events, %v", len(page.Events), page.Total, err)
	}
	var ready, preparing time.Time
	for _, e := range page.Events {
		if e.Name != "cluster_status_updated" {
			continue
		}
		switch {
		case strings.Contains(e.Message, "\"ready\"") || strings.Contains(e.Message, "to ready"):
			ready = e.Time
		case preparing.IsZero() && strings.Contains(e.Message, "preparing-for-installation"):
			preparing = e.Time
		}
	}
	if ready.IsZero() || preparing.IsZero() {
		t.Fatalf("ready at %s, preparing at %s", ready, preparing)
	}
	t.Logf("the install began %s after ready", preparing.Sub(ready))
	return preparing.Sub(ready)
}

// stagesSeen says which host has not come to the end of its stages, "" if none.
func stagesSeen(o *model.Observed) string {
	for _, h := range o.Hosts {
		if len(h.Progress.Stages) == 0 || h.Progress.Stage != h.Progress.Stages[len(h.Progress.Stages)-1] {
			return h.Hostname + " is at " + h.Progress.Stage
		}
	}
	return ""
}

func (*memoryFiles) Append(context.Context, model.ClusterRef, string, []byte) error { return nil }

func (*memoryFiles) Record(context.Context, model.ClusterRef, string) ([]byte, error) {
	return nil, nil
}
