//go:build e2e

package userdata_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/capi/internal/userdata"
)

// everything is a config with all units.
func everything() userdata.Config {
	return userdata.Config{
		Name: "$METADATA_NAME", ProviderID: "x://$METADATA_ID", Labels: map[string]string{"a": "$METADATA_A"},
		PreCommands: []string{"echo pre"}, PostCommands: []string{"echo post"}, SentinelDir: "/var/lib/x-y_z.d", Kubeconfig: "/etc/kubernetes/kubeconfig",
	}
}

// configs are a discovery Ignition and the override of an installed system.
func configs(t *testing.T) map[string][]byte {
	t.Helper()
	discovery, err := userdata.Discovery([]byte(discoveryIgnition), everything())
	if err != nil {
		t.Fatal(err)
	}
	install, err := userdata.Install(everything(), userdata.Metadata{})
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"discovery": discovery, "install": install}
}

// systemd reads the units without a word.
func TestUnitsInSystemd(t *testing.T) {
	need(t, "systemd-analyze")
	for name, config := range configs(t) {
		m := newMachine(t, "")
		m.apply(config)
		dir := filepath.Join(m.root, "etc/systemd/system")
		for _, target := range []string{"basic", "sysinit", "shutdown", "multi-user", "network-online", "kubelet-dependencies", "firstboot-osupdate"} {
			m.write(filepath.Join(dir, target+".target"), "[Unit]\nDescription="+target+"\n", 0o600)
		}
		m.write(filepath.Join(dir, "kubelet.service"), "[Service]\nExecStart=/usr/bin/true\n", 0o600)
		for _, program := range []string{"true", "mkdir", "touch"} {
			m.write(filepath.Join(m.root, "usr/bin", program), "#!/bin/sh\n", 0o700)
		}
		args := []string{"verify", "--man=no", "--root=" + m.root}
		for unit := range m.units {
			if exists(filepath.Join(dir, unit)) {
				args = append(args, unit)
			}
		}
		slices.Sort(args[3:])
		out, err := exec.Command("systemd-analyze", args...).CombinedOutput()
		if err != nil && strings.Contains(string(out), "unrecognized option") {
			t.Skip("this systemd-analyze does not verify the units of another root")
		}
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// Debian's ignition-validate takes the configs.
func TestConfigsInIgnition(t *testing.T) {
	need(t, "ignition-validate")
	for name, config := range configs(t) {
		file := filepath.Join(t.TempDir(), name+".ign")
		if err := os.WriteFile(file, config, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("ignition-validate", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// Everything happens in the order that it needs.
func TestOrderOfUnits(t *testing.T) {
	m := installed(t, everything(), userdata.Metadata{}, `{"name":"n","id":"i","a":"l"}`)
	m.boot()
	m.healthy()
	want := []string{
		"agent.service", "configdrive-metadata.service", "kubelet-customlabels.service", "set-hostname.service",
		"capoa-pre-bootstrap.service", "node-valid-hostname.service", "kubelet.service",
		"capoa-inject-provider-id.service", "capoa-post-bootstrap.service",
	}
	at := func(name string) int {
		i := slices.Index(m.ran, name)
		if i < 0 {
			t.Errorf("%s did not run", name)
		}
		return i
	}
	for _, pair := range [][2]string{
		{"configdrive-metadata.service", "set-hostname.service"},
		{"configdrive-metadata.service", "kubelet-customlabels.service"},
		{"set-hostname.service", "node-valid-hostname.service"},
		{"set-hostname.service", "capoa-pre-bootstrap.service"},
		{"kubelet-customlabels.service", "kubelet.service"},
		{"capoa-pre-bootstrap.service", "kubelet.service"},
		{"kubelet.service", "capoa-inject-provider-id.service"},
		{"kubelet.service", "capoa-post-bootstrap.service"},
	} {
		if at(pair[0]) > at(pair[1]) {
			t.Errorf("%s ran after %s", pair[0], pair[1])
		}
	}
	if len(m.ran) != len(want) {
		t.Errorf("%v ran, want %v", m.ran, want)
	}
	if m.kubelet.hostname != "n" || m.kubelet.env["CUSTOM_KUBELET_LABELS"] != "a=l" {
		t.Errorf("the kubelet starts as %+v", m.kubelet)
	}
}
