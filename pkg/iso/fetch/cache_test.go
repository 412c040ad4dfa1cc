package fetch_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// rapid passes every wait at once.
type rapid struct{ clock.Clock }

func (rapid) Sleep(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }

// origin is a server whose content and manners a test sets.
type origin struct {
	mu       sync.Mutex
	content  []byte
	etag     string
	cutAfter int   // bytes after which each answer ends early; 0 never
	status   []int // of the next answers; 0 or none: the content
	ranges   []string
	requests int
	noRange  bool
	// noIfRange is a server that sends a range even if the content has changed.
	noIfRange bool
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.requests++
	o.ranges = append(o.ranges, r.Header.Get("Range"))
	content, etag, cut := o.content, o.etag, o.cutAfter
	status := 0
	if len(o.status) > 0 {
		status, o.status = o.status[0], o.status[1:]
	}
	if o.noRange {
		r.Header.Del("Range")
	}
	if o.noIfRange {
		r.Header.Del("If-Range")
	}
	o.mu.Unlock()
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	if cut > 0 {
		w = &cutter{w, cut}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// cutter breaks an answer off.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) >= c.left {
		_, _ = c.ResponseWriter.Write(p[:c.left]) // the client is hung up on either way
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

func (o *origin) start(t *testing.T) string {
	t.Helper()
	return start(t, o)
}

func start(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func random(n int) []byte {
	src := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), 7})
	p := make([]byte, n)
	_, _ = src.Read(p) // never fails
	return p
}

func sum(p []byte) string {
	s := sha256.Sum256(p)
	return hex.EncodeToString(s[:])
}

func newCache(t *testing.T, most int64) (*fetch.Cache, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cache")
	return fetch.New(fetch.Config{Dir: dir, Cap: most, Clock: rapid{clock.Real()}}), dir
}

// get fetches, and fails the test where the file does not hold what it should.
func get(t *testing.T, c *fetch.Cache, src fetch.Source, want []byte) *fetch.File {
	t.Helper()
	file := must.Get(c.Get(t.Context(), src, nil))(t)
	t.Cleanup(func() { file.Close() })
	got := must.Get(os.ReadFile(file.Path))(t)
	if !bytes.Equal(got, want) || file.Size != int64(len(want)) || file.SHA256 != sum(want) {
		t.Fatalf("%d bytes (%s), want %d", len(got), file.SHA256, len(want))
	}
	return file
}

// names is what lies in the cache, by kind of file.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var kinds []string
	for _, e := range entries {
		_, kind, _ := strings.Cut(e.Name(), ".")
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

func TestContentIsFetchedOnce(t *testing.T) {
	o := &origin{content: random(3 << 20), etag: `"1"`}
	url := o.start(t) + "/base.iso"
	c, dir := newCache(t, 0)
	first := get(t, c, fetch.Source{Location: url}, o.content)
	second := get(t, c, fetch.Source{Location: url}, o.content)
	if first.Path != second.Path || o.requests != 2 {
		t.Errorf("%s and %s in %d requests", first.Path, second.Path, o.requests)
	}
	// A known digest needs no server.
	get(t, c, fetch.Source{Location: "http://127.0.0.1:1/elsewhere.iso", SHA256: strings.ToUpper(sum(o.content))}, o.content)
	check.Same(t, []string{"iso", "json", "use"}, names(t, dir))

	o.mu.Lock()
	o.content, o.etag = random(2<<20), `"2"`
	o.mu.Unlock()
	third := get(t, c, fetch.Source{Location: url}, o.content)
	if third.Path == first.Path {
		t.Error("new content under the old name")
	}
	check.Do(t, check.Err(os.Stat(first.Path)), "content in use is gone")
}

// TestSameContentByTwoURLs keeps the file that is there: another process may have opened it, and open it again by its
// name.
func TestSameContentByTwoURLs(t *testing.T) {
	content := random(1 << 20)
	url := start(t, shop(map[string][]byte{"/a": content, "/b": content}))
	c, dir := newCache(t, 0)
	first := get(t, c, fetch.Source{Location: url + "/a"}, content)
	before := must.Get(os.Stat(first.Path))(t)
	get(t, c, fetch.Source{Location: url + "/b"}, content)
	if after, err := os.Stat(first.Path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced: %v", err)
	}
	check.Same(t, []string{"iso", "json", "json", "use"}, names(t, dir))
}

func TestAnswersThatAreNotTrusted(t *testing.T) {
	plain := start(t, &origin{content: random(100)})
	redirects := 0
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		redirects++
		http.Redirect(w, r, plain+"/x?token=s3cret", http.StatusFound)
	}))
	defer secure.Close()
	compressed := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "whatever")
	}))
	longer := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write(random(50))
	}))
	for location, want := range map[string]string{
		secure.URL: "from https to http://",
		compressed: "the encoding br",
		longer:     "EOF",
	} {
		c := fetch.New(fetch.Config{Dir: t.TempDir(), Clock: rapid{clock.Real()}, Client: &http.Client{Transport: secure.Client().Transport}})
		_, err := c.Get(t.Context(), fetch.Source{Location: location}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if redirects != 1 {
		t.Errorf("%d requests for a redirect that is not followed", redirects)
	}
}

// TestBeginningIsChecked: what does not begin as an image does is left at its beginning, however
// large it is and whether or not the server says how large; nothing of it is kept.
func TestBeginningIsChecked(t *testing.T) {
	wrong := errors.New("it is no image")
	for name, header := range map[string]string{"of a size that is said": "1099511627776", "without a size": ""} {
		t.Run(name, func(t *testing.T) {
			var sent int64
			ended := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				if header != "" {
					w.Header().Set("Content-Length", header)
				}
				sent, _ = io.Copy(w, endless{})
			}))
			defer server.Close()
			dir := t.TempDir()
			var start []byte
			cache := fetch.New(fetch.Config{Dir: dir, Clock: rapid{clock.Real()}, Begins: func(s []byte) error {
				start = s
				return wrong
			}})
			_, err := cache.Get(t.Context(), fetch.Source{Location: server.URL + "/a.iso"}, nil)
			if !errors.Is(err, wrong) || err.Error() != "fetch "+server.URL+"/a.iso: it is no image" {
				t.Errorf("%v, want that it is no image", err)
			}
			<-ended
			if len(start) != fetch.StartSize || sent > 64<<20 {
				t.Errorf("%d bytes are checked after %d were sent", len(start), sent)
			}
			parts, err := filepath.Glob(filepath.Join(dir, "*.part*"))
			if err != nil || len(parts) > 0 {
				t.Errorf("kept: %v, %v", parts, err)
			}
		})
	}
}

