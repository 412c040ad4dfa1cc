//go:build e2e && linux

package blockdevice

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestLoop opens a loop device on a file of the test, where this process may make one.
func TestLoop(t *testing.T) {
	file := filepath.Join(t.TempDir(), "disk")
	must.Do(t, os.WriteFile(file, make([]byte, 1<<20), 0o600))
	out, err := exec.CommandContext(t.Context(), "losetup", "--find", "--show", file).Output()
	if err != nil {
		t.Skipf("no loop device: %v", err)
	}
	path := strings.TrimSpace(string(out))
	t.Cleanup(func() { must.Do(t, exec.Command("losetup", "--detach", path).Run()) })
	id := must.Get(Disks{}.Inspect(path))(t)
	device := must.Get(Disks{}.Open(id))(t)
	defer device.Close()
	if device.Identity().Size != 1<<20 || device.Identity().File {
		t.Errorf("it is %+v", device.Identity())
	}
	if _, err := (Disks{}).Open(id); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("it was opened twice: %v", err)
	}
}
