//go:build e2e

package userdata_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/capi/internal/userdata"
	"github.com/oaictl/oaictl/pkg/iso/ignition"
)

// discoveryIgnition has the form of the service's.
const discoveryIgnition = `{"ignition":{"version":"3.1.0"},
	"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 AAAA"]}]},
	"systemd":{"units":[{"name":"agent.service","enabled":true,"contents":"[Service]\nType=simple\nExecStart=/usr/bin/true\n\n[Unit]\nAfter=network-online.target\n\n[Install]\nWantedBy=multi-user.target\n"}]},
	"storage":{"files":[{"overwrite":true,"path":"/etc/motd","mode":420,"contents":{"source":"data:,hello"}}]}}`

// drive is what the BareMetal Operator and Ironic write by default, with metadata of a
// Metal3DataTemplate.
const drive = `{"uuid":"6ab1c1d2-8b05-4ac2-a36f-cf7c0c3d1a11","name":"worker-0","local-hostname":"worker-0","local_hostname":"worker-0","metal3-name":"worker-0","metal3-namespace":"metal3","providerid":"metal3/worker-0/machine-0","rack":"Rack 4 \"left\"","index":3,"spare":true,"nothing":null,"public_keys":{"me":"ssh-ed25519 AAAA\n"}}`

func TestDiscovery(t *testing.T) {
	for _, test := range []struct{ name, text, drive, want string }{
		{"of the config drive", "$METADATA_NAME", drive, "worker-0"},
		{"in braces, within a text", "a-${METADATA_INDEX}.example", drive, "a-3.example"},
		{"static", "cp-1", drive, "cp-1"},
		{"static without a config drive", "cp-1", "", "cp-1"},
		{"capitals", "$METADATA_NAME", `{"name":"Worker-0.Example"}`, "worker-0.example"},
		{"unknown", "$METADATA_OTHER", drive, "localhost"},
		{"partly unknown", "a-$METADATA_NAME-$METADATA_OTHER", drive, "localhost"},
		{"of null", "$METADATA_NOTHING", drive, "localhost"},
		{"no config drive", "$METADATA_NAME", "", "localhost"},
		{"a broken config drive", "$METADATA_NAME", "{", "localhost"},
		{"a config drive that is a list", "$METADATA_NAME", "[]", "localhost"},
		{"no hostname", "$METADATA_RACK", drive, "localhost"},
		{"localhost", "$METADATA_NAME", `{"name":"localhost.localdomain"}`, "localhost"},
		{"too long", "$METADATA_NAME", `{"name":"` + strings.Repeat("a", 64) + `"}`, "localhost"},
		{"an option", "$METADATA_NAME", `{"name":"--help"}`, "localhost"},
		{"a command", "$METADATA_NAME", `{"name":"$(touch ../fake/evil)"}`, "localhost"},
		{"no metadata", "$HOME", drive, "localhost"},
		{"none", "", drive, "localhost"},
	} {
		t.Run(test.name, func(t *testing.T) {
			config, err := userdata.Discovery([]byte(discoveryIgnition), userdata.Config{Name: test.text})
			if err != nil {
				t.Fatal(err)
			}
			m := newMachine(t, test.drive)
			m.apply(config)
			m.boot()
			if m.agent.hostname != test.want || m.hostname() != test.want {
				t.Errorf("the agent starts as %q, the machine is %q, want %q\n%s", m.agent.hostname, m.hostname(), test.want, m.output.String())
			}
			if test.drive == drive || test.drive == "" {
				m.healthy()
			}
			if m.read(filepath.Join(m.root, "etc/motd")) != "hello" {
				t.Error("the service's own files are gone")
			}
		})
	}
}

func TestDiscoveryMetadata(t *testing.T) {
	config, err := userdata.Discovery([]byte(discoveryIgnition), userdata.Config{})
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, drive)
	m.apply(config)
	m.boot()
	m.healthy()
	want := map[string]string{
		"METADATA_UUID": "6ab1c1d2-8b05-4ac2-a36f-cf7c0c3d1a11", "METADATA_NAME": "worker-0", "METADATA_LOCAL_HOSTNAME": "worker-0",
		"METADATA_METAL3_NAME": "worker-0", "METADATA_METAL3_NAMESPACE": "metal3", "METADATA_PROVIDERID": "metal3/worker-0/machine-0",
		"METADATA_RACK": `Rack 4 "left"`, "METADATA_INDEX": "3", "METADATA_SPARE": "true", "METADATA_PUBLIC_KEYS": `{"me":"ssh-ed25519 AAAA\n"}`,
	}
	if diff := cmp.Diff(want, m.metadata()); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(m.read(filepath.Join(m.root, "etc/metadata_env")), "METADATA_NAME=worker-0\n") {
		t.Error("a plain value is quoted")
	}
}