// endless has the same byte for ever.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestWrongChecksum(t *testing.T) {
	o := &origin{content: random(1 << 20), etag: `"a"`}
	url := o.start(t)
	local := filepath.Join(t.TempDir(), "base.iso")
	must.Do(t, os.WriteFile(local, o.content, 0o600))
	c, dir := newCache(t, 0)
	for _, location := range []string{url, local} {
		_, err := c.Get(t.Context(), fetch.Source{Location: location, SHA256: sum(nil)}, nil)
		var wrong *fetch.ChecksumError
		if !errors.As(err, &wrong) || wrong.Got != sum(o.content) || !strings.Contains(err.Error(), location) {
			t.Errorf("%s: error %v", location, err)
		}
	}
	if left := names(t, dir); slices.Contains(left, "iso") || slices.Contains(left, "part") {
		t.Errorf("the cache holds %q", left)
	}
	get(t, c, fetch.Source{Location: local, SHA256: sum(o.content)}, o.content)
}

func TestUnreachableServer(t *testing.T) {
	o := &origin{content: random(1 << 20), etag: `"a"`}
	srv := httptest.NewServer(o)
	src := fetch.Source{Location: srv.URL + "/base.iso?image_token=s3cret"}
	c, _ := newCache(t, 0)
	first := get(t, c, src, o.content)
	srv.Close()
	second := get(t, c, src, o.content)
	if first.Warning != "" || !strings.Contains(second.Warning, "may be out of date") {
		t.Errorf("warnings %q, %q", first.Warning, second.Warning)
	}
	src.Location = srv.URL + "/other.iso?image_token=s3cret"
	_, err := c.Get(t.Context(), src, nil)
	if err == nil || !strings.Contains(err.Error(), srv.URL+"/other.iso?…: ") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
}

func TestAnswersThatAreNotTheContent(t *testing.T) {
	for name, test := range map[string]struct {
		status []int
		fails  string
	}{
		"passing":          {status: []int{503, 429, 500}},
		"for ever":         {status: slices.Repeat([]int{502}, 9), fails: "the server answers 502 Bad Gateway"},
		"gone":             {status: []int{404}, fails: "the server answers 404 Not Found"},
		"not allowed":      {status: []int{403}, fails: "the server answers 403 Forbidden"},
		"nothing modified": {status: []int{304}, fails: "the server answers 304 Not Modified"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &origin{content: random(100), status: test.status}
			src := fetch.Source{Location: o.start(t)}
			c, _ := newCache(t, 0)
			if test.fails == "" {
				get(t, c, src, o.content)
				return
			}
			check.Says(t, check.Err(c.Get(t.Context(), src, nil)), test.fails)
		})
	}
}

func TestSilentServerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const whole = "the whole"
		answers := 0
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			answers++
			resp := &http.Response{
				StatusCode: http.StatusOK, Status: "200 OK", ContentLength: int64(len(whole)),
				Header: http.Header{"Etag": {`"a"`}}, Body: io.NopCloser(strings.NewReader(whole)),
			}
			if answers == 1 {
				resp.Body = io.NopCloser(io.MultiReader(strings.NewReader("the"), silent{r.Context()}))
			}
			return resp, nil
		})}
		c := fetch.New(fetch.Config{Dir: t.TempDir(), Client: client, Stall: time.Hour})
		began := time.Now()
		get(t, c, fetch.Source{Location: "http://silent/base.iso"}, []byte(whole))
		if took := time.Since(began); took < time.Hour || took > time.Hour+time.Minute || answers != 2 {
			t.Errorf("%s and %d requests", took, answers)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// silent sends nothing until the reader gives up.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func TestTwoShareOneDownload(t *testing.T) {
	o := &origin{content: random(8 << 20), etag: `"a"`}
	src := fetch.Source{Location: o.start(t), SHA256: sum(o.content)}
	_, dir := newCache(t, 0)
	var group sync.WaitGroup
	for range 4 {
		// Each has a cache of its own, as a process has.
		c := fetch.New(fetch.Config{Dir: dir})
		group.Go(func() { get(t, c, src, o.content) })
	}
	group.Wait()
	if o.requests != 1 {
		t.Errorf("%d requests", o.requests)
	}
}

func TestBadSources(t *testing.T) {
	dir := t.TempDir()
	c, _ := newCache(t, 0)
	for src, want := range map[fetch.Source]string{
		{}:                                     "neither a path nor a URL",
		{Location: dir}:                        "is a directory",
		{Location: dir + "/none.iso"}:          "no such file",
		{Location: "ftp://h/x?token=s3cret"}:   `ftp://h/x?…: its scheme "ftp"`,
		{Location: "https:///x"}:               "names no host",
		{Location: "http://h:port/%zz?s3cret"}: "it is not a URL",
		{Location: "file://elsewhere/x"}:       "on another host",
		{Location: "http://h/x", SHA256: "12"}: "not a SHA-256",
	} {
		_, err := c.Get(t.Context(), src, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%+v: error %v, want %q", src, err, want)
		}
	}
	local := filepath.Join(dir, "base.iso")
	must.Do(t, os.WriteFile(local, []byte("x"), 0o600))
	for _, location := range []string{local, "file://" + local} {
		check.Equal(t, must.Get(c.Get(t.Context(), fetch.Source{Location: location}, nil))(t).Path, local, location)
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"/srv/base.iso": "/srv/base.iso",
		"https://user:pass@h:1/a/b.iso?api_key=x&y#z":                  "https://h:1/a/b.iso?…",
		"http://h/byapikey/eyJhbGciOi.eyJzdWIiOiIx.c2lnbmF0dXJl/4.19/": "http://h/byapikey/…/4.19/",
		"http://h?x": "http://h?…",
		"http://h":   "http://h",
	} {
		check.Equal(t, fetch.Redact(in), want, in)
	}
}

// What is known to be made of the same is not asked for again; what it replaces is
// dropped, since it may hold secrets; and all of it can be forgotten.
func TestVersions(t *testing.T) {
	server := &origin{content: random(1 << 16)}
	url := server.start(t)
	cache, dir := newCache(t, 0)
	get := func(version string) string {
		t.Helper()
		file := must.Get(cache.Get(t.Context(), fetch.Source{Location: url + "/full.iso?token=" + version, Name: "the image of lab", Version: version}, nil))(t)
		defer file.Close()
		check.Equal(t, must.Get(os.Stat(file.Path))(t).Mode().Perm(), 0o600)
		return file.SHA256
	}
	first := get("one")
	if again := get("one"); again != first || server.requests != 1 {
		t.Errorf("the same version made %d requests", server.requests)
	}
	server.content = random(1<<16 + 1)
	if second := get("two"); second == first || server.requests != 2 {
		t.Errorf("another version made %d requests, and is the same: %t", server.requests, second == first)
	}
	contents := func() int {
		found := must.Get(filepath.Glob(filepath.Join(dir, "*.iso")))(t)
		return len(found)
	}
	if n := contents(); n != 1 {
		t.Errorf("%d contents are kept of two versions", n)
	}
	source := fetch.Source{Location: url, Name: "the image of lab"}
	inUse := must.Get(cache.Get(t.Context(), fetch.Source{Location: url, Name: source.Name, Version: "two"}, nil))(t)
	if gone, err := cache.Forget(t.Context(), source); gone || err == nil || contents() != 1 {
		t.Errorf("what is in use is forgotten: %t, %v", gone, err)
	}
	inUse.Close()
	if gone, err := cache.Forget(t.Context(), source); !gone || err != nil || contents() != 0 {
		t.Errorf("it is not forgotten: %t, %v, %d contents", gone, err, contents())
	}
	if gone, err := cache.Forget(t.Context(), source); gone || err != nil {
		t.Errorf("nothing is forgotten again: %t, %v", gone, err)
	}
	for _, owner := range []string{"lab", "other"} {
		file := must.Get(cache.Get(t.Context(), fetch.Source{Location: url, Name: "the image of " + owner, Owner: owner + ".example.com"}, nil))(t)
		file.Close()
		server.content = random(1 << 15)
	}
	if err := cache.ForgetOf("lab.example.com"); err != nil || contents() != 1 {
		t.Errorf("%d contents are left: %v", contents(), err)
	}
	check.Do(t, fetch.New(fetch.Config{Dir: filepath.Join(dir, "none")}).ForgetOf("lab.example.com"))
}
