package fetch_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// stepping is a clock that moves on by a minute at each look.
type stepping struct {
	clock.Clock
	now time.Time
}

func (s *stepping) Now() time.Time {
	s.now = s.now.Add(time.Minute)
	return s.now
}

// shop serves each path its own content.
func shop(contents map[string][]byte) http.Handler {
	mux := http.NewServeMux()
	for path, content := range contents {
		mux.Handle(path, &origin{content: content, etag: `"` + sum(content) + `"`})
	}
	return mux
}

func TestLeastRecentlyUsedIsDropped(t *testing.T) {
	const mb = 1 << 20
	a, b, c, d := random(3*mb), random(3*mb+1), random(3*mb+2), random(3*mb+3)
	url := start(t, shop(map[string][]byte{"/a": a, "/b": b, "/c": c, "/d": d, "/huge": random(11 * mb)}))
	cache := fetch.New(fetch.Config{Dir: t.TempDir(), Cap: 10 * mb, Clock: &stepping{clock.Real(), time.Now()}})
	bring := func(path string, want []byte) *fetch.File {
		t.Helper()
		return get(t, cache, fetch.Source{Location: url + path}, want)
	}
	fileA, fileB, fileC := bring("/a", a), bring("/b", b), bring("/c", c)
	gone := func(f *fetch.File) bool {
		_, err := os.Stat(f.Path)
		return errors.Is(err, os.ErrNotExist)
	}

	// All are in use: there is no room.
	_, err := cache.Get(t.Context(), fetch.Source{Location: url + "/d"}, nil)
	if err == nil || !strings.Contains(err.Error(), "are in use") {
		t.Fatalf("error %v", err)
	}
	// a was used before b, but is used again; b is not in use.
	again := bring("/a", a)
	fileA.Close()
	again.Close()
	fileB.Close()
	bring("/d", d)
	if gone(fileA) || !gone(fileB) || gone(fileC) {
		t.Errorf("dropped: a %t, b %t, c %t", gone(fileA), gone(fileB), gone(fileC))
	}
	_, err = cache.Get(t.Context(), fetch.Source{Location: url + "/huge"}, nil)
	if err == nil || !strings.Contains(err.Error(), " is 10485760") || gone(fileA) {
		t.Errorf("error %v", err)
	}
}

func TestAbandonedDownloadGivesWay(t *testing.T) {
	const mb = 1 << 20
	broken := &origin{content: random(6 * mb), etag: `"a"`, cutAfter: 4 * mb, status: []int{0, 404}}
	whole := random(7 * mb)
	mux := http.NewServeMux()
	mux.Handle("/broken", broken)
	mux.Handle("/whole", &origin{content: whole})
	url := start(t, mux)
	cache, dir := newCache(t, 10*mb)
	if _, err := cache.Get(t.Context(), fetch.Source{Location: url + "/broken"}, nil); err == nil {
		t.Fatal("no error")
	}
	if kinds := strings.Join(names(t, dir), " "); !strings.Contains(kinds, "part") {
		t.Fatalf("the cache holds %s", kinds)
	}
	get(t, cache, fetch.Source{Location: url + "/whole"}, whole)
	if kinds := strings.Join(names(t, dir), " "); strings.Contains(kinds, "part") {
		t.Errorf("the cache holds %s", kinds)
	}
}

// TestUnannouncedSizeIsCapped sends without Content-Length, more than fits.
func TestUnannouncedSizeIsCapped(t *testing.T) {
	url := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		block := random(1 << 20)
		for range 20 {
			_, _ = w.Write(block) // the client hangs up
		}
	}))
	cache, dir := newCache(t, 5<<20)
	_, err := cache.Get(t.Context(), fetch.Source{Location: url}, nil)
	check.Says(t, err, " is 5242880")
	if kinds := strings.Join(names(t, dir), " "); strings.Contains(kinds, "iso") {
		t.Errorf("the cache holds %s", kinds)
	}
}
