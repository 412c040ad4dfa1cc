package liveimage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Nothing that is there is overwritten unasked, a disk least of all.
func TestPlaceOfAnImage(t *testing.T) {
	for name, c := range map[string]struct {
		mode   fs.FileMode
		force  bool
		reason string // "" for a place that it may go to
	}{
		"file":             {0o600, false, "there is such a file already"},
		"file, by force":   {0o600, true, ""},
		"disk":             {fs.ModeDevice | 0o660, false, "it is a disk, and all that is on it would be lost"},
		"disk, by force":   {fs.ModeDevice | 0o660, true, ""},
		"/dev/null":        {fs.ModeDevice | fs.ModeCharDevice | 0o666, false, ""},
		"pipe":             {fs.ModeNamedPipe | 0o600, false, ""},
		"folder":           {fs.ModeDir | 0o700, false, "it is a folder"},
		"folder, by force": {fs.ModeDir | 0o700, true, "it is a folder"},
	} {
		err := checkThere("/dev/sdb", c.mode, c.force)
		if (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v", name, err)
		}
		var fault *model.Fault
		if strings.HasPrefix(c.reason, "it is a disk") && (!errors.As(err, &fault) || fault.Code != model.CodeUsage || !strings.Contains(fault.Next.String(), "--force")) {
			t.Errorf("%s: %#v", name, err)
		}
	}
	link := filepath.Join(t.TempDir(), "link.iso")
	must.Do(t, os.Symlink("nowhere.iso", link))
	for _, force := range []bool{false, true} {
		if err := checkPath(link, force); err == nil || !strings.Contains(err.Error(), "it is a link to something that is not there") {
			t.Errorf("a link that leads nowhere, force %t: %v", force, err)
		}
	}
}
