package overlay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// patched is an image of a file with a patch and zeros, and what it holds.
func patched(t *testing.T, size int) (*overlay.Image, []byte) {
	t.Helper()
	content := noise(3, size)
	m := overlay.New(file(t, content), int64(size))
	want := bytes.Clone(content)
	m.Overlay(40_000, noise(4, 5_000))
	copy(want[40_000:], noise(4, 5_000))
	m.Zero(50_000, 30_000)
	clear(want[50_000:80_000])
	return m, want
}

func TestServe(t *testing.T) {
	const size = 2_500_000
	m, want := patched(t, size)
	meta := overlay.Meta{
		ETag: m.Tag("base"), Name: "it's.iso", ContentType: "application/x-iso9660-image",
		ModTime: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { overlay.Serve(w, r, m, meta) }))
	defer server.Close()

	tests := map[string]struct {
		method string
		header map[string]string
		status int
		length int64
		body   []byte
	}{
		"all":                              {status: 200, length: size, body: want},
		"HEAD":                             {method: "HEAD", status: 200, length: size},
		"the first byte":                   {header: map[string]string{"Range": "bytes=0-0"}, status: 206, length: 1, body: want[:1]},
		"across a patch":                   {header: map[string]string{"Range": "bytes=30000-99999"}, status: 206, length: 70_000, body: want[30_000:100_000]},
		"to the end":                       {header: map[string]string{"Range": "bytes=2000000-"}, status: 206, length: 500_000, body: want[2_000_000:]},
		"the last bytes":                   {header: map[string]string{"Range": "bytes=-100000"}, status: 206, length: 100_000, body: want[size-100_000:]},
		"beyond the end":                   {header: map[string]string{"Range": "bytes=2499999-9999999999999"}, status: 206, length: 1, body: want[size-1:]},
		"HEAD of a range":                  {method: "HEAD", header: map[string]string{"Range": "bytes=5-9"}, status: 206, length: 5},
		"behind the end":                   {header: map[string]string{"Range": "bytes=2500000-"}, status: 416},
		"no numbers":                       {header: map[string]string{"Range": "bytes=a-b"}, status: 416},
		"numbers too large":                {header: map[string]string{"Range": "bytes=99999999999999999999-"}, status: 416},
		"too many ranges":                  {header: map[string]string{"Range": "bytes=" + strings.Repeat("0-0,", 40) + "1-1"}, status: 416},
		"If-Range of this version":         {header: map[string]string{"Range": "bytes=0-4", "If-Range": meta.ETag}, status: 206, length: 5, body: want[:5]},
		"If-Range of another version":      {header: map[string]string{"Range": "bytes=0-4", "If-Range": `"other"`}, status: 200, length: size, body: want},
		"If-Range of the time":             {header: map[string]string{"Range": "bytes=0-4", "If-Range": meta.ModTime.Format(http.TimeFormat)}, status: 206, length: 5, body: want[:5]},
		"If-None-Match of this version":    {header: map[string]string{"If-None-Match": meta.ETag}, status: 304},
		"If-None-Match of another version": {header: map[string]string{"If-None-Match": `"other"`}, status: 200, length: size, body: want},
		"If-Match of another version":      {header: map[string]string{"If-Match": `"other"`}, status: 412},
		"If-Modified-Since":                {header: map[string]string{"If-Modified-Since": meta.ModTime.Format(http.TimeFormat)}, status: 304},
		"POST":                             {method: "POST", status: 405},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			resp, body := request(t, server.URL, test.method, test.header)
			if resp.StatusCode != test.status {
				t.Fatalf("%s: %s", resp.Status, body)
			}
			if test.status < 300 {
				if resp.ContentLength != test.length || !bytes.Equal(body, test.body) {
					t.Errorf("length %d with %d bytes", resp.ContentLength, len(body))
				}
				if resp.Header.Get("Accept-Ranges") != "bytes" || resp.Header.Get("Content-Type") != meta.ContentType {
					t.Error(resp.Header)
				}
				check.Equal(t, resp.Header.Get("Content-Disposition"), `attachment; filename=it's.iso`)
			}
			if test.status == 416 && resp.Header.Get("Content-Range") == "" && strings.HasPrefix(name, "behind") {
				t.Error("the refusal does not say how long the image is")
			}
			if (test.status < 300 || test.status == 304) && resp.Header.Get("ETag") != meta.ETag {
				t.Errorf("ETag %q", resp.Header.Get("ETag"))
			}
		})
	}
}

func TestServeSeveralRanges(t *testing.T) {
	m, want := patched(t, 200_000)
	var sent coverage
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		overlay.Serve(w, r, m, overlay.Meta{Sent: sent.add})
	}))
	defer server.Close()
	resp, body := request(t, server.URL, "GET", map[string]string{"Range": "bytes=0-9, 39000-60000, -5"})
	if resp.StatusCode != 206 {
		t.Fatal(resp.Status)
	}
	_, params, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for _, r := range [][2]int{{0, 10}, {39_000, 60_001}, {199_995, 200_000}} {
		part := must.Get(parts.NextPart())(t)
		got, err := io.ReadAll(part)
		if err != nil || !bytes.Equal(got, want[r[0]:r[1]]) {
			t.Errorf("%v: %d bytes, %v", r, len(got), err)
		}
		check.Equal(t, part.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-%d/200000", r[0], r[1]-1))
	}
	if n := sent.bytes(); n != 10+21_001+5 {
		t.Errorf("told of %d bytes", n)
	}
}

