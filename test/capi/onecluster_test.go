//go:build e2e

package capi

import (
	"encoding/pem"
	"maps"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/management"
)

// BenchmarkOneCluster installs one cluster of three control plane machines and two workers, and reports what the
// providers need for it: requests of all kinds for each Machine, processor time, and memory. Requests to the API server
// pass a counter, so that other providers are measured by the same rule. In oaictl the providers follow the clock of
// the simulation, and look again as often as in an installation's real time. In machine-clock they use the clock of the
// machine, as do those in peer, which know no other.
func BenchmarkOneCluster(b *testing.B) {
	var ours cost
	b.Run("oaictl", func(b *testing.B) { benchmarkOneCluster(b, true) })
	b.Run("machine-clock", func(b *testing.B) {
		ours = benchmarkOneCluster(b, false)
		ours.check(b)
	})
	b.Run("peer", func(b *testing.B) {
		if theirs := benchmarkPeer(b); ours.cpu > mostProcessor*theirs.cpu {
			b.Errorf("it takes %.1f s of the processor, and the peer %.1f s", ours.cpu, theirs.cpu)
		}
	})
}

func benchmarkOneCluster(b *testing.B, follows bool) (took cost) {
	b.Helper()
	for b.Loop() {
		f := newFleetOf(b, 1, 2, hasty, (*rig).connect, management.Config{Auth: auth.Local})
		kube, counted := f.count()
		p := f.startApart(apartConfig{Kubeconfig: f.KubeconfigOf(b, kube), Follows: follows})
		took = f.measure(counted, []*program{&p.program}, f.orderAll)
		f.stop()
	}
	return took
}

// cost is what an installation takes of the API server and of the machine.
type cost struct {
	requests         float64 // for each Machine
	masters, workers float64 // writes for each Machine of either kind
	cpu              float64 // seconds
	memory           float64 // MiB
}

// What one cluster may cost, and how often the peer's processor time.
const (
	mostRequests      = 24
	mostMasterWrites  = 16
	mostWorkerWrites  = 14
	mostMemory        = 120
	mostProcessor     = 3
	machinesOfCluster = 5
)

// check reports what costs more than it may.
func (c cost) check(b *testing.B) {
	b.Helper()
	for _, each := range []struct {
		what      string
		got, most float64
	}{
		{"requests for each Machine", c.requests, mostRequests}, {"writes for each control plane Machine", c.masters, mostMasterWrites},
		{"writes for each worker Machine", c.workers, mostWorkerWrites}, {"MiB", c.memory, mostMemory},
	} {
		if each.got > each.most {
			b.Errorf("%.1f %s are more than %.0f", each.got, each.what, each.most)
		}
	}
}

// measure has a cluster ordered and waits until it is Available, and reports what that has cost programs that run already,
// and how often the API server was asked.
func (f *fleet) measure(counted *writes, programs []*program, order func()) (took cost) {
	f.b.Helper()
	f.rest(settlesWithin)
	counted.all()
	cpu := func() (seconds float64) {
		for _, p := range programs {
			seconds += p.cpu().Seconds()
		}
		return seconds
	}
	started := cpu()
	f.report(started, "cpu-s/start")
	order()
	f.untilInstalled()
	took.cpu = cpu() - started
	requests, discovery, written := 0, 0, counted.all()
	reads := map[string]int{}
	for what, n := range written {
		resource := strings.Fields(what)[1]
		if resource == "api" || resource == "apis" || strings.HasPrefix(resource, "apis/") {
			discovery += n
		} else {
			requests += n
		}
		if strings.HasPrefix(what, "GET ") {
			reads[what] = n
			delete(written, what)
		}
	}
	for _, p := range programs {
		took.memory += float64(p.kilobytes("VmHWM")) / 1024
	}
	took.requests = float64(requests) / machinesOfCluster
	f.report(took.requests, "requests/Machine")
	f.report(float64(discovery), "discovery")
	f.report(took.cpu, "cpu-s")
	f.report(took.memory, "MiB")
	took.masters, took.workers = f.reportWrites(written)
	for _, all := range []map[string]int{reads, written} {
		for _, what := range slices.Sorted(maps.Keys(all)) {
			f.b.Logf("%4d %s", all[what], what)
		}
	}
	return took
}

// count serves the API server at another address, where all requests of single objects and of lists are counted until the
// test's end. It needs no credentials there.
func (f *fleet) count() (*rest.Config, *writes) {
	f.b.Helper()
	counted := &writes{count: map[string]int{}, named: true, reads: true}
	target := must.Get(url.Parse(f.Config.Host))(f.b)
	transport := must.Get(rest.TransportFor(f.Config))(f.b)
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, Transport: counted.through(transport), FlushInterval: -1,
	})
	server.EnableHTTP2 = true
	server.StartTLS()
	f.b.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, counted
}
