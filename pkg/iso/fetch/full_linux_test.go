package fetch_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// TestFullDisk fetches into a file system of one mebibyte.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system can't be mounted: %v", err)
	}
	t.Cleanup(func() {
		check.Do(t, syscall.Unmount(dir, 0))
	})
	o := &origin{content: random(3 << 20), etag: `"a"`}
	c := fetch.New(fetch.Config{Dir: dir})
	_, err := c.Get(t.Context(), fetch.Source{Location: o.start(t)}, nil)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), dir) || o.requests != 1 {
		t.Errorf("error %v after %d requests", err, o.requests)
	}
	if kinds := strings.Join(names(t, dir), " "); strings.Contains(kinds, "iso") {
		t.Errorf("the cache holds %s", kinds)
	}
	small := &origin{content: random(1000)}
	if _, err := c.Get(t.Context(), fetch.Source{Location: small.start(t)}, nil); err == nil {
		t.Error("something fits a full disk")
	}
}
