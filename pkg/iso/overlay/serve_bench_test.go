//go:build e2e && linux

package overlay_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// machines is how many machines' images the benchmarks' server has.
const machines = 50

// BenchmarkServeWhole downloads an image of 1 GiB from Serve and, in turns, the
// base from a plain http.ServeFile in the same process: one client, over HTTP
// and over TLS. The median of each is reported.
func BenchmarkServeWhole(b *testing.B) {
	const bound = 0.9
	s := startServer(b)
	times := map[string][]time.Duration{}
	for b.Loop() {
		// Many rounds: where two processes share two cores, a transfer takes up to
		// twice as long as the one before it.
		for round := range 20 {
			for name, url := range s.urls() {
				if strings.HasPrefix(name, "TLS") && round%5 != 0 {
					continue // no bound hangs on it
				}
				times[name] = append(times[name], timed(b, func() error { return s.get(url, 0, gibibyte) }))
			}
		}
	}
	rate := func(name string) float64 { return gibibyte / median(times[name]).Seconds() / 1e9 }
	report(b, "GB/s", rate, bound)
}

// BenchmarkServeRanges reads 64 KiB at random places, as machines read virtual
// media, from Serve and, in turns, from a plain http.ServeFile.
func BenchmarkServeRanges(b *testing.B) {
	const (
		bound    = 0.8
		size     = 64 << 10
		requests = 1000
	)
	s := startServer(b)
	random := rand.New(rand.NewPCG(1, 2))
	times := map[string][]time.Duration{}
	for b.Loop() {
		for range 5 {
			places := make([]int64, requests)
			for i := range places {
				places[i] = random.Int64N(gibibyte - size)
			}
			for name, url := range s.urls() {
				times[name] = append(times[name], timed(b, func() error {
					for _, off := range places {
						if err := s.get(url, off, size); err != nil {
							return err
						}
					}
					return nil
				}))
			}
		}
	}
	rate := func(name string) float64 { return requests / slices.Min(times[name]).Seconds() }
	report(b, "requests/s", rate, bound)
}

// report reports the rates over HTTP and TLS, and wants the one over HTTP to
// come near the plain server's.
func report(b *testing.B, unit string, rate func(name string) float64, bound float64) {
	b.Helper()
	for _, name := range []string{"Serve", "ServeFile", "TLS-Serve", "TLS-ServeFile"} {
		b.ReportMetric(rate(name), name+"-"+unit)
	}
	ratio := rate("Serve") / rate("ServeFile")
	b.ReportMetric(ratio, "x-ServeFile")
	b.ReportMetric(rate("TLS-Serve")/rate("TLS-ServeFile"), "x-TLS-ServeFile")
	if ratio < bound {
		b.Errorf("the rate is %.2f of a plain server's; the bound is %g", ratio, bound)
	}
}

// BenchmarkServeMemory has 8 clients read the images of 50 machines, in long
// and in short ranges, and looks at how much the server's memory grows beyond
// what it was before the first request. With 400 clients, eight a machine, it
// is reported too.
func BenchmarkServeMemory(b *testing.B) {
	const bound = 16.0
	s := startServer(b)
	before := s.memory(b, "VmRSS")
	for b.Loop() {
		s.load(b, 8)
	}
	few := s.memory(b, "VmHWM") - before
	s.load(b, 8*machines)
	b.ReportMetric(before, "MB-before")
	b.ReportMetric(few, "MB-more/8-clients")
	b.ReportMetric(s.memory(b, "VmHWM")-before, "MB-more/400-clients")
	if few > bound {
		b.Errorf("the server grows by %.1f MB; the bound is %g", few, bound)
	}
}

// server is a process that serves the images of the machines, and the base as
// a plain file.
type server struct {
	pid         int
	plain, ssl  string
	client      *http.Client
	bodyBuffers sync.Pool
}

