//go:build e2e

package ignition_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/ignition"
)

// Debian's ignition-validate agrees on the specifications that it knows.
func TestAgreesWithIgnitionValidate(t *testing.T) {
	tool, err := exec.LookPath("ignition-validate")
	if err != nil {
		t.Skip("ignition-validate is not installed")
	}
	for i, config := range []string{
		withFile(`"mode":420`),
		withFile(`"mode":5000`),
		withFile(`"contents":{"source":"ftp://x"}`),
		`{"ignition":{"version":"3.2.0"},"systemd":{"units":[{"name":"a.thing"}]}}`,
		`{"ignition":{"version":"3.2.0"},"systemd":{"units":[{"name":"a.service","contents":"[Unit"}]}}`,
		`{"ignition":{"version":"3.2.0"},"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 AAAA"]}]}}`,
		`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/a"},{"path":"/a"}]}}`,
	} {
		file := filepath.Join(t.TempDir(), "config.ign")
		must.Do(t, os.WriteFile(file, []byte(config), 0o600))
		theirs := exec.Command(tool, file).Run()
		_, ours := ignition.Validate(file, []byte(config))
		if (theirs == nil) != (ours == nil) {
			t.Errorf("config %d: ignition-validate says %v, we say %v", i, theirs, ours)
		}
	}
}
