package extent_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/pkg/iso/extent"
)

func TestFullDisk(t *testing.T) {
	dir := mount(t, "tmpfs", "tmpfs", "size=2m")
	content := noise(1, 8<<20)
	for name, base := range map[string]io.ReaderAt{"file": file(t, content), "memory": bytes.NewReader(content)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "out.iso")
			if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			m := extent.New(base, int64(len(content)))
			if _, err := m.WriteFile(t.Context(), path, extent.WriteOptions{Overwrite: true}); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("got %v", err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != "before" {
				t.Errorf("the file that was there holds %d bytes, %v", len(got), err)
			}
			onlyFiles(t, dir, "out.iso")
			var disk unix.Statfs_t
			if err := unix.Statfs(dir, &disk); err != nil {
				t.Fatal(err)
			}
			if used := (disk.Blocks - disk.Bfree) * uint64(disk.Bsize); used > 64<<10 {
				t.Errorf("%d bytes of the disk are in use", used)
			}
		})
	}
}

func TestReadOnlyTarget(t *testing.T) {
	dir := mount(t, "tmpfs", "tmpfs", "size=2m,ro")
	_, err := extent.Bytes([]byte("content")).WriteFile(t.Context(), filepath.Join(dir, "out"), extent.WriteOptions{})
	if !errors.Is(err, syscall.EROFS) {
		t.Errorf("got %v", err)
	}
}

// TestHoles copies a base of holes to where nothing can be shared.
func TestHoles(t *testing.T) {
	const size = 5 << 30
	base := file(t, nil)
	for _, at := range []int64{0, 1 << 30, 5<<30 - 4096} {
		if _, err := base.WriteAt(noise(uint64(at), 4096), at); err != nil {
			t.Fatal(err)
		}
	}
	m := extent.New(base, size)
	m.Overlay(4<<30+100, []byte("beyond 32 bits"))
	m.Zero(1<<20, 1<<20)
	m.Overlay(3<<30, make([]byte, 1<<20))
	path := filepath.Join(t.TempDir(), "out")
	if _, err := m.WriteFile(t.Context(), path, extent.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	out, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	info, err := out.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if used := info.Sys().(*syscall.Stat_t).Blocks * 512; info.Size() != size || used > 1<<20 {
		t.Errorf("%d bytes take %d of the disk", info.Size(), used)
	}
	for _, at := range []int64{0, 1 << 30, 4 << 30, size - 4096} {
		got, want := make([]byte, 4096), make([]byte, 4096)
		if _, err := out.ReadAt(got, at); err != nil {
			t.Fatal(err)
		}
		if _, err := m.ReadAt(want, at); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("other bytes at %d", at)
		}
	}
}

// TestOtherFilesystem copies from one filesystem to another.
func TestOtherFilesystem(t *testing.T) {
	dir := mount(t, "tmpfs", "tmpfs", "size=8m")
	content := noise(1, 3<<20)
	m := extent.New(file(t, content), int64(len(content)))
	path := filepath.Join(dir, "out")
	if _, err := m.WriteFile(t.Context(), path, extent.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestReflink writes where blocks can be shared: in place, moved, zeroed,
// longer and shorter than the base.
func TestReflink(t *testing.T) {
	dir := xfs(t, 512<<20)
	content := noise(1, 4<<20)
	base, err := os.Create(filepath.Join(dir, "base"))
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	if _, err := base.Write(content); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		change func(*extent.Image)
		method extent.Method
	}{
		"patched":           {func(m *extent.Image) { m.Overlay(5_001, []byte("patch")) }, extent.Reflink},
		"zeroed":            {func(m *extent.Image) { m.Zero(10_001, 200_000) }, extent.Reflink},
		"overlaid by zeros": {func(m *extent.Image) { m.Overlay(1_000_001, make([]byte, 300_000)) }, extent.Reflink},
		"shorter":           {func(m *extent.Image) { m.Truncate(4<<20 - 12_345) }, extent.Reflink},
		"longer":            {func(m *extent.Image) { m.Overlay(4<<20+99, noise(2, 5_000)) }, extent.Reflink},
		"moved":             {func(m *extent.Image) { m.OverlayFrom(2<<20+2048, base, 4096, 1<<20) }, extent.Reflink},
		"mostly not":        {func(m *extent.Image) { m.OverlayFrom(0, base, 2048, 3<<20) }, extent.CopyFileRange},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := extent.New(base, int64(len(content)))
			test.change(m)
			path := filepath.Join(dir, "out")
			method, err := m.WriteFile(t.Context(), path, extent.WriteOptions{Overwrite: true})
			if err != nil || method != test.method {
				t.Fatalf("%s, %v", method, err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]byte, m.Size())
			if _, err := m.ReadAt(want, 0); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d other bytes, error %v", len(got), err)
			}
		})
	}
	t.Run("of a base that has shrunk", func(t *testing.T) {
		m := extent.New(base, int64(len(content))+4096)
		if _, err := m.WriteFile(t.Context(), filepath.Join(dir, "none"), extent.WriteOptions{}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
	})
	onlyFiles(t, dir, "base", "out")
}