func TestServeTellsOfProgress(t *testing.T) {
	m, _ := patched(t, 3<<20)
	var sent coverage
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		overlay.Serve(w, r, m, overlay.Meta{Sent: sent.add, Failed: func(err error) { t.Error(err) }})
	}))
	defer server.Close()
	request(t, server.URL, "HEAD", nil)
	if sent.bytes() != 0 {
		t.Error("a HEAD sent something")
	}
	request(t, server.URL, "GET", nil)
	server.Close()
	want := []stretch{{Offset: 0, Length: 3 << 20}}
	check.Same(t, want, sent.ranges)
	if sent.most > 1<<20 {
		t.Errorf("told of %d bytes at once", sent.most)
	}
}

// TestServeEmpty asks for a range of nothing.
func TestServeEmpty(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Range", "bytes=0-")
	overlay.Serve(w, r, overlay.Bytes(nil), overlay.Meta{})
	if w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("%d with %d bytes", w.Code, w.Body.Len())
	}
}

func TestServeTruncatedBase(t *testing.T) {
	base := file(t, noise(1, 3<<20))
	m := overlay.New(base, 3<<20)
	must.Do(t, base.Truncate(2<<20))
	failed := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		overlay.Serve(w, r, m, overlay.Meta{Failed: func(err error) { failed <- err }})
	}))
	defer server.Close()
	resp := must.Get(http.Get(server.URL))(t)
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the client takes %d bytes for all: %v", n, err)
	}
	server.Close() // waits for the handler
	select {
	case err := <-failed:
		if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), base.Name()) {
			t.Errorf("the server says %v", err)
		}
	default:
		t.Error("the server takes the transfer for whole")
	}
}

// TestServeCancelled has clients leave in the middle: each transfer ends, and
// no file stays open.
func TestServeCancelled(t *testing.T) {
	m, _ := patched(t, 64<<20)
	failed := make(chan error)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		overlay.Serve(w, r, m, overlay.Meta{Failed: func(err error) { failed <- err }})
	}))
	defer server.Close()
	for _, ranges := range []string{"", "bytes=0-30000000,30000001-60000000"} {
		ctx, cancel := context.WithCancel(t.Context())
		r := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil))(t)
		r.Header.Set("Range", ranges)
		resp := must.Get(http.DefaultClient.Do(r))(t)
		must.Get(io.ReadFull(resp.Body, make([]byte, 100_000)))(t)
		cancel()
		resp.Body.Close()
		if err := <-failed; err == nil {
			t.Error("no word of the client that left")
		}
	}
}

// TestServeSlowClient has a client that stops reading. A deadline that moves
// with each stretch sent ends it; other clients are served meanwhile.
func TestServeSlowClient(t *testing.T) {
	m, want := patched(t, 64<<20)
	failed := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		move := func(int64, int64) {
			check.Do(t, control.SetWriteDeadline(time.Now().Add(300*time.Millisecond)))
		}
		move(0, 0)
		overlay.Serve(w, r, m, overlay.Meta{Sent: move, Failed: func(err error) { failed <- err }})
	}))
	defer server.Close()
	slow := must.Get(net.Dial("tcp", server.Listener.Addr().String()))(t)
	defer slow.Close()
	fmt.Fprintf(slow, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")

	_, body := request(t, server.URL, "GET", map[string]string{"Range": "bytes=1000-99999"})
	if !bytes.Equal(body, want[1000:100_000]) {
		t.Error("another client gets other bytes")
	}
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the slow client's transfer ends with %v", err)
	}
}

// TestServeElsewhere serves by a writer that can only write, as a wrapper
// for logs may be, and over HTTP/2.
func TestServeElsewhere(t *testing.T) {
	m, want := patched(t, 3<<20)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		overlay.Serve(struct{ http.ResponseWriter }{w}, r, m, overlay.Meta{})
	})
	for _, start := range []func(*httptest.Server){
		(*httptest.Server).Start,
		(*httptest.Server).StartTLS,
		func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	} {
		server := httptest.NewUnstartedServer(handler)
		start(server)
		resp := must.Get(server.Client().Get(server.URL))(t)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !bytes.Equal(body, want) {
			t.Errorf("%s: %d bytes, %v", resp.Proto, len(body), err)
		}
		server.Close()
	}
}

// coverage is what a server reported as sent.
type coverage struct {
	mu     sync.Mutex
	ranges []stretch
	most   int64
}

func (c *coverage) add(off, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = max(c.most, n)
	if last := len(c.ranges) - 1; last >= 0 && c.ranges[last].Offset+c.ranges[last].Length == off {
		c.ranges[last].Length += n
		return
	}
	c.ranges = append(c.ranges, stretch{Offset: off, Length: n})
}

func (c *coverage) bytes() (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.ranges {
		n += r.Length
	}
	return n
}

// request makes one request and reads all of the answer.
func request(t *testing.T, url, method string, header map[string]string) (*http.Response, []byte) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, url, nil))(t)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	resp := must.Get(http.DefaultClient.Do(r))(t)
	defer resp.Body.Close()
	body := must.Get(io.ReadAll(resp.Body))(t)
	return resp, body
}

// stretch is a part of an image that was sent.
type stretch struct{ Offset, Length int64 }
