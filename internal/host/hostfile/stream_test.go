package hostfile

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestSaveIsWholeOrAbsent(t *testing.T) {
	files := Files{Root: t.TempDir()}
	must.Do(t, files.Save("/boot/vmlinuz", strings.NewReader("kernel"), 0o644))
	broken := io.MultiReader(strings.NewReader("part"), iotest.ErrReader(io.ErrUnexpectedEOF))
	check.Says(t, files.Save("/boot/vmlinuz", broken, 0o644), "unexpected EOF")
	check.Equal(t, string(must.Get(files.Read("/boot/vmlinuz"))(t)), "kernel")
	check.Equal(t, len(must.Get(os.ReadDir(files.Path("/boot")))(t)), 1)
}

func TestCreate(t *testing.T) {
	files := Files{Root: t.TempDir()}
	for range 2 {
		file := must.Get(files.Create("/var/log/a", 0o600))(t)
		must.Get(file.WriteString("log"))(t)
		must.Do(t, file.Close())
	}
	check.Equal(t, string(must.Get(files.Read("/var/log/a"))(t)), "log")
	must.Do(t, os.Symlink("/etc/passwd", files.Path("/var/log/link")))
	check.Says(t, check.Err(files.Create("/var/log/link", 0o600)), "not in its t.TempDir()")
	check.Says(t, check.Err(Files{}.Create("/var/log/a", 0o600)), "may not change this machine")
}
