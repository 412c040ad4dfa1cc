package cli

import (
	"os"
	"testing"
)

// TestConvertKeepsForeignWordsPrivate converts an install-config with and without
// what cluster.yaml has in the install-config's own words only.
func TestConvertKeepsForeignWordsPrivate(t *testing.T) {
	for text, want := range map[string]os.FileMode{"": 0o644, "cpuPartitioningMode: AllNodes\n": 0o600} {
		here(t)
		if err := os.WriteFile("install-config.yaml", []byte(installConfig+text), 0o600); err != nil {
			t.Fatal(err)
		}
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
