package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestBaseThatIsNone ends a run whose machines have nothing to boot: before anything
// is registered where the base lies here, else as soon as it is known.
func TestBaseThatIsNone(t *testing.T) {
	file := must.Get(filepath.Abs("../../examples/redfish/cluster.yaml"))(t)
	dir := t.TempDir()
	t.Chdir(dir)
	must.Do(t, os.WriteFile("notiso.iso", []byte(strings.Repeat("no image", 10_000)), 0o600))
	must.Do(t, makeFixture("s390x-2023-07", filepath.Join(dir, "mainframe.iso")))
	server := httptest.NewServer(http.FileServer(http.Dir(".")))
	defer server.Close()
	for _, c := range []struct{ base, says string }{
		{"notiso.iso", "notiso.iso"},
		{"none.iso", "none.iso"},
		{"mainframe.iso", "mainframe.iso: it is for s390x, but the machines are x86_64"},
		{server.URL + "/notiso.iso", server.URL + "/notiso.iso"},
	} {
		got := runLive(t, "", "", false, "create", "cluster", "-f", file, "--simulate", "--base", c.base)
		if got.code != 3 || !strings.Contains(got.errors, "boot machines with "+c.says) || strings.Contains(got.errors, "look at the BMC") {
			t.Errorf("--base %s ends with %d:\n%s", c.base, got.code, got.errors)
		}
		if _, err := os.Stat("redfish"); err == nil && !app.IsURL(c.base) {
			t.Errorf("--base %s leaves a folder behind", c.base)
		}
	}
}

// TestBaseThatCarriesSomething is reported once, by name, unless the service made it.
func TestBaseThatCarriesSomething(t *testing.T) {
	service, file := registered(t)
	own := strings.Replace(exampleConfig, `"storage"`, `"systemd":{"units":[{"name":"agent.service","enabled":true,"contents":"[Unit]"}]},"storage"`, 1)
	for name, config := range map[string]string{"mine": exampleConfig, "service": own} {
		must.Do(t, os.WriteFile(name+".ign", []byte(config), 0o600))
		if got := runLive(t, "", "", false, "iso", "customize", "base.iso", "-o", name+".iso", "--ignition", name+".ign"); got.code != 0 {
			t.Fatalf("%d:\n%s", got.code, got.errors)
		}
	}
	for base, want := range map[string]int{"base.iso": 0, "mine.iso": 1, "service.iso": 0} {
		got := runLive(t, service.URL, "", false, "create", "images", "-f", file, "--base", base, "-d", "images")
		if told := strings.Count(got.errors, "--base "+base+" contains config.ign; hosts get the service's instead"); got.code != 0 || told != want {
			t.Errorf("--base %s ends with %d, told %d times:\n%s", base, got.code, told, got.errors)
		}
	}
}
