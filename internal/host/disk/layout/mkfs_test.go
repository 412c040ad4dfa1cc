//go:build e2e && linux

package layout_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/internal/host/disk/layout"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestProbeRealFileSystems reads what the programs write that make file systems.
func TestProbeRealFileSystems(t *testing.T) {
	for want, command := range map[layout.FileSystem][]string{
		{Type: "ext4", Label: "boot"}:       {"mkfs.ext4", "-q", "-L", "boot"},
		{Type: "vfat", Label: "EFI-SYSTEM"}: {"mkfs.vfat", "-n", "EFI-SYSTEM"},
		{Type: "xfs", Label: "root"}:        {"mkfs.xfs", "-q", "-L", "root"},
	} {
		t.Run(command[0], func(t *testing.T) {
			program, err := exec.LookPath(command[0])
			if err != nil {
				t.Skip(err)
			}
			path := filepath.Join(t.TempDir(), "fs")
			must.Do(t, os.WriteFile(path, nil, 0o600))
			must.Do(t, os.Truncate(path, 400<<20))
			if said, err := exec.Command(program, append(command[1:], path)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			file := must.Get(os.Open(path))(t)
			defer file.Close()
			if got := must.Get(layout.Probe(file))(t); got != want {
				t.Errorf("got %+v", got)
			}
		})
	}
}
