//go:build linux

package installer

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestParse(t *testing.T) {
	c := parse(t, flags("worker", 3, "--format-disk", "/dev/vdb", "--format-disk", "/dev/disk/by-path/pci-0000:00:1f.2-ata-1",
		"--insecure", "--check-cluster-version", "--cacert", "/etc/ca.pem", "--enable-skip-mco-reboot", "--notify-num-reboots",
		"--http-proxy", "http://u:hunter2@proxy:3128", "--service-ips", "192.0.2.1,2001:db8::1", "--coreos-image", "quay.io/x/os:1")...)
	want := Config{
		Role: "worker", ClusterID: clusterID, InfraEnvID: infraID, HostID: hostID, BootDevice: "/dev/vda",
		DisksToFormat: []string{"/dev/vdb", "/dev/disk/by-path/pci-0000:00:1f.2-ata-1"}, URL: "http://192.0.2.1:8090", Token: secret,
		Insecure: true, CACertPath: "/etc/ca.pem", HTTPProxy: "http://u:hunter2@proxy:3128", ServiceIPs: "192.0.2.1,2001:db8::1",
		OpenShiftVersion: "4.20.1", MCOImage: "quay.io/x/mco@sha256:" + strings.Repeat("a", 64), ControllerImage: "quay.io/x/controller:latest",
		AgentImage: "quay.io/x/agent:latest", MustGatherImage: "quay.io/x/mg:1", CoreOSImage: "quay.io/x/os:1",
		InstallerArgs:       []string{"--append-karg", "ip=52-54-00-00-00-11:dhcp"},
		CheckClusterVersion: true, SkipMCOReboot: true, NotifyNumReboots: true,
	}
	check.Same(t, string(must.Get(json.Marshal(want))(t)), string(must.Get(json.Marshal(c))(t)))
	check.Equal(t, c.Token, secret)
}

func TestParseDefaults(t *testing.T) {
	c := parse(t, "--cluster-id", clusterID, "--host-id", hostID, "--boot-device", "/dev/sda", "--url", "https://x")
	check.Equal(t, string(c.Role), "master")
	check.Equal(t, c.InfraEnvID, clusterID)
	check.Equal(t, c.OpenShiftVersion, "4.4")
	check.Equal(t, c.AgentImage, "quay.io/ocpmetal/assisted-installer-agent:latest")
	check.Equal(t, parse(t, flags("worker", 3)...).ControlPlaneCount, 0)
}

func TestParseRefuses(t *testing.T) {
	for _, row := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"help", []string{"--help"}, 0, "help"},
		{"short help", []string{"-h"}, 0, "help"},
		{"unknown flag", []string{"--nonsense"}, 2, "-nonsense"},
		{"flag without value", []string{"--role"}, 2, "role"},
		{"number", []string{"--control-plane-count", "three"}, 2, "three"},
		{"arguments", append(flags("master", 3), "rest"), 1, `"rest" is no flag`},
		{"role", flags("auto-assign", 3), 1, "none of bootstrap, master"},
		{"dry run", flags("master", 3, "--dry-run"), 1, "not supported"},
		{"installer arguments", flags("master", 3, "--installer-args", `{"a":1}`), 1, "not a JSON list"},
		{"installer arguments of two lines", flags("master", 3, "--installer-args", `["a\nb"]`), 1, "more than one line"},
		{"cluster", flags("master", 3, "--cluster-id", "../../x"), 1, "--cluster-id"},
		{"host", flags("master", 3, "--host-id", ""), 1, "--host-id"},
		{"device outside", flags("master", 3, "--boot-device", "/etc/passwd"), 1, "not the name of a disk"},
		{"device above", flags("master", 3, "--boot-device", "/dev/../etc/passwd"), 1, "not the name of a disk"},
		{"device of a shell", flags("master", 3, "--boot-device", "/dev/sda; reboot"), 1, "not the name of a disk"},
		{"format the boot disk", flags("master", 3, "--format-disk", "/dev/vda"), 1, "is the disk to install to"},
		{"format nothing", flags("master", 3, "--format-disk", ""), 1, "--format-disk"},
		{"URL", flags("master", 3, "--url", "file:///etc/passwd"), 1, "--url"},
		{"proxy", flags("master", 3, "--https-proxy", "x"), 1, "--https-proxy"},
		{"CA", flags("master", 3, "--cacert", "/etc:/root"), 1, "--cacert"},
		{"service address", flags("master", 3, "--service-ips", "192.0.2.1,x"), 1, "--service-ips"},
		{"image", flags("master", 3, "--agent-image", "--privileged"), 1, "--agent-image"},
		{"bootstrap without image", flags("bootstrap", 3, "--mco-image", ""), 1, "--mco-image"},
		{"must-gather", flags("master", 3, "--must-gather-image", `{"a":"x y"}`), 1, "--must-gather-image"},
		{"count", flags("master", -1), 1, "less than 0"},
		{"version", flags("master", 3, "--openshift-version", "latest"), 1, "not a version"},
		{"live system", flags("master", 3, "--installer-args", `["--append-karg","coreos.liveiso=a"]`), 1, "pass for a live system"},
		{"joined", flags("master", 3, "--installer-args", `["--append-karg=a oaictl.rack=1"]`), 1, "pass for a live system"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var usage bytes.Buffer
			_, err := Parse(row.args, environment, &usage)
			check.Equal(t, ExitCode(err), row.code)
			check.Says(t, err, row.says)
			if row.code != 1 {
				check.Contains(t, usage.String(), "-boot-device")
			}
		})
	}
}

func TestParseNamesAllProblems(t *testing.T) {
	_, err := Parse([]string{"--role", "x", "--url", "y"}, func(string) string { return "1" }, io.Discard)
	for _, part := range []string{"--role", "--url", "--boot-device", "--cluster-id", "--host-id", "--dry-run"} {
		check.Says(t, err, part)
	}
}

func TestConfigIsLoggedWithoutSecrets(t *testing.T) {
	c := parse(t, flags("master", 3, "--http-proxy", "http://u:hunter2@proxy:3128")...)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", c)
	check.Contains(t, log.String(), "/dev/vda")
	check.Contains(t, log.String(), `"PULL_SECRET_TOKEN":"set"`)
	for _, hidden := range []string{secret, "hunter2"} {
		if strings.Contains(log.String(), hidden) {
			t.Errorf("the log shows %s: %s", hidden, &log)
		}
	}
}

func FuzzInstallerArgs(f *testing.F) {
	for _, seed := range []string{`["--append-karg","a=b"]`, `[]`, `{}`, `["-n",1]`, `["\u0000"]`, `[`, ``} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(flags("master", 3, "--installer-args", text), environment, io.Discard)
		if err != nil {
			return
		}
		for _, arg := range append(kernelArguments(c.InstallerArgs, "--append-karg"), c.InstallerArgs...) {
			if strings.ContainsAny(arg, "\n\x00") {
				t.Errorf("%q is more than one line", arg)
			}
		}
	})
}