// TestPlainFilesystem writes where files are never without a name, and have
// one only.
func TestPlainFilesystem(t *testing.T) {
	dir := disk(t, 16<<20, "vfat", "mkfs.vfat")
	content := noise(1, 3<<20)
	m := extent.New(file(t, content), int64(len(content)))
	path := filepath.Join(dir, "out")
	for _, o := range []extent.WriteOptions{{}, {Overwrite: true, Sync: true}} {
		if _, err := m.WriteFile(t.Context(), path, o); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	if _, err := m.WriteFile(t.Context(), path, extent.WriteOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a third time: %v", err)
	}
	m.OverlayFrom(m.Size(), file(t, noise(2, 20<<20)), 0, 20<<20)
	if _, err := m.WriteFile(t.Context(), path, extent.WriteOptions{Overwrite: true}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("too much: %v", err)
	}
	onlyFiles(t, dir, "out")
}

// TestReplacedBase serves a base whose name another file has taken since.
func TestReplacedBase(t *testing.T) {
	content := noise(1, 100_000)
	base := file(t, content)
	if err := os.Remove(base.Name()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base.Name(), noise(2, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := extent.New(base, 100_000).WriteRange(&got, 0, 100_000); err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("other bytes: %v", err)
	}
}

// TestNoFileStaysOpen counts descriptors around everything that opens files.
func TestNoFileStaysOpen(t *testing.T) {
	m, want := patched(t, 1<<20)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		extent.Serve(w, r, m, extent.Meta{})
	}))
	server.Config.SetKeepAlivesEnabled(false)
	server.Start()
	defer server.Close()
	use := func() {
		request(t, server.URL, "GET", nil)
		request(t, server.URL, "GET", map[string]string{"Range": "bytes=5-9,100000-300000"})
		path := filepath.Join(t.TempDir(), "out")
		for range 2 {
			if _, err := m.WriteFile(t.Context(), path, extent.WriteOptions{Overwrite: true}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.WriteFile(t.Context(), path, extent.WriteOptions{}); !errors.Is(err, fs.ErrExist) {
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
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && strings.HasPrefix(path, folder) {
			open = append(open, path)
		}
	}
	return open
}

// mount mounts a filesystem for the length of a test, where that is allowed.
func mount(tb testing.TB, kind, device, options string) string {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("mounting a filesystem needs root")
	}
	dir := tb.TempDir()
	if out, err := exec.Command("mount", "-t", kind, "-o", options, device, dir).CombinedOutput(); err != nil {
		tb.Skipf("%s cannot be mounted here: %s", kind, out)
	}
	tb.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			tb.Errorf("umount: %s", out)
		}
	})
	return dir
}

// xfs mounts an empty filesystem that can share blocks between files.
func xfs(tb testing.TB, size int64) string {
	tb.Helper()
	return disk(tb, size, "xfs", "mkfs.xfs", "-q", "-m", "reflink=1")
}

// disk mounts an empty filesystem in a file, made by a command where there is it.
func disk(tb testing.TB, size int64, kind string, mkfs ...string) string {
	tb.Helper()
	if _, err := exec.LookPath(mkfs[0]); err != nil {
		tb.Skipf("there is no %s to make a filesystem with", mkfs[0])
	}
	disk := filepath.Join(tb.TempDir(), "disk")
	if err := os.WriteFile(disk, nil, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Truncate(disk, size); err != nil {
		tb.Fatal(err)
	}
	if out, err := exec.Command(mkfs[0], append(mkfs[1:], disk)...).CombinedOutput(); err != nil {
		tb.Skipf("%s: %s", mkfs[0], out)
	}
	return mount(tb, kind, disk, "loop")
}