// Metadata is data to every reader of /etc/metadata_env.
func TestMetadataIsNotEvaluated(t *testing.T) {
	config, err := userdata.Discovery([]byte(discoveryIgnition), userdata.Config{})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"other": "x"}
	for i, value := range hostile() {
		values[fmt.Sprintf("k%d", i)] = value
	}
	m := newMachine(t, string(mustJSON(t, values)))
	m.apply(config)
	m.boot()
	m.healthy()
	for i, value := range hostile() {
		checkMetadata(t, m, fmt.Sprintf("METADATA_K%d", i), value)
	}
}

// hostile are values that shells and environment files could take for something else.
func hostile() []string {
	return []string{
		"", " ", "#x", ";x", "a b", "~", "~/x", `"`, `""`, `'`, `\`, `\\"`, `a\`, "`touch evil`", "$(touch evil)", "${PATH}", "$PATH", "!x",
		"a'b\"c", "\tx\t", "é\u2028\u0085", "=", "a=b", "x\nMETADATA_OTHER=y", "x\r\n", "\x00", "\x1b[0m", "%n%%", "*", "{a,b}", "a;touch evil", "\\n", "\\$x",
	}
}

// checkMetadata compares a variable with its value, as systemd and bash read it.
func checkMetadata(t *testing.T, m *machine, variable, value string) {
	t.Helper()
	oneLine := !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
	env := m.metadata()
	if got, is := env[variable]; is != oneLine || is && got != value {
		t.Errorf("%q: systemd reads %q, %v", value, got, is)
	}
	if variable != "METADATA_OTHER" && env["METADATA_OTHER"] != "x" {
		t.Errorf("%q: it changed another variable to %q", value, env["METADATA_OTHER"])
	}
	script := `set -euo pipefail; . "$1"; printf %s "${!2-}"`
	c := exec.Command("bash", "-c", script, "bash", filepath.Join(m.root, "etc/metadata_env"), variable)
	c.Dir = m.root
	out, err := c.CombinedOutput()
	if err != nil || oneLine && string(out) != value {
		t.Errorf("%q: bash reads %q, %v", value, out, err)
	}
	for _, dir := range []string{m.root, m.fake, filepath.Join(m.root, "tmp")} {
		if m.read(filepath.Join(dir, "evil")) != "" || exists(filepath.Join(dir, "evil")) {
			t.Errorf("%q was executed", value)
		}
	}
}

func TestDiscoveryErrors(t *testing.T) {
	for _, test := range []struct{ discovery, override, want string }{
		{"", "", "the discovery Ignition: the config is empty"},
		{"<html>", "", "the discovery Ignition:"},
		{`{"ignition":{"version":"2.2.0"}}`, "", "specification 2.2.0 is not understood"},
		{discoveryIgnition, `{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"etc/x"}]}}`, "the discovery Ignition override:1:"},
	} {
		_, err := userdata.Discovery([]byte(test.discovery), userdata.Config{DiscoveryOverride: []byte(test.override)})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}

func TestDiscoveryOverride(t *testing.T) {
	c := userdata.Config{DiscoveryOverride: []byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/motd","contents":{"source":"data:,mine"}}]}}`)}
	config, err := userdata.Discovery([]byte(discoveryIgnition), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ignition.Validate("it", config); err != nil {
		t.Error(err)
	}
	again, err := userdata.Discovery([]byte(discoveryIgnition), c)
	if err != nil || !bytes.Equal(config, again) {
		t.Errorf("another result the second time, %v", err)
	}
	m := newMachine(t, "")
	m.apply(config)
	if got := m.read(filepath.Join(m.root, "etc/motd")); got != "mine" {
		t.Errorf("the user's file is %q", got)
	}
}
