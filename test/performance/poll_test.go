//go:build e2e && unix

package performance

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const (
	// pollInterval is how often both look.
	pollInterval = 500 * time.Millisecond
	// hostSpeed is how fast the machines are; the service keeps the time of the wall.
	hostSpeed = 300
	rounds    = 5
)

// BenchmarkPollInterval installs five machines by default, with --poll-interval 500ms, and by a
// plain script that looks as often as that and does the same, in turns, on a service that looks
// at its clusters each second.
// OAICTL_REAL_SERVICE names a service to do so on instead of the simulated one.
func BenchmarkPollInterval(b *testing.B) {
	const bound = 1.25
	binary := build(b)
	service := os.Getenv("OAICTL_REAL_SERVICE")
	if service == "" {
		service = everySecond(b)
	}
	counted := count(b, service)
	for b.Loop() {
		var script, polled, adaptive []measured
		for range rounds { // script and default both begin just after a look of the service, which ended the install before
			script = append(script, counted.install(b, service, plainScript))
			adaptive = append(adaptive, counted.install(b, service, create(binary)))
			polled = append(polled, counted.install(b, service, create(binary, "--poll-interval", pollInterval.String())))
		}
		s, p, a := median(script), median(polled), median(adaptive)
		b.Logf("script %v, oaictl each half second %v, oaictl by default %v", script, polled, adaptive)
		ratio, byDefault := p.took.Seconds()/s.took.Seconds(), a.took.Seconds()/s.took.Seconds()
		b.ReportMetric(s.took.Seconds(), "s/script")
		b.ReportMetric(p.took.Seconds(), "s/polled")
		b.ReportMetric(a.took.Seconds(), "s/default")
		b.ReportMetric(ratio, "polled/script")
		b.ReportMetric(byDefault, "default/script")
		b.ReportMetric(float64(s.requests), "requests/script")
		b.ReportMetric(float64(p.requests), "requests/polled")
		b.ReportMetric(float64(a.requests), "requests/default")
		if max(ratio, byDefault) > bound {
			b.Errorf("the install takes %.2f times as long as by a script, and %.2f times by default; the bound is %.2f", ratio, byDefault, bound)
		}
	}
}

// measured is what an install took.
type measured struct {
	took     time.Duration
	requests int64
}

func (m measured) String() string {
	return fmt.Sprintf("%.1fs (%d)", m.took.Seconds(), m.requests)
}

func median(all []measured) measured {
	slices.SortFunc(all, func(a, b measured) int { return int(a.took - b.took) })
	return all[len(all)/2]
}

// everySecond starts a simulated service that looks at its clusters each second.
func everySecond(b *testing.B) (address string) {
	b.Helper()
	server := httptest.NewUnstartedServer(nil)
	service := must.Get(simulator.NewService(simulator.ServiceConfig{
		Clock: clock.Real(), Seed: 1, MonitorInterval: time.Second, PublicURL: func() string { return server.URL },
	}, ""))(b)
	server.Config.Handler = service
	server.Start()
	go func() { _ = service.Run(b.Context()) }() // it ends with the benchmark, as an error
	b.Cleanup(server.Close)
	return server.URL
}

// counter stands before a service and counts what is asked of it.
type counter struct {
	address  string
	requests atomic.Int64
}

func count(b *testing.B, service string) *counter {
	b.Helper()
	target := must.Get(url.Parse(service))(b)
	c := &counter{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	b.Cleanup(server.Close)
	c.address = server.URL
	return c
}

// install has a cluster installed, on machines that boot as soon as there is an image,
// and deletes it.
func (c *counter) install(b *testing.B, service string, by func(ctx context.Context, address, file string) error) measured {
	b.Helper()
	name := fmt.Sprintf("bench-%d", time.Now().UnixNano())
	file := filepath.Join(b.TempDir(), "cluster.yaml")
	must.Do(b, os.WriteFile(file, []byte(fiveMachines(b, name)), 0o600))
	cluster, err := spec.Load(b.Context(), file, spec.Env{ReadFile: os.ReadFile})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithTimeout(b.Context(), 5*time.Minute)
	booted := make(chan error, 1)
	go func() {
		booted <- simulator.Boot(ctx, simulator.BootConfig{ServiceURL: service, Clock: clock.Scaled(hostSpeed), Seed: 1, Cluster: cluster})
	}()
	c.requests.Store(0)
	began := time.Now()
	err = by(ctx, c.address, file)
	out := measured{took: time.Since(began), requests: c.requests.Load()}
	stop()
	if machines := <-booted; err != nil {
		b.Fatalf("%v\nthe machines: %v", err, machines)
	}
	remove(b, service, name)
	return out
}

// remove deletes what bears the name.
func remove(b *testing.B, service, name string) {
	b.Helper()
	api := caller{base: service}
	for _, kind := range []string{"/v2/clusters", "/v2/infra-envs"} {
		var all []struct{ ID, Name string }
		must.Do(b, api.do(b.Context(), http.MethodGet, kind, nil, &all))
		for _, one := range all {
			if one.Name != name {
				continue
			}
			if kind == "/v2/infra-envs" {
				api.removeHosts(b.Context(), one.ID)
			}
			must.Do(b, api.do(b.Context(), http.MethodDelete, kind+"/"+one.ID, nil, nil))
		}
	}
}

// create installs a cluster by oaictl.
func create(binary string, flags ...string) func(ctx context.Context, address, file string) error {
	return func(ctx context.Context, address, file string) error {
		arguments := append([]string{"create", "cluster", "-f", file, "--service-url", address, "--dir", filepath.Dir(file), "--progress", "json"}, flags...)
		output, err := exec.CommandContext(ctx, binary, arguments...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("oaictl: %w\n%s", err, last(string(output), 30))
		}
		return nil
	}
}

// fiveMachines is a cluster of three control plane machines and two workers.
func fiveMachines(b *testing.B, name string) string {
	b.Helper()
	folder := must.Get(filepath.Abs(filepath.Dir(example("ha-workers"))))(b)
	text := must.Get(os.ReadFile(filepath.Join(folder, "cluster.yaml")))(b)
	return strings.NewReplacer("name: ha\n", "name: "+name+"\n", "../shared", filepath.Join(folder, "..", "shared")).Replace(string(text))
}
