package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBaseThatIsNone ends a run whose machines have nothing to boot: before anything
// is registered where the base lies here, else as soon as it is known.
func TestBaseThatIsNone(t *testing.T) {
	file, err := filepath.Abs("../../examples/redfish/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("notiso.iso", []byte(strings.Repeat("no image", 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := makeFixture("s390x-2023-07", filepath.Join(dir, "mainframe.iso")); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(".")))
	defer server.Close()
	for _, c := range []struct{ base, says string }{
		{"notiso.iso", "notiso.iso"},
		{"none.iso", "none.iso"},
		{"mainframe.iso", "mainframe.iso: it is for s390x, and the machines are x86_64"},
		{server.URL + "/notiso.iso", server.URL + "/notiso.iso"},
	} {
		got := runLive(t, "", "", false, "create", "cluster", "-f", file, "--simulate", "--base", c.base)
		if got.code != 3 || !strings.Contains(got.errors, "boot machines with "+c.says) || strings.Contains(got.errors, "look at the BMC") {
			t.Errorf("--base %s ends with %d:\n%s", c.base, got.code, got.errors)
		}
		if _, err := os.Stat("redfish"); err == nil && !isURL(c.base) {
			t.Errorf("--base %s leaves a folder behind", c.base)
		}
	}
}
