//go:build linux

package inventory

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/must"
)

var update = flag.Bool("update", false, "write the goldens")

// TestGoldens: the assisted-installer-agent gives the same answers for these machines, interfaces and routes left aside. The
// exception is the one that has no programs: there it leaves out the processors and the TPM.
func TestGoldens(t *testing.T) {
	for name, build := range machines() {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := build(t).collector().Execute(t.Context(), nil)
			if code != 0 || stderr != "" {
				t.Fatalf("exit code %d, stderr %q", code, stderr)
			}
			var indented bytes.Buffer
			must.Do(t, json.Indent(&indented, []byte(stdout), "", "  "))
			indented.WriteByte('\n')
			golden := filepath.Join("testdata", name+".json")
			if *update {
				must.Do(t, os.WriteFile(golden, indented.Bytes(), 0o644))
			}
			if want := must.Get(os.ReadFile(golden))(t); !bytes.Equal(indented.Bytes(), want) {
				t.Errorf("got %s\nwant %s", indented.Bytes(), want)
			}
			var inventory models.Inventory
			must.Do(t, json.Unmarshal([]byte(stdout), &inventory))
			must.Do(t, inventory.Validate(nil), "the service would refuse it")
		})
	}
}
