package hostfile

import (
	"os"
	"testing"

	"github.com/oaictl/oaictl/internal/host/guard"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestOverwrite(t *testing.T) {
	f := Files{Root: t.TempDir()}
	check.Says(t, f.Overwrite("/etc/resolv.conf", nil), "no such file")
	must.Do(t, f.Write("/etc/resolv.conf", []byte("first and longer"), 0o644))
	before := must.Get(os.Stat(f.Path("/etc/resolv.conf")))(t)
	must.Do(t, f.Overwrite("/etc/resolv.conf", []byte("second")))
	check.Equal(t, string(must.Get(f.Read("/etc/resolv.conf"))(t)), "second")
	check.Equal(t, os.SameFile(before, must.Get(os.Stat(f.Path("/etc/resolv.conf")))(t)), true)
	check.Says(t, f.Overwrite("/etc", nil), "no such regular file")
	check.Says(t, Files{}.Overwrite("/etc/resolv.conf", nil), guard.ErrTest.Error())
}

func TestList(t *testing.T) {
	f := Files{Root: t.TempDir()}
	must.Do(t, f.Write("/a/file", nil, 0o600))
	must.Do(t, f.MakeFolder("/a/folder", 0o755))
	must.Do(t, os.Symlink("file", f.Path("/a/link")))
	check.Slice(t, must.Get(f.List("/a"))(t), []string{"file"})
	if _, err := f.List("/none"); err == nil {
		t.Error("no folder is listed")
	}
}
