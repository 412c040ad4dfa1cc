package decide

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/diskhints"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func disks() []model.Disk {
	const gib = 1 << 30
	return []model.Disk{
		{ID: "id-a", Path: "/dev/sda", Name: "sda", ByID: "/dev/disk/by-id/wwn-0x5000a", ByPath: "/dev/disk/by-path/pci-1", HCTL: "0:0:0:0",
			Model: "PERC H755", Vendor: "DELL", Serial: "A1", WWN: "0x5000a", Type: "HDD", SizeBytes: 200 * gib, Eligible: true},
		{ID: "id-b", Path: "/dev/sdb", Name: "sdb", ByID: "/dev/disk/by-id/wwn-0x5000b", HCTL: "0:0:1:0", Model: "PERC H755",
			Vendor: "DELL", Serial: "B1", WWN: "0x5000b", Type: "SSD", SizeBytes: 900 * gib, Eligible: true},
		{ID: "id-c", Path: "/dev/sdc", Name: "sdc", Serial: "C1", Type: "SSD", SizeBytes: 8 * gib, Reasons: []string{"Disk is too small"}},
		{ID: "id-m", Path: "/dev/sr0", Name: "sr0", Serial: "M1", Media: true},
	}
}

func TestResolveDisk(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		hints spec.DiskHints
		id    string
		fails string
	}{
		"none":                 {hints: spec.DiskHints{}},
		"device name":          {hints: spec.DiskHints{DeviceName: "/dev/sdb"}, id: "id-b"},
		"by id":                {hints: spec.DiskHints{DeviceName: "/dev/disk/by-id/wwn-0x5000a"}, id: "id-a"},
		"by path":              {hints: spec.DiskHints{DeviceName: "/dev/disk/by-path/pci-1"}, id: "id-a"},
		"serial":               {hints: spec.DiskHints{SerialNumber: "B1"}, id: "id-b"},
		"WWN in other case":    {hints: spec.DiskHints{WWN: "0X5000B"}, id: "id-b"},
		"size":                 {hints: spec.DiskHints{MinSizeGigabytes: 500}, id: "id-b"},
		"rotational":           {hints: spec.DiskHints{Rotational: &yes}, id: "id-a"},
		"model and solid":      {hints: spec.DiskHints{Model: "perc", Rotational: &no}, id: "id-b"},
		"two fit":              {hints: spec.DiskHints{Vendor: "dell"}, fails: "match 2 disks"},
		"none fits":            {hints: spec.DiskHints{SerialNumber: "Z"}, fails: "no disk fits"},
		"a serial is no part":  {hints: spec.DiskHints{SerialNumber: "B"}, fails: "no disk fits"},
		"not eligible":         {hints: spec.DiskHints{SerialNumber: "C1"}, fails: "too small"},
		"the discovery medium": {hints: spec.DiskHints{SerialNumber: "M1"}, fails: "no disk fits"},
	} {
		disk, err := resolveDisk(test.hints, disks(), diskhints.Oaictl)
		switch {
		case test.fails != "":
			if err == nil || !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%s: disk %v, error %v; want %q", name, disk, err, test.fails)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case test.id == "" && disk != nil, test.id != "" && (disk == nil || disk.ID != test.id):
			t.Errorf("%s: disk %v; want %s", name, disk, test.id)
		}
	}
}

func TestResolveKeep(t *testing.T) {
	check.Slice(t, must.Get(resolveKeep([]string{"/dev/sdb", "/dev/disk/by-id/wwn-0x5000a"}, disks()))(t), []string{"id-a", "id-b"}, "ids")
	if _, err := resolveKeep([]string{"/dev/sdx"}, disks()); err == nil {
		t.Error("a disk that does not exist is kept without a word")
	}
}

// TestKeepsAllOfAMultipathDisk, by whichever of its names it is kept.
func TestKeepsAllOfAMultipathDisk(t *testing.T) {
	lun := append(disks(), model.Disk{ID: "p1", Path: "/dev/sdp", Name: "sdp", Type: "FC", Holders: []string{"dm-0"}},
		model.Disk{ID: "p2", Path: "/dev/sdq", Name: "sdq", Type: "FC", Holders: []string{"dm-0"}},
		model.Disk{ID: "dm", Path: "/dev/dm-0", Name: "dm-0", Type: "Multipath"})
	for _, name := range []string{"/dev/sdp", "/dev/dm-0"} {
		if ids, err := resolveKeep([]string{name}, lun); err != nil || !slices.Equal(ids, []string{"dm", "p1", "p2"}) {
			t.Errorf("%s: ids %v (%v)", name, ids, err)
		}
	}
	check.Slice(t, must.Get(resolveKeep([]string{"/dev/sda", "/dev/disk/by-path/pci-1"}, lun))(t), []string{"id-a"}, "two names of a disk: ids")
}

func TestIdentifies(t *testing.T) {
	found := MatchHosts(nil, &model.Observed{InfraEnvs: []model.InfraEnv{{ID: "id-1", Name: "env-1"}, {ID: "id-2", Name: "env-2"}}})
	host := &model.Host{ID: "5c2a9fb0-0000-4000-8000-000000000001", InfraEnvID: "id-1", Inventory: model.Inventory{
		Known: true, Hostname: "node-1", Serial: "SN1", BMC: "10.0.0.5",
		Interfaces: []model.Interface{{MAC: "52:54:00:aa:00:01"}, {MAC: "52:54:00:aa:00:02"}},
	}}
	for name, test := range map[string]struct {
		match spec.Match
		fits  bool
	}{
		"nothing":                    {spec.Match{}, false},
		"second MAC, other spelling": {spec.Match{MAC: "52-54-00-AA-00-02"}, true},
		"serial":                     {spec.Match{Serial: "SN1"}, true},
		"a prefix of the serial":     {spec.Match{Serial: "SN"}, false},
		"hostname":                   {spec.Match{Hostname: "node-1"}, true},
		"a prefix of the hostname":   {spec.Match{Hostname: "node-"}, false},
		"node-10 is not node-1":      {spec.Match{Hostname: "node-10"}, false},
		"UUID":                       {spec.Match{UUID: "5C2A9FB0-0000-4000-8000-000000000001"}, true},
		"BMC":                        {spec.Match{BMC: "10.0.0.5"}, true},
		"MAC fits, serial does not":  {spec.Match{MAC: "52:54:00:aa:00:01", Serial: "SN2"}, false},
		"InfraEnv":                   {spec.Match{InfraEnv: "env-1"}, true},
		"another InfraEnv":           {spec.Match{InfraEnv: "env-2"}, false},
		"an InfraEnv that is none":   {spec.Match{InfraEnv: "env-3"}, false},
		"InfraEnv fits, MAC not":     {spec.Match{InfraEnv: "env-1", MAC: "52:54:00:aa:00:03"}, false},
		"InfraEnv and MAC":           {spec.Match{InfraEnv: "env-1", MAC: "52:54:00:aa:00:01"}, true},
	} {
		check.Equal(t, found.identifies(&test.match, host), test.fits, name)
	}
}
