//go:build linux

package image

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// noWait is a clock that notes how long it should wait.
type noWait struct {
	mu    sync.Mutex
	slept []time.Duration
}

func (n *noWait) Now() time.Time { return time.Unix(0, 0) }

func (n *noWait) Sleep(ctx context.Context, d time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slept = append(n.slept, d)
	return context.Cause(ctx)
}

// server sends a file in pieces, and breaks off after each.
type server struct {
	content    []byte
	piece      int
	etag       string
	ignores    bool  // it does not know ranges
	statuses   []int // answers before the file comes
	changeAt   int   // the request from which on the file is another one
	shiftRange int

	requests []*http.Request
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, r)
	if len(s.statuses) > 0 {
		status := s.statuses[0]
		s.statuses = s.statuses[1:]
		w.WriteHeader(status)
		return
	}
	etag := s.etag
	if s.changeAt > 0 && len(s.requests) >= s.changeAt {
		etag = `"other"`
	}
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	from := 0
	if text := r.Header.Get("Range"); text != "" && !s.ignores && (r.Header.Get("If-Range") == "" || r.Header.Get("If-Range") == etag) {
		from, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(text, "bytes="), "-"))
		w.Header().Set("Content-Range", "bytes "+strconv.Itoa(from+s.shiftRange)+"-"+strconv.Itoa(len(s.content)-1)+"/"+strconv.Itoa(len(s.content)))
		w.Header().Set("Content-Length", strconv.Itoa(len(s.content)-from))
		w.WriteHeader(http.StatusPartialContent)
	} else {
		w.Header().Set("Content-Length", strconv.Itoa(len(s.content)))
	}
	size := s.piece
	if s.ignores {
		size *= len(s.requests)
	}
	_, _ = w.Write(s.content[from:min(from+size, len(s.content))])
}

func open(t *testing.T, s *server) (URL, *noWait) {
	t.Helper()
	at := httptest.NewServer(s)
	t.Cleanup(at.Close)
	wait := &noWait{}
	return URL{Address: at.URL + "/rhcos.raw.gz?token=secret", Client: at.Client(), Clock: clock.Of(wait), Log: quiet()}, wait
}

func TestDownloadGoesOn(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 10000)
	for name, s := range map[string]*server{
		"whole":          {piece: len(content)},
		"in pieces":      {piece: 30000, etag: `"a"`},
		"without etag":   {piece: 30000},
		"weak etag":      {piece: 30000, etag: `W/"a"`},
		"without ranges": {piece: 30000, ignores: true},
		"errors first":   {piece: len(content), statuses: []int{503, 500, 429, 408, 502}},
	} {
		t.Run(name, func(t *testing.T) {
			s.content = content
			u, _ := open(t, s)
			stream, size, err := u.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			got, err := io.ReadAll(stream)
			if err != nil || size != int64(len(content)) || !bytes.Equal(got, content) {
				t.Errorf("%d of %d bytes, %v", len(got), size, err)
			}
		})
	}
}

func TestDownloadFails(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 10000)
	for name, test := range map[string]struct {
		server   server
		want     string
		requests int
	}{
		"not found":   {server{statuses: []int{404}}, "404 Not Found", 1},
		"forbidden":   {server{statuses: []int{403}}, "403 Forbidden", 1},
		"never":       {server{statuses: slices.Repeat([]int{503}, 9)}, "6 tries failed at byte 0", 6},
		"changed":     {server{piece: 30000, etag: `"a"`, changeAt: 2}, "the file changed", 2},
		"other range": {server{piece: 30000, shiftRange: 5}, "tries failed at byte 30000", 6},
		"nothing":     {server{piece: 0}, "tries failed", 6},
	} {
		t.Run(name, func(t *testing.T) {
			s := &test.server
			s.content = content
			u, wait := open(t, s)
			stream, _, err := u.Open(t.Context())
			if err == nil {
				_, err = io.Copy(io.Discard, stream)
				must.Do(t, stream.Close())
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v, want %q", err, test.want)
			}
			if len(s.requests) != test.requests {
				t.Errorf("%d requests, want %d", len(s.requests), test.requests)
			}
			if !slices.IsSorted(wait.slept) {
				t.Errorf("the pauses are %v", wait.slept)
			}
		})
	}
}

func TestDownloadStalls(t *testing.T) {
	release := make(chan struct{})
	var requests int
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests == 1 {
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("01234"))
			must.Do(t, http.NewResponseController(w).Flush())
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		w.Header().Set("Content-Range", "bytes 5-9/10")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write([]byte("56789"))
	}))
	defer at.Close()
	defer close(release)
	u := URL{Address: at.URL, Client: at.Client(), Clock: clock.Of(&noWait{}), Log: quiet(), Stall: 300 * time.Millisecond}
	stream, _, err := u.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if got, err := io.ReadAll(stream); string(got) != "0123456789" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDownloadIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the user cancelled")
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("0"))
		must.Do(t, http.NewResponseController(w).Flush())
		cancel(stop)
		<-r.Context().Done()
	}))
	defer at.Close()
	u := URL{Address: at.URL, Client: at.Client(), Clock: clock.Of(&noWait{}), Log: quiet()}
	stream, _, err := u.Open(ctx)
	if err == nil {
		_, err = io.Copy(io.Discard, stream)
		must.Do(t, stream.Close())
	}
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestURLCheck(t *testing.T) {
	for address, good := range map[string]bool{
		"https://images.example.com/rhcos.raw.gz": true, "http://192.0.2.1:8080/a": true, "file:///etc/passwd": false, "ftp://a/b": false,
		"https:///a": false, "": false, "http://a b/": false, "--image-url": false, "HTTPS://a/b": true,
	} {
		u := URL{Address: address}
		if err := u.Check(); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
	u := URL{Address: "https://user:secret@images.example.com/a?token=secret#secret"}
	if got := u.String(); got != "https://images.example.com/a" {
		t.Errorf("it is shown as %s", got)
	}
}

func FuzzContentRange(f *testing.F) {
	for _, text := range []string{"bytes 0-1/2", "bytes 5-9/*", "bytes */10", "bytes 9-5/10", "items 0-1/2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if from, size, ok := contentRange(text); ok && (from < 0 || size != -1 && size <= from) {
			t.Errorf("%q is from %d of %d", text, from, size)
		}
	})
}

// doer answers requests by a function.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(request *http.Request) (*http.Response, error) { return d(request) }

// connection is a body that ends with the context of its request, as that of a real connection does.
type connection struct {
	io.Reader
	ctx context.Context
}

func (c connection) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p[:1])
}

func (connection) Close() error { return nil }

// TestSlowDisk: the server is not at fault if the disk takes long to write what came.
func TestSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		client := doer(func(r *http.Request) (*http.Response, error) {
			requests++
			return &http.Response{StatusCode: http.StatusOK, ContentLength: 3, Body: connection{strings.NewReader("abc"), r.Context()}}, nil
		})
		u := URL{Address: "http://192.0.2.1/image", Client: client, Clock: clock.Real(), Log: quiet()}
		stream, _, err := u.Open(t.Context())
		must.Do(t, err)
		defer stream.Close()
		for _, want := range []string{"a", "b", "c"} {
			time.Sleep(10 * time.Minute)
			got := make([]byte, 10)
			n := must.Get(stream.Read(got))(t)
			if string(got[:n]) != want {
				t.Errorf("got %q, want %q", got[:n], want)
			}
		}
		if requests != 1 {
			t.Errorf("there were %d requests", requests)
		}
	})
}
