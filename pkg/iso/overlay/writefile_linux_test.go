package overlay_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// TestHoles copies a base of holes to where nothing can be shared.
func TestHoles(t *testing.T) {
	const size = 5 << 30
	base := file(t, nil)
	for _, at := range []int64{0, 1 << 30, 5<<30 - 4096} {
		must.Get(base.WriteAt(noise(uint64(at), 4096), at))(t)
	}
	m := overlay.New(base, size)
	m.Overlay(4<<30+100, []byte("beyond 32 bits"))
	m.Zero(1<<20, 1<<20)
	m.Overlay(3<<30, make([]byte, 1<<20))
	path := filepath.Join(t.TempDir(), "out")
	must.Get(m.WriteFile(t.Context(), path, overlay.WriteOptions{}))(t)
	out := must.Get(os.Open(path))(t)
	defer out.Close()
	info := must.Get(out.Stat())(t)
	if used := info.Sys().(*syscall.Stat_t).Blocks * 512; info.Size() != size || used > 1<<20 {
		t.Errorf("%d bytes take %d of the disk", info.Size(), used)
	}
	for _, at := range []int64{0, 1 << 30, 4 << 30, size - 4096} {
		got, want := make([]byte, 4096), make([]byte, 4096)
		must.Get(out.ReadAt(got, at))(t)
		must.Get(m.ReadAt(want, at))(t)
		if !bytes.Equal(got, want) {
			t.Errorf("other bytes at %d", at)
		}
	}
}

// TestReplacedBase serves a base whose name another file has taken since.
func TestReplacedBase(t *testing.T) {
	content := noise(1, 100_000)
	base := file(t, content)
	must.Do(t, os.Remove(base.Name()))
	must.Do(t, os.WriteFile(base.Name(), noise(2, 100_000), 0o600))
	var got bytes.Buffer
	if _, err := overlay.New(base, 100_000).WriteRange(&got, 0, 100_000); err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("other bytes: %v", err)
	}
}

// TestNoFileStaysOpen counts descriptors around everything that opens files.
func TestNoFileStaysOpen(t *testing.T) {
	m, want := patched(t, 1<<20)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		overlay.Serve(w, r, m, overlay.Meta{})
	}))
	server.Config.SetKeepAlivesEnabled(false)
	server.Start()
	defer server.Close()
	use := func() {
		request(t, server.URL, "GET", nil)
		request(t, server.URL, "GET", map[string]string{"Range": "bytes=5-9,100000-300000"})
		path := filepath.Join(t.TempDir(), "out")
		for range 2 {
			must.Get(m.WriteFile(t.Context(), path, overlay.WriteOptions{Overwrite: true}))(t)
		}
		if _, err := m.WriteFile(t.Context(), path, overlay.WriteOptions{}); !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Fatal("other bytes", err)
		}
	}
	for range 20 {
		use()
	}
	// What may serve the next request stays open for a moment.
	own := filepath.Dir(t.TempDir())
	deadline := time.Now().Add(10 * time.Second)
	for len(openBelow(t, own)) > 1 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	if open := openBelow(t, own); len(open) != 1 {
		t.Errorf("open is not the base alone: %v", open)
	}
	runtime.KeepAlive(m) // else collecting it may close what it forgot
}

// openBelow lists the files below a folder that this process has open.
func openBelow(t *testing.T, folder string) (open []string) {
	t.Helper()
	entries := must.Get(os.ReadDir("/proc/self/fd"))(t)
	for _, e := range entries {
		path, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && strings.HasPrefix(path, folder) {
			open = append(open, path)
		}
	}
	return open
}
