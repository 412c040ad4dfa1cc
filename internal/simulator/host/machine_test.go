package host

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func TestMachinesAreDistinctAndTheSameForASeed(t *testing.T) {
	seen := map[string]int{}
	for i := range 500 {
		m, err := NewMachine(7, i, NetworkFor(500))
		if err != nil {
			t.Fatal(err)
		}
		again, _ := NewMachine(7, i, NetworkFor(500))
		if diff := cmp.Diff(m, again, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
			t.Fatalf("machine %d differs from itself:\n%s", i, diff)
		}
		for _, unique := range []string{
			m.UUID, m.Serial, m.NICs[0].MAC, m.Disks[0].WWN, m.Disks[0].Serial, m.BMC.String(), m.NICs[0].Addresses[0].String(),
		} {
			if before, twice := seen[unique]; twice {
				t.Fatalf("machines %d and %d share %s", before, i, unique)
			}
			seen[unique] = i
		}
	}
	other, err := NewMachine(8, 0, Network{})
	if err != nil {
		t.Fatal(err)
	}
	if _, same := seen[other.NICs[0].MAC]; same {
		t.Error("another seed makes the same machine")
	}
}

func TestMachineInANetwork(t *testing.T) {
	dual := Network{V4: netip.MustParsePrefix("10.1.2.0/24"), V6: netip.MustParsePrefix("fd00:1::/64")}
	for _, tc := range []struct {
		name    string
		index   int
		network Network
		want    []string
		routes  int
		err     string
	}{
		{"default", 0, Network{}, []string{"192.168.127.10/24"}, 2, ""},
		{"dual stack", 2, dual, []string{"10.1.2.12/24", "fd00:1::c/64"}, 4, ""},
		{"avoids", 0, Network{Avoid: []netip.Addr{netip.MustParseAddr("192.168.127.10")}}, []string{"192.168.127.11/24"}, 2, ""},
		{"leaves addresses free", 90, Network{}, []string{"192.168.127.120/24"}, 2, ""},
		{"small network", 0, Network{V4: netip.MustParsePrefix("10.0.0.0/29")}, nil, 0, "no address left"},
		{"full network", 300, Network{}, nil, 0, "no address left"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := NewMachine(1, tc.index, tc.network)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range m.NICs[0].Addresses {
				got = append(got, a.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if routes := m.routes(); len(routes) != tc.routes {
				t.Errorf("routes %+v", routes)
			}
		})
	}
}

func TestMachinesSatisfyWhatIsWanted(t *testing.T) {
	yes := true
	wants := []Want{
		{
			Name: "cp-0", MAC: "AA:BB:CC:00:00:01", Serial: "SER1", UUID: "4C4C4544-0000-2010-8020-80C04F202020",
			Hostname: "control-0.example.com", BMC: "redfish-virtualmedia+https://10.3.0.5:8000/redfish/v1/Systems/1",
			Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.127.10/24"), netip.MustParsePrefix("fd00::5/64")},
			Gateway:   netip.MustParseAddr("192.168.127.254"), Role: "control-plane", CPUArch: "arm64", InfraEnvID: "ie-2",
			Disk: spec.DiskHints{DeviceName: "/dev/nvme0n1", MinSizeGigabytes: 500, Rotational: &yes, Vendor: "ACME", Model: "FAST"},
		},
		{Name: "Worker-0", BMC: "bmc.example.com", Disk: spec.DiskHints{WWN: "0x5002538e00000001"}},
		{Name: "worker-1", BMC: "ipmi://[fd00::b]", Disk: spec.DiskHints{DeviceName: "/dev/disk/by-path/pci-0000:01:00.0"}},
		{Name: "worker-2", Disk: spec.DiskHints{DeviceName: "/dev/sdb", HCTL: "0:0:1:0", SerialNumber: "D2"}},
		{Name: "worker-3", Disk: spec.DiskHints{WWN: "5002538E00000002"}},
	}
	got, err := Machines(1, Network{}, wants)
	if err != nil {
		t.Fatal(err)
	}
	first := got[0]
	for what, pair := range map[string][2]string{
		"name": {first.Name, "cp-0"}, "mac": {first.NICs[0].MAC, "aa:bb:cc:00:00:01"}, "serial": {first.Serial, "SER1"},
		"uuid": {first.UUID, "4c4c4544-0000-2010-8020-80c04f202020"}, "hostname": {first.Hostname, "control-0.example.com"},
		"bmc": {first.BMC.String(), "10.3.0.5"}, "role": {first.Role, "control-plane"}, "arch": {first.CPUArch, "arm64"},
		"infra-env": {first.InfraEnvID, "ie-2"}, "address": {first.NICs[0].Addresses[0].String(), "192.168.127.10/24"},
		"second address": {first.NICs[0].Addresses[1].String(), "fd00::5/64"},
		"gateway":        {first.Gateways[0].String(), "192.168.127.254"}, "second gateway": {first.Gateways[1].String(), "fd00::1"},
		"free address":  {got[1].NICs[0].Addresses[0].String(), "192.168.127.12/24"},
		"made-up name":  {got[1].Hostname, "worker-0"},
		"bmc by name":   {got[1].BMC.String(), "invalid IP"},
		"bmc by IPv6":   {got[2].BMC.String(), "fd00::b"},
		"device":        {first.Disks[0].Name, "nvme0n1"},
		"vendor":        {first.Disks[0].Vendor + " " + first.Disks[0].Model, "ACME FAST"},
		"wwn":           {got[1].Disks[0].WWN, "0x5002538e00000001"},
		"wwn as it is":  {got[4].Disks[0].WWN, "0x5002538e00000002"},
		"by-path":       {got[2].Disks[0].ByPath, "pci-0000:01:00.0"},
		"second device": {got[3].Disks[1].Name + " " + got[3].Disks[1].Serial, "sdb D2"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, not %q", what, pair[0], pair[1])
		}
	}
	if d := first.Disks[0]; d.SizeBytes != 500_000_000_000 || d.DriveType != "HDD" {
		t.Errorf("disk %+v", d)
	}
	for _, m := range got {
		if len(m.Disks) != 2 || m.Disks[0].Name == m.Disks[1].Name || m.Disks[0].HCTL == m.Disks[1].HCTL || m.Disks[0].WWN == m.Disks[1].WWN {
			t.Errorf("disks of %s: %+v", m.Name, m.Disks)
		}
	}
	if _, err := Machines(1, Network{V4: netip.MustParsePrefix("10.0.0.0/30")}, wants[1:]); err == nil || !strings.Contains(err.Error(), "Worker-0") {
		t.Errorf("error %v", err)
	}
}

func TestMachinesRefuseWhatIsNoIdentity(t *testing.T) {
	_, err := Machines(1, Network{}, []Want{{Name: "a", MAC: "52:54"}, {Name: "b", UUID: "xyz"}})
	if err == nil || !strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("error %v does not name both", err)
	}
}

func TestInventoryIsPatched(t *testing.T) {
	inv := machines(t, 1)[0].inventory(time.Unix(1, 0))
	read := func(patch map[string]any) map[string]any {
		text, err := inv.encode(patch)
		if err != nil {
			t.Fatal(err)
		}
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	want := read(nil)
	delete(want, "boot")
	want["cpu"].(map[string]any)["count"] = 3.0
	want["hostname"] = map[string]any{"f": 1.0}
	got := read(map[string]any{"boot": nil, "cpu": map[string]any{"count": 3}, "hostname": map[string]any{"f": 1}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
