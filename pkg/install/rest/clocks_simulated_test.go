package rest_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// skewed are the differences between the clock that dates answers and the one that dates records.
var skewed = map[string]time.Duration{"answers an hour ahead": time.Hour, "answers an hour behind": -time.Hour}

// dater is a proxy that dates answers by its own clock, and notes when the service began to install. It may
// refuse to: between two looks a failed preparation has it think again whether all hosts are ready.
type dater struct {
	by       time.Duration
	clock    clock.Clock
	mu       sync.Mutex
	installs []time.Time
}

func (d *dater) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	dated(answer, d.by)
	if strings.HasSuffix(r.URL.Path, "/actions/install") && answer.StatusCode == http.StatusAccepted {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.installs = append(d.installs, d.clock.Now())
	}
	return answer, nil
}

// dated moves the date of an answer.
func dated(answer *http.Response, by time.Duration) {
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		answer.Header.Set("Date", date.Add(by).UTC().Format(http.TimeFormat))
	}
}

// calls is how often the service began to install.
func (d *dater) calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.installs)
}

// skewedLab is a simulated service with machines, behind such a proxy.
func skewedLab(t *testing.T, by time.Duration, cluster *spec.Cluster, trouble string) (*dater, func(...install.Config) (install.Result, error)) {
	t.Helper()
	script, err := scenario.Parse("scenario.yaml", []byte("apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nmetadata: {name: skewed}\nspec:\n  hosts:\n"+trouble))
	if err != nil {
		t.Fatal(err)
	}
	fast := clock.Scaled(1200)
	s, err := simulator.Start(t.Context(), simulator.Config{Clock: fast, Seed: 1, Cluster: cluster, Scenario: script})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	proxy, files := &dater{by: by, clock: fast}, &memoryFiles{}
	return proxy, func(options ...install.Config) (install.Result, error) {
		plane, err := rest.New(rest.Config{URL: s.URL(), Clock: fast, HTTPClient: &http.Client{Transport: proxy}})
		if err != nil {
			t.Fatal(err)
		}
		options = append([]install.Config{{Clock: fast, Files: files}}, options...)
		return install.New(plane, options...).Run(t.Context(), &model.Desired{Spec: cluster, Options: model.Options{Run: "r"}})
	}
}

// TestPreparationsByAnotherClock counts failed preparations, and waits after them, by the dates of
// events alone: by another clock none would count, or those of earlier runs for ever.
func TestPreparationsByAnotherClock(t *testing.T) {
	for name, by := range skewed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, run := skewedLab(t, by, loadExample(t, "compact"), "    - {match: {name: cp-1}, do: image-pull-failure, args: {image: ocp-release, for: 55m}}\n")
			began := proxy.clock.Now()
			for calls := 3; calls <= 6; calls += 3 { // the same command again has as many attempts
				_, err := run(install.Config{Timeout: -1, UserTimeout: 5 * time.Minute})
				if model.FaultOf(err).Code != model.CodeNeedsUser || !strings.Contains(err.Error(), "cannot prepare the installation: cp-1") || proxy.calls() != calls {
					t.Fatalf("%d calls: %v", proxy.calls(), err)
				}
			}
			if err := proxy.clock.Sleep(t.Context(), 55*time.Minute-proxy.clock.Now().Sub(began)); err != nil {
				t.Fatal(err)
			}
			cured := proxy.clock.Now()
			if result, err := run(); err != nil || result.Verdict != model.VerdictInstalled || proxy.calls() != 7 || proxy.installs[6].Sub(cured) > 5*time.Minute {
				t.Fatalf("cured: %s after %d calls: %v", result.Verdict, proxy.calls(), err)
			}
		})
	}
}

// TestPatienceByAnotherClock waits as long as the file says for a worker that is not required.
func TestPatienceByAnotherClock(t *testing.T) {
	for name, by := range skewed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const within = 20 * time.Minute
			cluster := loadExample(t, "ha-workers")
			one := 1
			cluster.Spec.Topology.Required.Workers, cluster.Spec.Topology.Required.Within = &one, spec.Duration(within)
			proxy, run := skewedLab(t, by, cluster, "    - {match: {role: worker, index: 0}, do: never-boot}\n")
			began := proxy.clock.Now()
			var told []string
			result, err := run(install.Config{Events: func(e model.Event) {
				if e.Severity == model.SeverityWarning && strings.HasPrefix(e.Key, "host/") {
					told = append(told, e.Message)
				}
			}})
			if err != nil || result.Verdict != model.VerdictInstalled || len(result.Plan.Missing) != 1 {
				t.Fatalf("verdict %s, missing %q: %v", result.Verdict, result.Plan.Missing, err)
			}
			if waited := proxy.installs[0].Sub(began); waited < within || waited > within+10*time.Minute {
				t.Errorf("waited %s for the worker", waited)
			}
			if len(told) > 0 {
				t.Errorf("hosts that take no longer than they should are reported: %q", told)
			}
		})
	}
}
