//go:build e2e

package overlay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

func TestFullDisk(t *testing.T) {
	dir := mount(t, "tmpfs", "tmpfs", "size=2m")
	content := noise(1, 8<<20)
	for name, base := range map[string]io.ReaderAt{"file": file(t, content), "memory": bytes.NewReader(content)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "out.iso")
			must.Do(t, os.WriteFile(path, []byte("before"), 0o600))
			m := overlay.New(base, int64(len(content)))
			if _, err := m.WriteFile(t.Context(), path, overlay.WriteOptions{Overwrite: true}); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("got %v", err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != "before" {
				t.Errorf("the file that was there holds %d bytes, %v", len(got), err)
			}
			onlyFiles(t, dir, "out.iso")
			var disk unix.Statfs_t
			must.Do(t, unix.Statfs(dir, &disk))
			if used := (disk.Blocks - disk.Bfree) * uint64(disk.Bsize); used > 64<<10 {
				t.Errorf("%d bytes of the disk are in use", used)
			}
		})
	}
}

func TestReadOnlyTarget(t *testing.T) {
	dir := mount(t, "tmpfs", "tmpfs", "size=2m,ro")
	_, err := overlay.Bytes([]byte("content")).WriteFile(t.Context(), filepath.Join(dir, "out"), overlay.WriteOptions{})
	if !errors.Is(err, syscall.EROFS) {
		t.Errorf("got %v", err)
	}
}

// TestOtherFilesystem copies from one filesystem to another.
func TestOtherFilesystem(t *testing.T) {
	dir := mount(t, "tmpfs", "tmpfs", "size=8m")
	content := noise(1, 3<<20)
	m := overlay.New(file(t, content), int64(len(content)))
	path := filepath.Join(dir, "out")
	must.Get(m.WriteFile(t.Context(), path, overlay.WriteOptions{}))(t)
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestReflink writes where blocks can be shared: in place, moved, zeroed,
// longer and shorter than the base.
func TestReflink(t *testing.T) {
	dir := xfs(t, 512<<20)
	content := noise(1, 4<<20)
	base := must.Get(os.Create(filepath.Join(dir, "base")))(t)
	defer base.Close()
	must.Get(base.Write(content))(t)
	tests := map[string]struct {
		change func(*overlay.Image)
		method overlay.Method
	}{
		"patched":           {func(m *overlay.Image) { m.Overlay(5_001, []byte("patch")) }, overlay.Reflink},
		"zeroed":            {func(m *overlay.Image) { m.Zero(10_001, 200_000) }, overlay.Reflink},
		"overlaid by zeros": {func(m *overlay.Image) { m.Overlay(1_000_001, make([]byte, 300_000)) }, overlay.Reflink},
		"shorter":           {func(m *overlay.Image) { m.Truncate(4<<20 - 12_345) }, overlay.Reflink},
		"longer":            {func(m *overlay.Image) { m.Overlay(4<<20+99, noise(2, 5_000)) }, overlay.Reflink},
		"moved":             {func(m *overlay.Image) { m.OverlayFrom(2<<20+2048, base, 4096, 1<<20) }, overlay.Reflink},
		"mostly not":        {func(m *overlay.Image) { m.OverlayFrom(0, base, 2048, 3<<20) }, overlay.CopyFileRange},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := overlay.New(base, int64(len(content)))
			test.change(m)
			path := filepath.Join(dir, "out")
			method, err := m.WriteFile(t.Context(), path, overlay.WriteOptions{Overwrite: true})
			if err != nil || method != test.method {
				t.Fatalf("%s, %v", method, err)
			}
			got := must.Get(os.ReadFile(path))(t)
			want := make([]byte, m.Size())
			if _, err := m.ReadAt(want, 0); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d other bytes, error %v", len(got), err)
			}
		})
	}
	t.Run("of a base that has shrunk", func(t *testing.T) {
		m := overlay.New(base, int64(len(content))+4096)
		if _, err := m.WriteFile(t.Context(), filepath.Join(dir, "none"), overlay.WriteOptions{}); !errors.Is(err, io.ErrUnexpectedEOF) {
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
	m := overlay.New(file(t, content), int64(len(content)))
	path := filepath.Join(dir, "out")
	for _, o := range []overlay.WriteOptions{{}, {Overwrite: true, Sync: true}} {
		must.Get(m.WriteFile(t.Context(), path, o))(t)
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	if _, err := m.WriteFile(t.Context(), path, overlay.WriteOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a third time: %v", err)
	}
	m.OverlayFrom(m.Size(), file(t, noise(2, 20<<20)), 0, 20<<20)
	if _, err := m.WriteFile(t.Context(), path, overlay.WriteOptions{Overwrite: true}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("too much: %v", err)
	}
	onlyFiles(t, dir, "out")
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
	must.Do(tb, os.WriteFile(disk, nil, 0o600))
	must.Do(tb, os.Truncate(disk, size))
	if out, err := exec.Command(mkfs[0], append(mkfs[1:], disk)...).CombinedOutput(); err != nil {
		tb.Skipf("%s: %s", mkfs[0], out)
	}
	return mount(tb, kind, disk, "loop")
}

// BenchmarkReflink writes images of 1 GiB where they share the base's blocks:
// one, and fifty.
func BenchmarkReflink(b *testing.B) {
	const (
		oneBound  = 5 * time.Millisecond
		allBound  = 50 * time.Millisecond
		diskBound = 25e6
		machines  = 50
	)
	dir := xfs(b, 4*gibibyte)
	base := bigBase(b, dir)
	var one, all, synced []time.Duration
	var disk float64
	for b.Loop() {
		images := make([]*overlay.Image, machines)
		for i := range images {
			images[i] = machine(base, i)
		}
		before := used(b, dir)
		start := time.Now()
		for i, m := range images {
			name := filepath.Join(dir, fmt.Sprint("out", i))
			method, err := m.WriteFile(b.Context(), name, overlay.WriteOptions{})
			if err != nil || method != overlay.Reflink {
				b.Fatal(method, err)
			}
			if i == 0 {
				one = append(one, time.Since(start))
			}
		}
		all = append(all, time.Since(start))
		unix.Sync()
		synced = append(synced, time.Since(start))
		disk = max(disk, used(b, dir)-before)
		for i := range images {
			must.Do(b, os.Remove(filepath.Join(dir, fmt.Sprint("out", i))))
		}
	}
	b.ReportMetric(milliseconds(median(one)), "ms/one")
	b.ReportMetric(milliseconds(median(all)), "ms/50")
	b.ReportMetric(milliseconds(median(synced)), "ms/50-synced")
	b.ReportMetric(disk/1e6, "MB-disk/50")
	if median(one) > oneBound || median(all) > allBound || disk > diskBound {
		b.Errorf("one takes %s, %d take %s and %.1f MB; the bounds are %s, %s and %.0f MB",
			median(one), machines, median(all), disk/1e6, oneBound, allBound, diskBound/1e6)
	}
}