func startServer(b *testing.B) *server {
	b.Helper()
	base := bigBase(b, b.TempDir())
	child := exec.Command(os.Args[0], "-test.run=^TestBenchmarkServer$")
	child.Env = append(os.Environ(), "EXTENT_BENCH_BASE="+base.Name())
	in := must.Get(child.StdinPipe())(b)
	out := must.Get(child.StdoutPipe())(b)
	child.Stderr = os.Stderr
	must.Do(b, child.Start())
	s := &server{pid: child.Process.Pid}
	b.Cleanup(func() {
		s.client.CloseIdleConnections()
		in.Close()
		if err := child.Wait(); err != nil {
			b.Error("the server:", err)
		}
	})
	must.Get(fmt.Fscanln(bufio.NewReader(out), &s.plain, &s.ssl))(b)
	s.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, // a certificate of the moment
		MaxIdleConnsPerHost: 8 * machines,
	}}
	s.bodyBuffers.New = func() any { return new([256 << 10]byte) }
	return s
}

// urls is an image and the plain file, over HTTP and over TLS.
func (s *server) urls() map[string]string {
	return map[string]string{
		"Serve": s.plain + "/7", "ServeFile": s.plain + "/base",
		"TLS-Serve": s.ssl + "/7", "TLS-ServeFile": s.ssl + "/base",
	}
}

// get reads n bytes at off.
func (s *server) get(url string, off, n int64) error {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if n < gibibyte {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+n-1))
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	buffer := s.bodyBuffers.Get().(*[256 << 10]byte)
	defer s.bodyBuffers.Put(buffer)
	var got int64
	for err == nil {
		var some int
		some, err = resp.Body.Read(buffer[:])
		got += int64(some)
	}
	if err != io.EOF || got != n {
		return fmt.Errorf("%s: %d bytes of %d, %w", resp.Status, got, n, err)
	}
	return nil
}

// load makes a number of clients read from all machines' images at once.
func (s *server) load(b *testing.B, clients int) {
	b.Helper()
	work := make(chan int)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for machine := range work {
				check.Do(b, s.visit(machine))
			}
		})
	}
	for i := range 8 * machines {
		work <- i % machines
	}
	close(work)
	group.Wait()
}

// visit reads a machine's image as a machine does that boots from it.
func (s *server) visit(machine int) error {
	url := s.plain + "/" + strconv.Itoa(machine)
	random := rand.New(rand.NewPCG(uint64(machine), 3))
	for range 20 {
		if err := s.get(url, random.Int64N(gibibyte-64<<10), 64<<10); err != nil {
			return err
		}
	}
	return s.get(url, 80<<20, 32<<20)
}

// memory is a line of the server's /proc/PID/status, in megabytes.
func (s *server) memory(b *testing.B, line string) float64 {
	b.Helper()
	status := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid)))(b)
	for l := range strings.Lines(string(status)) {
		if fields := strings.Fields(l); fields[0] == line+":" {
			kilobytes := must.Get(strconv.Atoi(fields[1]))(b)
			return float64(kilobytes) / 1000
		}
	}
	b.Fatal("no " + line)
	return 0
}

// TestBenchmarkServer is the server's process. It ends with its standard input.
func TestBenchmarkServer(t *testing.T) {
	path := os.Getenv("EXTENT_BENCH_BASE")
	if path == "" {
		t.Skip("it serves the benchmarks")
	}
	base := must.Get(os.Open(path))(t)
	defer base.Close()
	images := map[string]*overlay.Image{}
	for i := range machines {
		images["/"+strconv.Itoa(i)] = machine(base, i)
	}
	tags := map[string]string{}
	for name, m := range images {
		tags[name] = m.Tag("base")
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/base" {
			http.ServeFile(w, r, path)
			return
		}
		overlay.Serve(w, r, images[r.URL.Path], overlay.Meta{ETag: tags[r.URL.Path], Sent: func(int64, int64) {}})
	})
	plain, ssl := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	fmt.Fprintln(os.Stdout, plain.URL, ssl.URL)
	check.Do(t, check.Err(io.Copy(io.Discard, os.Stdin)))
	plain.CloseClientConnections()
	ssl.CloseClientConnections()
}
