package hostfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestScratch(t *testing.T) {
	s := must.Get(hostfile.NewScratch(t.TempDir(), "scratch-"))(t)
	must.Do(t, s.Write("a", []byte("one, longer")))
	must.Do(t, s.Write("a", []byte("one")))
	if content := must.Get(fs.ReadFile(s.FS(), "a"))(t); string(content) != "one" {
		t.Errorf("a has %q", content)
	}
	if mode := must.Get(os.Stat(s.Path("a")))(t).Mode().Perm(); mode != 0o600 {
		t.Errorf("a has the mode %o", mode)
	}
	if mode := must.Get(os.Stat(filepath.Dir(s.Path("a"))))(t).Mode().Perm(); mode != 0o700 {
		t.Errorf("the folder has the mode %o", mode)
	}
	for _, name := range []string{"../a", "/etc/passwd", "link/passwd"} {
		if name == "link/passwd" {
			must.Do(t, os.Symlink("/etc", s.Path("link")))
		}
		if err := s.Write(name, nil); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	must.Do(t, s.Remove())
	if _, err := os.Stat(s.Path("a")); !os.IsNotExist(err) {
		t.Errorf("after Remove: %v", err)
	}
}

// TestScratchIsTemporary: a test gets no folder outside of its own.
func TestScratchIsTemporary(t *testing.T) {
	for _, parent := range []string{"/", "/etc", os.TempDir(), ""} {
		if s, err := hostfile.NewScratch(parent, "scratch-"); err == nil {
			t.Errorf("a folder was made in %q", parent)
			_ = s.Remove()
		}
	}
}
