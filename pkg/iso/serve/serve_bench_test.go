package serve_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// benchSize is the base's size in the benchmarks of throughput.
const benchSize = 256 << 20

// benchURLs serves one base twice: by the media server, and by the standard
// library's file server, which uses sendfile.
func benchURLs(b *testing.B) map[string]string {
	path := filepath.Join(b.TempDir(), "base.iso")
	out := must.Get(os.Create(path))(b)
	must.Get(io.CopyN(out, rand.NewChaCha8([32]byte{}), benchSize))(b)
	b.Cleanup(func() { out.Close() })
	image := overlay.New(out, benchSize)
	image.Overlay(benchSize/2, make([]byte, 20<<10))
	media := must.Get(serve.New(serve.Config{Key: key(1)}))(b)
	must.Do(b, media.Set("m-0", serve.File{Kind: serve.ISO, Image: image}))
	plain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
	listen := func() net.Listener {
		return must.Get(net.Listen("tcp", "127.0.0.1:0"))(b)
	}
	a, c := listen(), listen()
	server := &http.Server{Handler: plain}
	b.Cleanup(func() { server.Close() })
	go func() { _ = media.Serve(b.Context(), a) }()
	go func() { _ = server.Serve(c) }()
	return map[string]string{
		"media":    "http://" + a.Addr().String() + media.URL("m-0", serve.ISO),
		"sendfile": "http://" + c.Addr().String() + "/",
	}
}

// BenchmarkWhole reads a whole image by one client.
func BenchmarkWhole(b *testing.B) {
	compare(b, benchSize, func() string { return "" })
}

// BenchmarkRandomRanges reads 64 KiB at random places, as virtual media do.
func BenchmarkRandomRanges(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	compare(b, 64<<10, func() string {
		off := rng.Int64N(benchSize - 64<<10)
		return fmt.Sprintf("bytes=%d-%d", off, off+64<<10-1)
	})
}

// compare asks both servers in turns, so that what else the machine does
// disturbs them alike, and reports how fast the media server is beside the
// other: more than 1 is faster.
func compare(b *testing.B, size int64, span func() string) {
	urls := benchURLs(b)
	took := map[string]time.Duration{}
	b.SetBytes(2 * size)
	for b.Loop() {
		for name, url := range urls {
			header, began := span(), time.Now()
			drain(b, url, header)
			took[name] += time.Since(began)
		}
	}
	b.ReportMetric(took["sendfile"].Seconds()/took["media"].Seconds(), "x-of-sendfile")
	b.ReportMetric(float64(b.N)*float64(size)/took["media"].Seconds()/1e6, "media-MB/s")
}

// BenchmarkMachines lets eight clients read the images of fifty machines, and
// reports by how much the process grew: clients and server together.
func BenchmarkMachines(b *testing.B) {
	const machines, clients, size = 50, 8, 64 << 20
	f := must.Get(os.Create(filepath.Join(b.TempDir(), "base.iso")))(b)
	defer f.Close()
	must.Get(io.CopyN(f, rand.NewChaCha8([32]byte{}), size))(b)
	media := must.Get(serve.New(serve.Config{Key: key(1)}))(b)
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(b)
	go func() { _ = media.Serve(b.Context(), l) }()
	debug.FreeOSMemory()
	before, most := resident(b), int64(0)
	for i := range machines {
		image := overlay.New(f, size)
		image.Overlay(size/2, make([]byte, 20<<10))
		must.Do(b, media.Set(fmt.Sprint("m-", i), serve.File{Kind: serve.ISO, Image: image}))
	}
	b.SetBytes(machines * size)
	for b.Loop() {
		var group sync.WaitGroup
		for c := range clients {
			group.Go(func() {
				for i := c; i < machines; i += clients {
					drain(b, "http://"+l.Addr().String()+media.URL(fmt.Sprint("m-", i), serve.ISO), "")
				}
			})
		}
		group.Wait()
		most = max(most, resident(b))
	}
	b.ReportMetric(float64(most-before)/(1<<20), "MiB-grown")
}

// resident is the process's memory that is in use, without what it shares with
// files, in bytes; 0 where the system does not say.
func resident(b *testing.B) int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var total, all, shared int64
	must.Get(fmt.Sscan(string(data), &total, &all, &shared))(b)
	return (all - shared) * int64(os.Getpagesize())
}

// drain reads an answer away through a large buffer.
func drain(b *testing.B, url, span string) {
	req := must.Get(http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil))(b)
	if span != "" {
		req.Header.Set("Range", span)
	}
	resp := must.Get(http.DefaultClient.Do(req))(b)
	defer resp.Body.Close()
	must.Get(io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, make([]byte, 256<<10)))(b)
}
