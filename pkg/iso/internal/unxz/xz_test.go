//go:build e2e

package unxz_test

import (
	"bytes"
	"os/exec"
	"runtime"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/unxz"
)

// The tool that makes the recipes of real images uses liblzma at its highest level.
func TestBytesReadsWhatXZWrites(t *testing.T) {
	tool, err := exec.LookPath("xz")
	if err != nil {
		t.Skip("xz is not installed")
	}
	content := sample(200_000)
	command := exec.Command(tool, "-9", "--stdout")
	command.Stdin = bytes.NewReader(content)
	packed := must.Get(command.Output())(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := unxz.Bytes(packed, 1<<20)
	runtime.ReadMemStats(&after)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("content differs, error %v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
		t.Errorf("allocated %d bytes for %d: the 64 MiB dictionary was believed", took, len(content))
	}
}
