package overlay_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// checkFile writes a pair's image to a file and reads that.
func checkFile(t *testing.T, p *pair) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	must.Get(p.image.WriteFile(t.Context(), path, overlay.WriteOptions{}))(t)
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, p.want) {
		t.Fatalf("the file of %v holds other bytes: %v", p.image.Extents(), err)
	}
}

func checkDigest(t *testing.T, p *pair) {
	t.Helper()
	got, err := p.image.Digest(t.Context())
	if err != nil || got != sha256.Sum256(p.want) {
		t.Fatalf("digest %x, %v", got, err)
	}
}

func TestWriteFile(t *testing.T) {
	content := noise(1, 300_000)
	base := file(t, content)
	m := overlay.New(base, int64(len(content)))
	m.Overlay(100, []byte("patch"))

	dir := t.TempDir()
	path := filepath.Join(dir, "out.iso")
	var done, total int64
	must.Get(m.WriteFile(t.Context(), path, overlay.WriteOptions{Sync: true, Progress: func(d, t int64) { done, total = d, t }}))(t)
	if done != m.Size() || total != m.Size() {
		t.Errorf("progress ends at %d of %d", done, total)
	}
	info := must.Get(os.Stat(path))(t)
	if runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("mode %s", info.Mode())
	}
	if _, err := m.WriteFile(t.Context(), path, overlay.WriteOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	m.Overlay(100, []byte("again"))
	check.Do(t, check.Err(m.WriteFile(t.Context(), path, overlay.WriteOptions{Overwrite: true, Mode: 0o640})))
	if got, err := os.ReadFile(path); err != nil || string(got[100:105]) != "again" {
		t.Errorf("overwritten: %q, %v", got[100:105], err)
	}
	if now, err := os.ReadFile(base.Name()); err != nil || !bytes.Equal(now, content) {
		t.Errorf("the base has changed: %v", err)
	}
	onlyFiles(t, dir, "out.iso")
}

func TestRefusedTargets(t *testing.T) {
	content := noise(1, 100_000)
	base := file(t, content)
	other := file(t, content)
	dir := t.TempDir()
	link := func(make func(string, string) error, to, name string) string {
		path := filepath.Join(dir, name)
		if err := make(to, path); err != nil {
			t.Skipf("this file system makes no such links: %v", err)
		}
		return path
	}
	tests := map[string]struct {
		path string
		want error
	}{
		"the base":                   {base.Name(), overlay.ErrSameFile},
		"the base by another way":    {filepath.Join(filepath.Dir(base.Name()), ".", "..", filepath.Base(filepath.Dir(base.Name())), filepath.Base(base.Name())), overlay.ErrSameFile},
		"a symbolic link to it":      {link(os.Symlink, base.Name(), "symbolic"), overlay.ErrSameFile},
		"a hard link to it":          {link(os.Link, base.Name(), "hard"), overlay.ErrSameFile},
		"a further source":           {other.Name(), overlay.ErrSameFile},
		"a symbolic link to nothing": {link(os.Symlink, filepath.Join(dir, "nothing"), "dangling"), fs.ErrNotExist},
		"a folder":                   {dir, nil},
		"a folder that is not there": {filepath.Join(dir, "no", "out"), fs.ErrNotExist},
	}
	m := overlay.New(base, 90_000)
	m.OverlayFrom(90_000, other, 0, 10_000)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := m.WriteFile(t.Context(), test.path, overlay.WriteOptions{Overwrite: true})
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	if now, err := os.ReadFile(base.Name()); err != nil || !bytes.Equal(now, content) {
		t.Errorf("the base has changed: %v", err)
	}
	onlyFiles(t, dir, "symbolic", "hard", "dangling")
}

func TestSymbolicLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	real, path := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	must.Do(t, os.WriteFile(real, []byte("before"), 0o600))
	if err := os.Symlink("real", path); err != nil {
		t.Skipf("this file system makes no such links: %v", err)
	}
	must.Get(overlay.Bytes([]byte("after")).WriteFile(t.Context(), path, overlay.WriteOptions{Overwrite: true}))(t)
	check.Equal(t, string(must.Get(os.ReadFile(real))(t)), "after")
	onlyFiles(t, dir, "real", "link")
}

func TestCancelledWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	must.Do(t, os.WriteFile(path, []byte("before"), 0o600))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	m := overlay.New(bytes.NewReader(noise(1, 5<<20)), 5<<20)
	_, err := m.WriteFile(ctx, path, overlay.WriteOptions{Overwrite: true, Progress: func(int64, int64) { cancel(why) }})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	check.Equal(t, string(must.Get(os.ReadFile(path))(t)), "before", "the file that was there holds")
	onlyFiles(t, dir, "out")
}

// onlyFiles wants a folder to hold the given names and nothing else.
func onlyFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	want := map[string]bool{}
	for _, name := range names {
		want[name] = true
	}
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		if !want[e.Name()] {
			t.Errorf("%s is left", e.Name())
		}
		delete(want, e.Name())
	}
	for name := range want {
		t.Errorf("%s is gone", name)
	}
}
