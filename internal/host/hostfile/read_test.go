//go:build linux

package hostfile

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestReadEnds: a file system that was mounted may have anything in place of a file.
func TestReadEnds(t *testing.T) {
	f := Files{Root: t.TempDir()}
	must.Do(t, syscall.Mkfifo(f.Path("/fifo"), 0o600))
	must.Do(t, os.Symlink("/dev/zero", f.Path("/zero")))
	large := must.Get(os.Create(f.Path("/large")))(t)
	must.Do(t, errors.Join(large.Truncate(1<<40), large.Close()))
	must.Do(t, f.MakeFolder("/folder", 0o700))
	for path, says := range map[string]string{
		"/fifo": "not a regular file", "/zero": "not a regular file", "/folder": "not a regular file", "/large": "at most",
	} {
		if _, err := f.Read(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
