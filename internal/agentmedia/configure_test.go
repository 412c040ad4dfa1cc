package agentmedia

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// watching is a clock that calls before at every wait.
type watching struct {
	clock.Clock
	before func(time.Duration)
}

func (w *watching) Sleep(ctx context.Context, d time.Duration) error {
	w.before(d)
	return w.Clock.Sleep(ctx, d)
}

// TestConfigureUntilAllFit begins before the machines are there, with a hint that fits no disk, and then corrects the
// hint.
func TestConfigureUntilAllFit(t *testing.T) {
	m := newMedium(t, auth.None)
	m.must((*Client).RegisterCluster, "registered")
	m.must((*Client).RegisterInfraEnv, "registered")
	m.put("hostconfig/master-0/mac_addresses", "52:54:00:aa:00:01\n")
	m.put("hostconfig/master-0/root-device-hints.yaml", "deviceName: /dev/sdz\n")
	m.put("hostconfig/master-1/mac_addresses", "52:54:00:aa:00:02\n")
	m.put("hostconfig/master-1/role", "master")
	client := m.client()
	var seen []string
	var pauses []time.Duration
	client.Clock = &watching{m.clock, func(d time.Duration) {
		pauses = append(pauses, d)
		text, err := os.ReadFile(m.env.Failures)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(seen, string(text)) {
			seen = append(seen, string(text))
		}
		switch {
		case len(pauses) == 1:
			m.boot(host.Day1)
		case strings.Contains(string(text), "not-found-by-hints") && !strings.Contains(string(text), notRegistered):
			m.put("hostconfig/master-0/root-device-hints.yaml", "deviceName: /dev/sda\n")
		}
	}}
	result, err := client.Configure(t.Context())
	if err != nil || result.Done != "configured" {
		t.Fatalf("%+v, %v", result, err)
	}
	if want := "master-0: Host not registered\nmaster-1: Host not registered\n"; seen[0] != want {
		t.Errorf("the file of failures began as %q, want %q", seen[0], want)
	}
	last := seen[len(seen)-1]
	if !strings.HasPrefix(last, "master-0: Failed to update host installation disk to /dev/not-found-by-hints (from /dev/disk/by-") ||
		!strings.Contains(last, "): Requested installation disk is not part of the host's valid disks: no disk fits the hints; there are /dev/sda (") {
		t.Errorf("the file of failures ended as %q", last)
	}
	if _, err := os.Stat(m.env.Failures); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of failures is still there: %v", err)
	}
	for i, pause := range pauses {
		if want := min(time.Second<<i, 32*time.Second); pause != want {
			t.Errorf("pause %d is %s, want %s", i, pause, want)
		}
	}
}

// TestConfigureGivesUp leaves the problem in the file of failures.
func TestConfigureGivesUp(t *testing.T) {
	m := newMedium(t, auth.None)
	m.must((*Client).RegisterCluster, "registered")
	m.must((*Client).RegisterInfraEnv, "registered")
	m.put("hostconfig/master-9/mac_addresses", "52:54:00:aa:00:99\n")
	client := m.client()
	client.Timeout = 10 * time.Minute
	_, err := client.Configure(t.Context())
	if model.FaultOf(err).Code != model.CodeTimeout || !strings.Contains(err.Error(), "master-9: Host not registered") {
		t.Errorf("code %d: %v", model.FaultOf(err).Code, err)
	}
	if got, want := m.read("run/host-config-failures"), "master-9: Host not registered\n"; got != want {
		t.Errorf("the file of failures holds %q, want %q", got, want)
	}
	status, err := m.client().Status(t.Context())
	if err != nil || model.FaultOf(status.Trouble()).Code != model.CodeBlocked || !strings.Contains(status.Trouble().Error(), "installation cannot proceed: master-9") {
		t.Errorf("%v, %v", status.Trouble(), err)
	}
	start := m.client()
	start.Timeout = time.Minute
	if _, err := start.StartInstall(t.Context()); model.FaultOf(err).Code != model.CodeBlocked || !strings.Contains(err.Error(), "hosts to be configured") {
		t.Errorf("code %d: %v", model.FaultOf(err).Code, err)
	}
	m.put("hostconfig/master-9/root-device-hints.yaml", "deviceName: /dev/sda\n")
	client = m.client()
	client.Timeout = time.Minute
	if _, err := client.Configure(t.Context()); model.FaultOf(err).Code != model.CodeTimeout {
		t.Errorf("code %d: %v", model.FaultOf(err).Code, err)
	}
}

