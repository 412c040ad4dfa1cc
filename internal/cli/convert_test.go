package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestConvertKeepsForeignWordsPrivate converts an install-config with and without
// what cluster.yaml has in the install-config's own words only.
func TestConvertKeepsForeignWordsPrivate(t *testing.T) {
	for text, want := range map[string]os.FileMode{"": 0o644, "cpuPartitioningMode: AllNodes\n": 0o600} {
		here(t)
		must.Do(t, os.WriteFile("install-config.yaml", []byte(installConfig+text), 0o600))
		got := run(t, lab(), "", "convert", "-f", "install-config.yaml", "--openshift-version", "4.20", "-o", "made")
		if got.code != 0 {
			t.Fatalf("code %d: %s", got.code, got.errors)
		}
		for file, want := range map[string]os.FileMode{"made/cluster.yaml": want, "made/pull-secret.json": 0o600} {
			info, err := os.Stat(file)
			if err != nil || info.Mode().Perm() != want {
				t.Errorf("%q: %s has %v, want %v (%v)", text, file, info.Mode(), want, err)
			}
		}
	}
}

// TestConvertSaysHowToNameMachines refuses objects that name none of five machines,
// with a command that gets on; what is not cured by it does not lead there.
func TestConvertSaysHowToNameMachines(t *testing.T) {
	file := must.Get(filepath.Abs("../../pkg/install/convert/testdata/read/capi-full/in/capi.yaml"))(t)
	here(t)
	got := run(t, lab(), "", "convert", "-f", file)
	if got.code != int(model.CodeInput) || !strings.Contains(got.errors, "names 0 hosts") ||
		!strings.Contains(got.errors, "\nNext: oaictl convert -f "+file+" --accept-unknown-hosts -o DIR") {
		t.Errorf("%d: %s", got.code, got.errors)
	}
	if got := run(t, lab(), "", "convert", "-f", file, "--accept-unknown-hosts", "-o", "made"); got.code != 0 {
		t.Errorf("what is to be typed ends with %d: %s", got.code, got.errors)
	}
	must.Do(t, os.WriteFile("install-config.yaml", []byte(installConfig), 0o600))
	if got := run(t, lab(), "", "convert", "-f", "install-config.yaml"); got.code != int(model.CodeInput) || strings.Contains(got.errors, "-o DIR") {
		t.Errorf("without a version: %d: %s", got.code, got.errors)
	}
}
