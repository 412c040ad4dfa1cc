//go:build e2e

package nmstate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestNetworkManagerReadsThem has NetworkManager's own code read every profile,
// and compares what it understood with what was written.
func TestNetworkManagerReadsThem(t *testing.T) {
	nmcli, err := exec.LookPath("nmcli")
	if err != nil {
		t.Skip("nmcli of NetworkManager 1.40 or later is not installed")
	}
	documents := must.Get(filepath.Glob("testdata/*.yaml"))(t)
	for _, path := range documents {
		data := must.Get(os.ReadFile(path))(t)
		for _, file := range keyfiles(t, path, data, macs()) {
			t.Run(filepath.Base(path)+"/"+file.Name, func(t *testing.T) {
				command := exec.CommandContext(t.Context(), nmcli, "--offline", "connection", "modify", "connection.stable-id", "read")
				command.Stdin = strings.NewReader(string(file.Content))
				out, err := command.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s\n%s", err, out, file.Content)
				}
				checkUnderstood(t, string(file.Content), string(out))
			})
		}
	}
}

// checkUnderstood wants every key of a profile in the one that NetworkManager
// wrote. The priority of a bond's port came with release 1.44.
func checkUnderstood(t *testing.T, written, read string) {
	t.Helper()
	understood := map[string]bool{}
	for _, line := range strings.Split(read, "\n") {
		understood[line] = true
	}
	for _, line := range strings.Split(written, "\n") {
		if !understood[line] && line != "[bond-port]" && !strings.HasPrefix(line, "prio=") {
			t.Errorf("not in what NetworkManager read: %q\n%s", line, read)
		}
	}
}
