package guard

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestTempFile(t *testing.T) {
	own := t.TempDir()
	outside := must.Get(os.MkdirTemp("", "other"))(t) //nolint:usetesting // it must not be a folder of t
	t.Cleanup(func() { os.RemoveAll(outside) })
	must.Do(t, os.Symlink(outside, filepath.Join(own, "leads-out")))
	must.Do(t, os.Symlink(filepath.Join(outside, "none"), filepath.Join(own, "leads-to-nothing")))
	must.Do(t, os.WriteFile(filepath.Join(own, "file"), nil, 0o600))
	for path, allowed := range map[string]bool{
		filepath.Join(own, "file"):                  true,
		filepath.Join(own, "new"):                   true,
		filepath.Join(own, "new/folder/file"):       true,
		filepath.Join(own, "leads-out/file"):        false,
		filepath.Join(own, "leads-out/new/file"):    false,
		filepath.Join(own, "leads-to-nothing"):      false,
		filepath.Join(own, "file/below"):            false,
		filepath.Join(own, "..", "..", "file"):      false,
		filepath.Join(outside, "file"):              false,
		filepath.Join(os.TempDir(), "TestFile"):     false,
		filepath.Join(os.TempDir(), "x/Test1/file"): false,
		"/etc/passwd": false,
		"/":           false,
		"":            false,
	} {
		if err := TempFile(path); (err == nil) != allowed {
			t.Errorf("%q: got %v, want allowed %t", path, err, allowed)
		}
		if err := File(path); (err == nil) != allowed {
			t.Errorf("File(%q): got %v, want allowed %t", path, err, allowed)
		}
	}
}