func TestConfigureWithoutHosts(t *testing.T) {
	m := newMedium(t, auth.None)
	m.env.InfraEnvID = "5f8a1b52-3c33-4c6e-9a2f-0d8c53a3e222"
	m.put("run/host-config-failures", "old: trouble\n")
	m.quiet((*Client).Configure)
	if _, err := os.Stat(m.env.Failures); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of failures is still there: %v", err)
	}
}

func TestWanted(t *testing.T) {
	hints := `{deviceName: /dev/sdb}`
	m := newMedium(t, auth.None)
	m.put("hostconfig/a/mac_addresses", "52:54:00:aa:00:01\n")
	m.put("hostconfig/a/role", "arbiter")
	m.put("hostconfig/a/root-device-hints.yaml", hints)
	m.put("hostconfig/b/mac_addresses", "52:54:00:aa:00:02\n")
	m.put("hostconfig/fencing-credentials.yaml", `credentials:
- {hostname: a, address: "redfish+https://10.0.0.1/redfish/v1/Systems/1", username: admin, password: hunter2, certificateVerification: Disabled}
- {macaddress: "52:54:00:AA:00:02", address: "redfish+https://10.0.0.2/redfish/v1/Systems/1", username: admin, password: hunter2}
- {hostname: A, address: a, username: u, password: p}
`)
	configs, err := readHostConfigs(m.env.HostConfig)
	if err != nil {
		t.Fatal(err)
	}
	disk := func(id string, eligible bool) model.Disk {
		return model.Disk{ID: id, Path: "/dev/" + id, Eligible: eligible}
	}
	machine := &model.Host{Role: spec.Auto, Disk: "sda", Inventory: model.Inventory{Known: true, Disks: []model.Disk{disk("sda", true), disk("sdb", true)}}}
	want := model.Settings{
		model.SettingRole: model.ValueOf("arbiter"), model.SettingDisk: model.ValueOf("sdb"),
		model.SettingFencing: model.ValueOf("redfish+https://10.0.0.1/redfish/v1/Systems/1"),
	}
	if diff := cmp.Diff(want, configs[0].wanted(machine)); diff != "" {
		t.Errorf("a (-want +got):\n%s", diff)
	}
	machine.Inventory.Disks[1].Eligible = false
	if got := configs[0].wanted(machine)[model.SettingDisk].Text(); got != noSuchDisk {
		t.Errorf("a host without a disk that fits is given %s", got)
	}
	if got := configs[1].fencing; got == nil || got.Address != "redfish+https://10.0.0.2/redfish/v1/Systems/1" {
		t.Errorf("b has the credentials of %+v", got)
	}
	desired := configs[0].desired()
	user, password, _ := desired.Spec.Spec.Hosts[0].Fencing.Credentials.Login()
	if user != "admin" || password.Reveal() != "hunter2" || !*desired.Spec.Spec.Hosts[0].Fencing.Insecure {
		t.Errorf("the credentials of a are %s", user)
	}
	if unsaid := configs[1].desired().Spec.Spec.Hosts[0].Fencing; unsaid.Insecure != nil {
		t.Errorf("the certificate of b's BMC is verified as nobody has said: insecure %v", *unsaid.Insecure)
	}
	machine = &model.Host{Role: spec.Arbiter, Disk: "sdb", Inventory: model.Inventory{Known: true, Disks: []model.Disk{disk("sda", true), disk("sdb", true)}}, Settings: model.Settings{model.SettingFencing: want[model.SettingFencing]}}
	if got := configs[0].wanted(machine); len(got) > 0 {
		t.Errorf("a host that has everything is given %v", got)
	}
}

