package serve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// handClock is moved by hand.
type handClock struct {
	clock.Clock
	mu  sync.Mutex
	now time.Time
}

func newClock() *handClock {
	return &handClock{Clock: clock.Real(), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func key(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// newServer returns a server whose URLs are paths.
func newServer(t *testing.T, c serve.Config) *serve.Server {
	t.Helper()
	if c.Key == nil {
		c.Key = key(1)
	}
	return must.Get(serve.New(c))(t)
}

func random(n int, seed byte) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(p) // never fails
	return p
}

// base is an open file with content.
func base(t *testing.T, content []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "base.iso")
	must.Do(t, os.WriteFile(path, content, 0o600))
	f := must.Get(os.Open(path))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// patched is a machine's image: a base with its name somewhere in the middle.
func patched(f *os.File, size int64, host string) *overlay.Image {
	image := overlay.New(f, size)
	image.Overlay(size/2, []byte("ignition of "+host))
	return image
}

func iso(image *overlay.Image) serve.File {
	return serve.File{Kind: serve.ISO, Image: image, Base: "base"}
}

func set(t *testing.T, s *serve.Server, host string, files ...serve.File) {
	t.Helper()
	must.Do(t, s.Set(host, files...))
}

// ask makes a request of the handler, without a network.
func ask(h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestURLs(t *testing.T) {
	one := newServer(t, serve.Config{URL: "http://192.0.2.1:8080/"})
	again := newServer(t, serve.Config{URL: "http://192.0.2.1:8080"})
	other := newServer(t, serve.Config{URL: "http://192.0.2.1:8080", Key: key(2)})
	seen := map[string]string{}
	for _, host := range []string{"m-0", "m-1", ""} {
		for _, kind := range []serve.Kind{serve.ISO, serve.Kernel, serve.Initrd, serve.Rootfs, serve.IPXE, serve.AddrSize, serve.Ins, serve.Prm} {
			url := one.URL(host, kind)
			if url != again.URL(host, kind) {
				t.Errorf("%s of %s: another URL after a restart", kind, host)
			}
			for _, u := range []string{url, other.URL(host, kind)} {
				if by, twice := seen[u]; twice {
					t.Errorf("%s is that of %s, too", u, by)
				}
				seen[u] = host + " " + string(kind)
			}
			if len(url) > len("http://192.0.2.1:8080")+16+20 || strings.Contains(url, "m-") {
				t.Errorf("%s", url)
			}
		}
	}
	if a, b := one.RootfsURL("m-0"), one.URL("m-0", serve.ISO); a[len(a)-20:len(a)-4] == b[len(b)-20:len(b)-4] {
		t.Errorf("a host and what is shared have one id: %s, %s", a, b)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, c := range map[string]serve.Config{
		"has 8 bytes":                {Key: make([]byte, 8)},
		"not an http or https URL":   {Key: key(1), URL: "ftp://h"},
		`"192.0.2.1:8080" is not an`: {Key: key(1), URL: "192.0.2.1:8080"},
	} {
		check.Says(t, check.Err(serve.New(c)), want)
	}
	s := newServer(t, serve.Config{})
	text := serve.File{Kind: serve.ISO, Image: overlay.Bytes([]byte("x"))}
	for want, files := range map[string][]serve.File{
		`no kind of file "iso9660"`: {{Kind: "iso9660", Image: text.Image}},
		"needs one":                 {{Kind: serve.ISO}},
		"the iso is given twice":    {text, text},
		"a script is for":           {{Kind: serve.ISO, Script: func(_, _, _ string) string { return "" }}},
	} {
		if err := s.Set("m-0", files...); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "m-0") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestISOIsServed(t *testing.T) {
	content := random(1<<20, 1)
	f := base(t, content)
	s := newServer(t, serve.Config{})
	set(t, s, "m-0", iso(patched(f, 1<<20, "m-0")))
	want := bytes.Clone(content)
	copy(want[1<<19:], "ignition of m-0")
	url := s.URL("m-0", serve.ISO)

	whole := ask(s, "GET", url)
	etag := whole.Header().Get("ETag")
	if whole.Code != 200 || !bytes.Equal(whole.Body.Bytes(), want) || !strings.HasPrefix(etag, `"`) {
		t.Fatalf("%d, %d bytes, ETag %s", whole.Code, whole.Body.Len(), etag)
	}
	for name, test := range map[string]struct {
		method string
		header []string
		status int
		body   []byte
	}{
		"head":              {"HEAD", nil, 200, nil},
		"range":             {"GET", []string{"Range", "bytes=524280-524300"}, 206, want[524280:524301]},
		"range's end":       {"GET", []string{"Range", "bytes=1048000-9999999999"}, 206, want[1048000:]},
		"beyond":            {"GET", []string{"Range", "bytes=1048576-"}, 416, nil},
		"same content":      {"GET", []string{"Range", "bytes=0-9", "If-Range", etag}, 206, want[:10]},
		"another's content": {"GET", []string{"Range", "bytes=0-9", "If-Range", `"x"`}, 200, want},
		"not modified":      {"GET", []string{"If-None-Match", etag}, 304, nil},
	} {
		got := ask(s, test.method, url, test.header...)
		if got.Code != test.status || test.body != nil && !bytes.Equal(got.Body.Bytes(), test.body) || test.status == 304 && got.Body.Len() > 0 {
			t.Errorf("%s: %d, %d bytes", name, got.Code, got.Body.Len())
		}
		if test.method == "HEAD" && (got.Body.Len() > 0 || got.Header().Get("Content-Length") != "1048576") {
			t.Errorf("%s: %d bytes, Content-Length %s", name, got.Body.Len(), got.Header().Get("Content-Length"))
		}
	}
}

func TestOneHostsChangeIsNotAnothers(t *testing.T) {
	f := base(t, random(1<<16, 1))
	tags := func(patch string) [2]string {
		s := newServer(t, serve.Config{})
		set(t, s, "m-0", iso(patched(f, 1<<16, patch)))
		set(t, s, "m-1", iso(patched(f, 1<<16, "m-1")))
		var found [2]string
		for i := range found {
			found[i] = ask(s, "HEAD", s.URL(fmt.Sprintf("m-%d", i), serve.ISO)).Header().Get("ETag")
		}
		return found
	}
	before, restarted, changed := tags("m-0"), tags("m-0"), tags("m-0 anew")
	if before != restarted || before[1] != changed[1] || before[0] == changed[0] || before[0] == before[1] {
		t.Errorf("before %q, restarted %q, changed %q", before, restarted, changed)
	}
}

// TestNothingIsTold asks for what is not there, in every way: the answers must
// not differ in anything.
func TestNothingIsTold(t *testing.T) {
	clk := newClock()
	s := newServer(t, serve.Config{Clock: clk, Expire: time.Hour})
	image := overlay.Bytes([]byte("secret"))
	set(t, s, "expired", iso(image))
	clk.pass(2 * time.Hour)
	set(t, s, "m-0", iso(image))
	set(t, s, "withdrawn", iso(image), serve.File{Kind: serve.IPXE, Image: image})
	must.Do(t, s.SetMACs("withdrawn", "52:54:00:00:00:01"))
	s.Withdraw("withdrawn")
	must.Do(t, s.SetRootfs("base", serve.File{Image: image}))
	here := s.URL("m-0", serve.ISO)
	id := strings.TrimSuffix(strings.TrimPrefix(here, "/i/"), ".iso")
	shared := strings.TrimSuffix(strings.TrimPrefix(s.RootfsURL("base"), "/rootfs/"), ".img")
	if ask(s, "GET", here).Code != 200 || ask(s, "GET", s.RootfsURL("base")).Code != 200 {
		t.Fatal("what is there is not served")
	}
	want := ask(s, "GET", "/i/aaaaaaaaaaaaaaaa.iso")
	if want.Code != 404 {
		t.Fatalf("status %d", want.Code)
	}
	for _, target := range []string{
		"/", "/i", "/i/", "/i//", "/n/", "/rootfs/", "/favicon.ico", "/metrics/", "//metrics",
		"/i/" + id, "/i/" + strings.ToUpper(id) + ".iso", "/i/" + id[:15] + ".iso", "/i/" + id + "a.iso", "/i/" + id + ".iso/",
		"/i/../i/" + id + ".iso", "/i/%2e%2e/i/" + id + ".iso", "/i/" + id + "%2eiso", "//i/" + id + ".iso", "/./i/" + id + ".iso",
		"/n/" + id + "/iso", "/n/" + id + "/kernel", "/n/" + id + "/", "/n/" + id + "/../" + id + "/ipxe",
		"/rootfs/" + id + ".img", "/i/" + shared + ".iso", "/n/" + shared + "/rootfs",
		"/i/..%2f..%2fetc%2fpasswd", "/i/\x00.iso",
		s.URL("expired", serve.ISO), s.URL("withdrawn", serve.ISO), s.URL("unknown", serve.ISO),
		"/ipxe", "/ipxe/", "/ipxe/" + id, "/ipxe?mac=52:54:00:00:00:0a", "/ipxe/" + id + "?mac=52:54:00:00:00:0a",
		s.BootURL() + "?mac=52:54:00:00:00:01", s.BootURL() + "?mac=", s.BootURL() + "?mac=%0a", s.BootURL() + "?mac=52:54:00:00:00:02",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		path, query, _ := strings.Cut(target, "?")
		r.URL.Path, r.URL.RawPath, r.URL.RawQuery = unescape(path), raw(path), query
		got := httptest.NewRecorder()
		s.ServeHTTP(got, r)
		if diff := cmp.Diff(want.Header(), got.Header()); got.Code != 404 || got.Body.String() != want.Body.String() || diff != "" {
			t.Errorf("%s: %d %q %s", target, got.Code, got.Body, diff)
		}
	}
	for _, method := range []string{"PUT", "POST", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"} {
		known, unknown := ask(s, method, here), ask(s, method, "/i/aaaaaaaaaaaaaaaa.iso")
		if known.Code != 405 || unknown.Code != 405 || known.Body.String() != unknown.Body.String() {
			t.Errorf("%s: %d, %d", method, known.Code, unknown.Code)
		}
	}
	r := httptest.NewRequest("GET", here, strings.NewReader("a body"))
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 400 || w.Header().Get("Connection") != "close" {
		t.Errorf("a request with a body: %d", w.Code)
	}
}

// unescape and raw set a URL's paths as url.Parse does, for paths it refuses.
func unescape(path string) string {
	return strings.NewReplacer("%2e", ".", "%2f", "/").Replace(path)
}

func raw(path string) string {
	if unescape(path) == path {
		return ""
	}
	return path
}

func TestContentMadeWhenAskedFor(t *testing.T) {
	s := newServer(t, serve.Config{OpenTimeout: 20 * time.Millisecond})
	var calls int
	release := make(chan struct{})
	broken := errors.New("no route to the base")
	set(t, s, "m-0", serve.File{Kind: serve.ISO, Open: func(ctx context.Context) (*overlay.Image, error) {
		calls++
		if calls == 1 {
			return nil, broken
		}
		<-release
		return overlay.Bytes([]byte("image")), context.Cause(ctx)
	}})
	url := s.URL("m-0", serve.ISO)
	if calls != 0 {
		t.Fatal("made before it was asked for")
	}
	for _, why := range []string{"broken", "not ready", "not ready"} {
		got := ask(s, "GET", url)
		if got.Code != 503 || got.Header().Get("Retry-After") == "" || strings.Contains(got.Body.String(), "route") {
			t.Errorf("%s: %d %s", why, got.Code, got.Body)
		}
	}
	close(release)
	var got *httptest.ResponseRecorder
	for range 100 { // until the goroutine has its turn
		if got = ask(s, "GET", url); got.Code == 200 {
			break
		}
	}
	if got.Body.String() != "image" || calls != 2 {
		t.Errorf("%d %s after %d calls", got.Code, got.Body, calls)
	}
}

func TestPreparedContentIsThereAtOnce(t *testing.T) {
	s := newServer(t, serve.Config{OpenTimeout: time.Nanosecond})
	fail := true
	set(t, s, "m-0", serve.File{Kind: serve.ISO, Open: func(context.Context) (*overlay.Image, error) {
		if fail {
			return nil, errors.New("no route to the base")
		}
		return overlay.Bytes([]byte("image")), nil
	}})
	if err := s.Prepare(t.Context(), "m-0"); err == nil || err.Error() != "make the iso of m-0: no route to the base" {
		t.Errorf("error %v", err)
	}
	fail = false
	check.Do(t, s.Prepare(t.Context(), "m-0"))
	if got := ask(s, "GET", s.URL("m-0", serve.ISO)); got.Body.String() != "image" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// readAll reads a response over the network.
func readAll(t *testing.T, client *http.Client, url string) []byte {
	t.Helper()
	resp := must.Get(client.Get(url))(t)
	defer resp.Body.Close()
	return must.Get(io.ReadAll(resp.Body))(t)
}
