package hostfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/host/guard"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestWrite(t *testing.T) {
	f := Files{Root: t.TempDir()}
	must.Do(t, f.Write("/root/.docker/config.json", []byte("first and longer"), 0o644))
	must.Do(t, f.Write("/root/.docker/config.json", []byte("second"), 0o600))
	if got := must.Get(f.Read("/root/.docker/config.json"))(t); string(got) != "second" {
		t.Errorf("got %q", got)
	}
	if info := must.Get(os.Stat(f.Path("/root/.docker/config.json")))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("it has %v", info.Mode())
	}
	if left := must.Get(filepath.Glob(f.Path("/root/.docker/*")))(t); len(left) != 1 {
		t.Errorf("the folder has %q", left)
	}
	if !f.Exists("/root/.docker") || f.Exists("/root/none") {
		t.Error("Exists is wrong")
	}
	must.Do(t, f.Remove("/root/.docker/config.json"))
	must.Do(t, f.Remove("/root/.docker/config.json"))
	log := must.Get(f.Append("/root/log", 0o600))(t)
	_ = must.Get(log.WriteString("a"))(t)
	must.Do(t, log.Close())
	must.Do(t, f.MakeFolder("/opt/install-dir", 0o700))
}

func TestRefused(t *testing.T) {
	f := Files{Root: t.TempDir()}
	must.Do(t, f.MakeFolder("/folder", 0o755))
	must.Do(t, os.Symlink("/dev/null", f.Path("/device")))
	must.Do(t, f.Write("/file", nil, 0o600))
	none := Files{}
	for what, test := range map[string]struct {
		err  error
		says string
	}{
		"a folder":                 {f.Write("/folder", nil, 0o600), "not a regular file"},
		"a link to a device":       {f.Write("/device", nil, 0o600), guard.ErrTest.Error()},
		"below a file":             {f.Write("/file/below", nil, 0o600), "not a directory"},
		"a file of this machine":   {none.Write("/etc/passwd", nil, 0o600), guard.ErrTest.Error()},
		"to remove one":            {none.Remove("/etc/passwd"), guard.ErrTest.Error()},
		"a folder of this machine": {none.MakeFolder("/etc/new", 0o700), guard.ErrTest.Error()},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.says) {
			t.Errorf("%s: got %v", what, test.err)
		}
	}
	if _, err := none.Append("/var/log/new", 0o600); !errors.Is(err, guard.ErrTest) {
		t.Errorf("got %v", err)
	}
	if _, err := f.Append("/folder", 0o600); err == nil {
		t.Error("a folder was opened")
	}
}

// TestPathsStayBelowRoot: a path from outside cannot lead to a file above Root.
func TestPathsStayBelowRoot(t *testing.T) {
	f := Files{Root: "/mnt/boot"}
	for path, want := range map[string]string{
		"/a":                "/mnt/boot/a",
		"a":                 "/mnt/boot/a",
		"/../../etc/passwd": "/mnt/boot/etc/passwd",
		"../etc/passwd":     "/mnt/boot/etc/passwd",
		"/a/../..":          "/mnt/boot",
		"":                  "/mnt/boot",
	} {
		if got := f.Path(path); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
	if got := (Files{}).Path("../a"); got != "/a" {
		t.Errorf("got %s", got)
	}
}

// TestCreateTakesRightsAway: what another program left there with the same name may be open to all.
func TestCreateTakesRightsAway(t *testing.T) {
	f := Files{Root: t.TempDir()}
	must.Do(t, f.Write("/log", nil, 0o666))
	file := must.Get(f.Create("/log", 0o600))(t)
	defer file.Close()
	if mode := must.Get(file.Stat())(t).Mode().Perm(); mode != 0o600 {
		t.Errorf("it has the mode %o", mode)
	}
}
