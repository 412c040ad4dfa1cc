package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// packageDir is where the tests begin; some leave it.
var packageDir, _ = os.Getwd()

// fixtures are the live images that were made, by layout.
var fixtures sync.Map

// makeFixture writes the live image of a layout. A program makes it: Go keeps the
// package that does it to pkg/iso.
func makeFixture(layout, path string) error {
	if data, made := fixtures.Load(layout); made {
		return os.WriteFile(path, data.([]byte), 0o600)
	}
	maker := exec.Command("go", "run", "github.com/oaictl/oaictl/pkg/iso/internal/isotest/isofixture", layout, path)
	maker.Dir, maker.Env = packageDir, append(os.Environ(), "CGO_ENABLED=0") // as the other programs: compiled once
	if text, err := maker.CombinedOutput(); err != nil {
		return fmt.Errorf("make the fixture %s: %w: %s", layout, err, text)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fixtures.Store(layout, data)
	return nil
}

const exampleConfig = `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/example","mode":420,"contents":{"source":"data:,example"}}]}}`

const exampleNetwork = `interfaces:
  - name: eno1
    type: ethernet
    state: up
    ipv4:
      enabled: true
      address: [{ip: 192.0.2.10, prefix-length: 24}]
`

// exampleImages puts the files of the examples of `oaictl iso` into the current
// folder.
func exampleImages(t *testing.T) {
	t.Helper()
	for name, text := range map[string]string{
		"base.ign": exampleConfig, "cp-1.ign": exampleConfig, "cp-2.ign": exampleConfig, "cp-3.yaml": exampleNetwork,
	} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	live := must.Get(filepath.Abs("rhcos-live.iso"))(t)
	must.Do(t, makeFixture("x86_64-2023-07", live))
	for _, line := range []string{
		"oaictl iso customize rhcos-live.iso -o cp-0.iso --ignition base.ign --nmstate cp-3.yaml --mac eno1=52:54:00:00:00:01",
	} {
		var problems bytes.Buffer
		a := app.New(app.Identify(strings.Fields(line)), streams.Streams{Out: &bytes.Buffer{}, Err: &problems}, streams.Env{})
		if code := execute(t.Context(), a); code != 0 {
			t.Fatalf("%s ends with %d:\n%s", line, code, problems.String())
		}
	}
}