// TestMediumReadsHints as the service does: a gigabyte is 10⁹ bytes, and a multipath device is one disk with its paths.
// A hint that no disk fits is reported.
func TestMediumReadsHints(t *testing.T) {
	disk := func(name, kind string, bytes int64) model.Disk {
		return model.Disk{ID: name, Name: name, Path: "/dev/" + name, Type: kind, WWN: "0x600a0980", SizeBytes: bytes, Eligible: true}
	}
	for name, test := range map[string]struct {
		hints spec.DiskHints
		disks []model.Disk
		want  string
		none  string
	}{
		"480 GB":       {hints: spec.DiskHints{MinSizeGigabytes: 480}, disks: []model.Disk{disk("sda", "SSD", 240e9), disk("sdb", "SSD", 480_103_981_056)}, want: "sdb"},
		"multipath":    {hints: spec.DiskHints{WWN: "0x600a0980"}, disks: []model.Disk{disk("sda", "FC", 1e12), disk("sdb", "FC", 1e12), disk("dm-0", "Multipath", 1e12)}, want: "dm-0"},
		"a path":       {hints: spec.DiskHints{DeviceName: "/dev/sda"}, disks: []model.Disk{disk("sda", "FC", 1e12), disk("dm-0", "Multipath", 1e12)}, want: noSuchDisk, none: "a path of the multipath device /dev/dm-0"},
		"letter case":  {hints: spec.DiskHints{WWN: "0x600A0980"}, disks: []model.Disk{disk("sda", "SSD", 1e12)}, want: noSuchDisk, none: `wwn is "0x600A0980", where /dev/sda has "0x600a0980"`},
		"several keep": {hints: spec.DiskHints{MinSizeGigabytes: 1}, disks: []model.Disk{disk("sdx", "SSD", 1e12), disk("sda", "SSD", 1e12)}, want: "sda"},
	} {
		config := hostConfig{hints: &test.hints}
		id, none := config.disk(&model.Host{Disk: "sda", Inventory: model.Inventory{Known: true, Disks: test.disks}})
		if id != test.want || (none == nil) != (test.none == "") || none != nil && !strings.Contains(none.Error(), test.none) {
			t.Errorf("%s: %s (%v), want %s", name, id, none, test.want)
		}
	}
}

// TestConfigureOnceItInstalls accepts the roles that the service chose where the medium leaves them to it, and reports
// that it is too late for everything else that differs.
func TestConfigureOnceItInstalls(t *testing.T) {
	m := newMedium(t, auth.None)
	m.must((*Client).RegisterCluster, "registered")
	m.must((*Client).RegisterInfraEnv, "registered")
	m.put("hostconfig/master-0/mac_addresses", "52:54:00:aa:00:01\n")
	m.put("hostconfig/master-0/role", "auto-assign")
	m.boot(host.Day1)
	m.must((*Client).Configure, unchanged)
	m.must((*Client).StartInstall, "started")
	m.quiet((*Client).Configure)
	m.put("hostconfig/master-0/role", "worker")
	m.put("hostconfig/master-0/root-device-hints.yaml", "deviceName: /dev/sdz\n")
	m.put("run/host-config-failures", "old: trouble\n")
	m.wire.made()
	_, err := m.client().Configure(t.Context())
	if model.FaultOf(err).Code != model.CodeBlocked || !strings.Contains(err.Error(), "too late") || !strings.Contains(err.Error(), "master-0: role, installation disk") {
		t.Errorf("code %d: %v", model.FaultOf(err).Code, err)
	}
	if made := m.wire.made(); len(made) > 0 {
		t.Errorf("written in spite of that: %v", made)
	}
	if _, err := os.Stat(m.env.Failures); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of failures says that the installation cannot proceed: %v", err)
	}
}

// TestConfigureWhileItIsPrepared records what cannot be set just now, and sets it once it can.
func TestConfigureWhileItIsPrepared(t *testing.T) {
	m := newMedium(t, auth.None)
	m.env.InfraEnvID = "e"
	m.put("hostconfig/a/mac_addresses", "52:54:00:aa:00:01\n")
	m.put("hostconfig/a/role", "worker")
	service := &preparing{host: model.Host{State: model.HostPreparing, Role: spec.ControlPlane, Inventory: model.Inventory{Interfaces: []model.Interface{{MAC: "52:54:00:aa:00:01"}}}}}
	client := m.client()
	client.Service = service
	noted := ""
	client.Clock = &watching{&patient{at: time.Unix(1e9, 0)}, func(time.Duration) {
		noted, service.host.State = m.read("run/host-config-failures"), model.HostReady
	}}
	result, err := client.Configure(t.Context())
	if err != nil || result.Done != "configured" || noted != "a: "+tooEarly+"\n" {
		t.Errorf("%+v, %v, noted %q", result, err, noted)
	}
}

// preparing is a service with one host.
type preparing struct {
	Service
	host model.Host
}

func (p *preparing) ListHosts(context.Context, string) ([]model.Host, error) {
	return []model.Host{p.host}, nil
}

func (p *preparing) Act(_ context.Context, _ *model.Desired, action model.Action) error {
	if p.host.State != model.HostReady {
		return errors.New("the host takes no settings now")
	}
	p.host.Role = spec.Role(action.Settings[model.SettingRole].Text())
	return nil
}
