package hub

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/diskhints"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/hubapi/metal3"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func hostDisk(name, kind, wwn string, bytes int64, eligible bool) map[string]any {
	return map[string]any{
		"id": "id-" + name, "name": name, "path": "/dev/" + name, "byPath": "/dev/disk/by-path/" + name, "byID": "/dev/disk/by-id/" + name,
		"driveType": kind, "wwn": wwn, "model": "PERC_H755", "vendor": "DELL", "serial": "SN" + name, "hctl": "0:0:0:" + name, "sizeBytes": bytes,
		"installationEligibility": map[string]any{"eligible": eligible, "notEligibleReasons": []any{}},
	}
}

// TestHintedDisk is what the service's controller of BareMetalHosts makes of their hints.
func TestHintedDisk(t *testing.T) {
	disks := []any{
		hostDisk("sda", "HDD", "0x5001b448b1a00001", 4_000_000_000_000, true),
		hostDisk("sdb", "SSD", "0x5001b448b1a00002", 480_103_981_056, true),
		hostDisk("sdc", "FC", "0x600a098038314d6b", 300_000_000_000, true),
		hostDisk("dm-0", "Multipath", "0x600a098038314d6b", 300_000_000_000, true),
		hostDisk("sdd", "SSD", "0x5001b448b1a00003", 8_000_000_000, false),
	}
	agent := &apiobject.Object{Object: map[string]any{"status": map[string]any{"inventory": map[string]any{"disks": disks}}}}
	yes, no := true, false
	for name, test := range map[string]struct {
		hints *metal3.RootDeviceHints
		want  string
	}{
		"none":                    {nil, ""},
		"empty":                   {&metal3.RootDeviceHints{}, "id-dm-0"},
		"path":                    {&metal3.RootDeviceHints{DeviceName: "/dev/sdb"}, "id-sdb"},
		"by-path":                 {&metal3.RootDeviceHints{DeviceName: "/dev/disk/by-path/sdb"}, "id-sdb"},
		"by-id":                   {&metal3.RootDeviceHints{DeviceName: "/dev/disk/by-id/sdb"}, noDisk},
		"size as it is sold":      {&metal3.RootDeviceHints{MinSizeGigabytes: 480, Rotational: &no}, "id-sdb"},
		"rotates":                 {&metal3.RootDeviceHints{Rotational: &yes}, "id-sda"},
		"extension":               {&metal3.RootDeviceHints{WWNWithExtension: "0x5001b448b1a00002", Rotational: &yes}, "id-sda"},
		"WWN":                     {&metal3.RootDeviceHints{WWN: "0x5001b448b1a00002"}, "id-sdb"},
		"WWN of a multipath disk": {&metal3.RootDeviceHints{WWN: "0x600a098038314d6b"}, "id-dm-0"},
		"WWN in upper case":       {&metal3.RootDeviceHints{WWN: "0x5001B448B1A00002"}, noDisk},
		"model in another case":   {&metal3.RootDeviceHints{Model: "perc"}, noDisk},
		"not eligible":            {&metal3.RootDeviceHints{SerialNumber: "SNsdd"}, noDisk},
	} {
		if got := hintedDisk(agent, test.hints); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		for _, one := range disks {
			fields := one.(map[string]any)
			wire := agentinstall.HostDisk{
				Path: fields["path"].(string), ByPath: fields["byPath"].(string), ByID: fields["byID"].(string), DriveType: fields["driveType"].(string),
				WWN: fields["wwn"].(string), Model: "PERC_H755", Vendor: "DELL", Serial: fields["serial"].(string), SizeBytes: fields["sizeBytes"].(int64),
			}
			disk := model.Disk{
				Path: wire.Path, ByPath: wire.ByPath, ByID: wire.ByID, Type: wire.DriveType, WWN: wire.WWN, Model: wire.Model, Vendor: wire.Vendor,
				Serial: wire.Serial, SizeBytes: wire.SizeBytes,
			}
			if test.hints != nil && hinted(&wire, test.hints) != diskhints.Fits(spec.DiskHints(*test.hints), &disk, diskhints.Service) {
				t.Errorf("%s: the simulator and oaictl read it differently for %s", name, wire.Path)
			}
		}
	}
}
