package nmstate_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

var update = flag.Bool("update", false, "write the golden files")

// macs are those of the physical interfaces of the documents in testdata.
func macs() map[string]string {
	return map[string]string{
		"eno1": "52:54:00:00:00:01", "eno2": "52:54:00:00:00:02", "eno3": "52:54:00:00:00:03", "eno4": "52:54:00:00:00:04", "eno5": "52:54:00:00:00:05",
		"spare": "52:54:00:00:00:0b", "stateful": "52:54:00:00:00:0c", "local": "52:54:00:00:00:0d", "unused": "52:54:00:00:00:ff",
	}
}

func keyfiles(t *testing.T, name string, data []byte, macs map[string]string) []nmstate.Keyfile {
	t.Helper()
	state := must.Get(nmstate.Parse(name, data))(t)
	return must.Get(state.Keyfiles(macs))(t)
}

func TestKeyfilesGolden(t *testing.T) {
	documents, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(documents) < 3 {
		t.Fatal(documents, err)
	}
	for _, path := range documents {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data := must.Get(os.ReadFile(path))(t)
			var got strings.Builder
			for _, file := range keyfiles(t, path, data, macs()) {
				fmt.Fprintf(&got, "### %s\n%s\n", file.Name, file.Content)
				check.Do(t, nmstate.CheckKeyfile(file.Name, file.Content))
			}
			golden := strings.TrimSuffix(path, ".yaml") + ".keyfiles"
			if *update {
				must.Do(t, os.WriteFile(golden, []byte(got.String()), 0o600))
			}
			want := must.Get(os.ReadFile(golden))(t)
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("run with -update if this is meant (-want +got):\n%s", diff)
			}
		})
	}
}
