package serve_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// TestThousandsOfConnections holds two thousand connections open while fifty
// hosts read, and then looks at what is left of them.
func TestThousandsOfConnections(t *testing.T) {
	const (
		idle  = 2000
		hosts = 50
		size  = 4 << 20
		reads = 40 // of each host
		piece = 64 << 10
	)
	content := random(size, 1)
	f := base(t, content)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	r := run(t, serve.Config{MaxConnsPerClient: idle + hosts + 100}, nil)
	for i := range hosts {
		host := fmt.Sprint("m-", i)
		set(t, r.Server, host, iso(patched(f, size, host)))
	}
	before := heap()

	conns := make([]net.Conn, idle)
	for i := range conns {
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		conns[i] = conn
		if i%2 == 0 { // some send a part of a request, others nothing
			fmt.Fprint(conn, "GET /i/aaaaaaaaaaaaaaaa.iso HTTP/1.1\r\n")
		}
	}
	var bad atomic.Int64
	var group sync.WaitGroup
	transport := &http.Transport{MaxIdleConnsPerHost: hosts}
	c := &http.Client{Transport: transport}
	for i := range hosts {
		group.Go(func() {
			host := fmt.Sprint("m-", i)
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for range reads {
				off := rng.Int64N(size/2 - piece)
				got, err := readRange(t, c, r.url+r.URL(host, serve.ISO), off, piece)
				if err != nil || !bytes.Equal(got, content[off:off+piece]) {
					bad.Add(1)
				}
			}
		})
	}
	group.Wait()
	if bad.Load() > 0 {
		t.Errorf("%d of %d reads failed", bad.Load(), hosts*reads)
	}
	// Client and server side of each connection are both in this process.
	if grown := int64(heap()) - int64(before); grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	for i := range hosts {
		if got := r.Fetched(fmt.Sprint("m-", i)); got.Requests != reads || got.Bytes > reads*piece {
			t.Errorf("m-%d: %+v", i, got)
		}
	}

	for _, conn := range conns {
		conn.Close()
	}
	transport.CloseIdleConnections()
	r.stop()
	if err := <-r.ended; err != nil {
		t.Errorf("error %v", err)
	}
	r.ended <- nil
	eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+1 })
	eventually(t, "files are closed", func() bool { return openFiles(t) <= files })
}

func readRange(t *testing.T, c *http.Client, url string, off, n int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+n-1))
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// heap is what is allocated and in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// openFiles counts the process's descriptors, where the system shows them.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
