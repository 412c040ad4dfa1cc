//go:build e2e

package upgrade

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// media is the folder with what an earlier build left of the images that machines boot: the key of their URLs, the URLs
// that BMCs got, and a cache with one image.
var media = testCase{name: "media"}

// TestMediaURLsStay finds the images of machines at the URLs that their BMCs got from the earlier build: a machine that
// still reads goes on, and a drive is known to hold ours.
func TestMediaURLsStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "media.key")
	if !*update {
		copyFile(t, media.path("media.key"), path)
	}
	key := must.Get(serve.LoadKey(path))(t)
	server := must.Get(serve.New(serve.Config{Key: key, URL: "http://192.0.2.1:8880"}))(t)
	told := map[string]string{}
	for _, host := range []string{"cp-0", "cp-1", "worker-0"} {
		told[host] = server.URL(host, serve.ISO)
	}
	if *update {
		copyFile(t, path, media.path("media.key"))
		media.write(t, "urls.json", told)
		return
	}
	var before map[string]string
	media.read(t, "urls.json", &before)
	if diff := cmp.Diff(before, told); diff != "" {
		t.Errorf("BMCs were told other URLs: %s", diff)
	}
}

// TestImageCacheStays uses the live image that the earlier build has downloaded.
func TestImageCacheStays(t *testing.T) {
	dir := t.TempDir()
	if !*update {
		for name := range filesIn(t, media.path("cache")) {
			copyFile(t, filepath.Join(media.path("cache"), name), filepath.Join(dir, name))
		}
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = io.Copy(w, strings.NewReader("a live image"))
	}))
	defer server.Close()
	file := must.Get(fetch.New(fetch.Config{Dir: dir, Cap: 1 << 30}).Get(t.Context(), fetch.Source{
		Location: server.URL + "/full.iso", Name: "the full image of InfraEnv 6ae6783f-4fbd-491b-aeb8-8b73a48ed247",
		Version: "http://192.0.2.1/images/full.iso 0123", Owner: "lab.example.com",
	}, nil))(t)
	defer func() { _ = file.Close() }()
	if content, err := os.ReadFile(file.Path); err != nil || !bytes.Equal(content, []byte("a live image")) {
		t.Errorf("the image is %q (%v)", content, err)
	}
	if *update {
		media.keep(t, "cache", filesIn(t, dir), nil)
		return
	}
	if asked > 0 {
		t.Errorf("the image is downloaded again, with %d requests", asked)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data := must.Get(os.ReadFile(from))(t)
	must.Do(t, os.MkdirAll(filepath.Dir(to), 0o700))
	must.Do(t, os.WriteFile(to, data, 0o600))
}
