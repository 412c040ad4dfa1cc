package diskhints

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const gb = 1_000_000_000

// disks are those of a machine with a rotating disk, a solid one and a removable medium.
func disks() []model.Disk {
	return []model.Disk{
		{
			ID: "id-a", Path: "/dev/sda", Name: "sda", ByID: "/dev/disk/by-id/wwn-0x5000c500a0b1c2d3", ByPath: "/dev/disk/by-path/pci-0000:00:17.0-ata-1.0",
			HCTL: "0:0:0:0", Model: "PERC_H755", Vendor: "DELL", Serial: "SNa1", WWN: "0x5000c500a0b1c2d3", Type: "HDD", SizeBytes: 4000 * gb, Eligible: true,
		},
		{
			ID: "id-b", Path: "/dev/sdb", Name: "sdb", ByID: "/dev/disk/by-id/wwn-0x5001b448b1a00002", ByPath: "/dev/disk/by-path/pci-0000:05:00.0-ata-1.0",
			HCTL: "1:0:0:0", Model: "SAMSUNG_MZ7L3", Vendor: "ATA", Serial: "SNb1", WWN: "0x5001b448b1a00002", Type: "SSD", SizeBytes: 480_103_981_056, Eligible: true,
		},
		{ID: "id-c", Path: "/dev/sdc", Name: "sdc", Serial: "SNc1", Type: "SSD", SizeBytes: 8 * gb, Reasons: []string{"Disk is too small"}},
		{ID: "id-m", Path: "/dev/sr0", Name: "sr0", Serial: "SNm1", Media: true, Eligible: true},
	}
}

// TestReadings is the table of hints and components: which disks fit, as each of them reads the hints. The
// service's column was compared with its own function.
func TestReadings(t *testing.T) {
	yes, no := true, false
	const ignored = "ignored"
	for name, test := range map[string]struct {
		hints           spec.DiskHints
		oaictl, service string // names of disks, or "ignored"
	}{
		"path":                        {spec.DiskHints{DeviceName: "/dev/sdb"}, "sdb", "sdb"},
		"by-path":                     {spec.DiskHints{DeviceName: "/dev/disk/by-path/pci-0000:05:00.0-ata-1.0"}, "sdb", "sdb"},
		"part of a by-path":           {spec.DiskHints{DeviceName: "/dev/disk/by-path/pci-0000:05:00.0-ata-1"}, "", ""},
		"by-id":                       {spec.DiskHints{DeviceName: "/dev/disk/by-id/wwn-0x5001b448b1a00002"}, "sdb", ""},
		"HCTL":                        {spec.DiskHints{HCTL: "1:0:0:0"}, "sdb", "sdb"},
		"part of the model":           {spec.DiskHints{Model: "SAMSUNG"}, "sdb", "sdb"},
		"model in another case":       {spec.DiskHints{Model: "samsung"}, "sdb", ""},
		"part of the vendor":          {spec.DiskHints{Vendor: "DE"}, "sda", "sda"},
		"vendor in another case":      {spec.DiskHints{Vendor: "dell"}, "sda", ""},
		"serial number":               {spec.DiskHints{SerialNumber: "SNb1"}, "sdb", "sdb"},
		"serial number in other case": {spec.DiskHints{SerialNumber: "snB1"}, "sdb", ""},
		"part of the serial number":   {spec.DiskHints{SerialNumber: "SNb"}, "", ""},
		"size as it is sold":          {spec.DiskHints{MinSizeGigabytes: 480}, "sda sdb", "sda sdb"},
		"a gigabyte more":             {spec.DiskHints{MinSizeGigabytes: 481}, "sda", "sda"},
		"WWN":                         {spec.DiskHints{WWN: "0x5001b448b1a00002"}, "sdb", "sdb"},
		"WWN in upper case":           {spec.DiskHints{WWN: "0x5001B448B1A00002"}, "sdb", ""},
		"WWN without 0x":              {spec.DiskHints{WWN: "5001b448b1a00002"}, "sdb", ""},
		"WWN with extension":          {spec.DiskHints{WWNWithExtension: "0x5001b448b1a00002"}, "sdb", ignored},
		"extension of the vendor":     {spec.DiskHints{WWNVendorExtension: "00002"}, "sdb", ignored},
		"WWN and extension":           {spec.DiskHints{WWN: "0x5001b448", WWNVendorExtension: "b1a00002"}, "sdb", ignored},
		"rotates":                     {spec.DiskHints{Rotational: &yes}, "sda", "sda"},
		"does not rotate":             {spec.DiskHints{Rotational: &no}, "sdb sdc", "sdb sdc"},
		"all of it":                   {spec.DiskHints{Model: "SAMSUNG", Vendor: "DELL"}, "", ""},
		"size and kind":               {spec.DiskHints{MinSizeGigabytes: 480, Rotational: &no}, "sdb", "sdb"},
	} {
		for by, want := range map[Chooser]string{Oaictl: test.oaictl, Service: test.service} {
			if by == Service && want == ignored {
				if refused := test.hints.RefusedByService(); len(refused) != 1 || !strings.Contains(refused[0].Message, "would be ignored") {
					t.Errorf("%s: %v are refused", name, refused)
				}
				continue
			}
			var fits []string
			all := disks()
			for i := range all {
				if d := &all[i]; !d.Media && Fits(test.hints, d, by) {
					fits = append(fits, d.Name)
				}
			}
			if got := strings.Join(fits, " "); got != want {
				t.Errorf("%s, chosen by %q: %q fit, want %q", name, by, got, want)
			}
		}
	}
}

func TestCandidates(t *testing.T) {
	for name, test := range map[string]struct {
		hints spec.DiskHints
		by    Chooser
		want  string
		fails []string
	}{
		"one fits":           {spec.DiskHints{MinSizeGigabytes: 480, Model: "SAMSUNG"}, Service, "sdb", nil},
		"two fit":            {spec.DiskHints{MinSizeGigabytes: 480}, Oaictl, "sda sdb", nil},
		"not eligible":       {spec.DiskHints{SerialNumber: "SNc1"}, Oaictl, "", []string{"/dev/sdc fits the hints but cannot be installed on: Disk is too small"}},
		"the medium":         {spec.DiskHints{SerialNumber: "SNm1"}, Oaictl, "", []string{"no disk fits the hints; there are /dev/sda"}},
		"by-path is listed":  {spec.DiskHints{SerialNumber: "x"}, Oaictl, "", []string{"/dev/sdb (/dev/disk/by-id/wwn-0x5001b448b1a00002, /dev/disk/by-path/pci-0000:05:00.0-ata-1.0) 480 GB; /dev/sdc 8000 MB"}},
		"read exactly":       {spec.DiskHints{Model: "samsung"}, Service, "", []string{"no disk fits the hints as the Assisted Installer reads them", `model is "samsung", where /dev/sdb has "SAMSUNG_MZ7L3"`}},
		"not read":           {spec.DiskHints{WWNWithExtension: "0x5001b448b1a00002"}, Service, "", []string{"wwnWithExtension is not supported by the Assisted Installer"}},
		"never found":        {spec.DiskHints{WWN: "5001B448B1A00002"}, Service, "", []string{`write "0x5001b448b1a00002"`}},
		"read by oaictl":     {spec.DiskHints{WWN: "5001B448B1A00002"}, Oaictl, "sdb", nil},
		"extension, oaictl":  {spec.DiskHints{WWNWithExtension: "0x5001b448b1a00002"}, Oaictl, "sdb", nil},
		"nothing fits there": {spec.DiskHints{Model: "x"}, Service, "", []string{"no disk fits the hints; there are"}},
	} {
		check(t, name, test.hints, disks(), test.by, test.want, test.fails)
	}
}

func check(t *testing.T, name string, h spec.DiskHints, of []model.Disk, by Chooser, want string, fails []string) {
	t.Helper()
	found, err := Candidates(h, of, by)
	var names []string
	for _, d := range found {
		names = append(names, d.Name)
	}
	if got := strings.Join(names, " "); got != want || (err == nil) != (fails == nil) {
		t.Errorf("%s: found %q (%v), want %q", name, got, err, want)
		return
	}
	for _, part := range fails {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v; want %q", name, err, part)
		}
	}
}

// lun is a disk with two paths and its multipath device, beside a local disk.
func lun(change ...func(d *model.Disk)) []model.Disk {
	const wwn, id = "0x600a098038314d6b4b2b4e4f5a5a3000", "/dev/disk/by-id/scsi-3600a098038314d6b4b2b4e4f5a5a3000"
	list := []model.Disk{
		{
			ID: id, Path: "/dev/sda", Name: "sda", ByID: id, ByPath: "/dev/disk/by-path/fc-1-lun-0", HCTL: "1:0:0:0",
			Model: "LUN_C-Mode", Vendor: "NETAPP", Serial: "600a", WWN: wwn, Type: "FC", Holders: []string{"dm-0"}, SizeBytes: 300 * gb, Eligible: true,
		},
		{
			ID: id, Path: "/dev/sdb", Name: "sdb", ByID: id, ByPath: "/dev/disk/by-path/fc-2-lun-0", HCTL: "2:0:0:0",
			Model: "LUN_C-Mode", Vendor: "NETAPP", Serial: "600a", WWN: wwn, Type: "FC", Holders: []string{"dm-0"}, SizeBytes: 300 * gb, Eligible: true,
		},
		{
			ID: "dm", Path: "/dev/dm-0", Name: "dm-0", ByID: "/dev/disk/by-id/dm-uuid-mpath-3600a",
			Serial: "600a", WWN: wwn, Type: "Multipath", SizeBytes: 300 * gb, Eligible: true,
		},
		{ID: "l", Path: "/dev/sdc", Name: "sdc", Serial: "local", Type: "SSD", SizeBytes: 200 * gb, Eligible: true},
	}
	for i := range list {
		for _, do := range change {
			do(&list[i])
		}
	}
	return list
}

// TestMultipath counts one LUN as one disk, whether the service calls its paths eligible, as it did before, or not, and
// where it says no holders, as on a hub.
func TestMultipath(t *testing.T) {
	const isPath = "/dev/sda (/dev/disk/by-id/scsi-3600a098038314d6b4b2b4e4f5a5a3000) fits the hints, but it is a path of the multipath device /dev/dm-0"
	for state, change := range map[string]func(d *model.Disk){
		"paths are eligible":        func(*model.Disk) {},
		"holders are not said":      func(d *model.Disk) { d.Holders = nil },
		"paths are not eligible":    func(d *model.Disk) { d.Eligible = d.Type != "FC" },
		"the type is in upper case": func(d *model.Disk) { d.Type = strings.ToUpper(d.Type) },
		"neither is said":           func(d *model.Disk) { d.Holders = nil; d.Eligible = d.Type != "FC" },
	} {
		for name, test := range map[string]struct {
			hints spec.DiskHints
			by    Chooser
			want  string
			fails []string
		}{
			"WWN":                    {spec.DiskHints{WWN: "0x600a098038314d6b4b2b4e4f5a5a3000"}, Oaictl, "dm-0", nil},
			"WWN, service":           {spec.DiskHints{WWN: "0x600a098038314d6b4b2b4e4f5a5a3000"}, Service, "dm-0", nil},
			"serial number":          {spec.DiskHints{SerialNumber: "600a"}, Service, "dm-0", nil},
			"device":                 {spec.DiskHints{DeviceName: "/dev/dm-0"}, Service, "dm-0", nil},
			"a path":                 {spec.DiskHints{DeviceName: "/dev/sda"}, Oaictl, "", []string{isPath}},
			"a path, service":        {spec.DiskHints{DeviceName: "/dev/sda"}, Service, "", []string{isPath}},
			"by-path":                {spec.DiskHints{DeviceName: "/dev/disk/by-path/fc-1-lun-0"}, Oaictl, "", []string{isPath}},
			"HCTL":                   {spec.DiskHints{HCTL: "1:0:0:0"}, Oaictl, "", []string{isPath}},
			"by-id":                  {spec.DiskHints{DeviceName: "/dev/disk/by-id/scsi-3600a098038314d6b4b2b4e4f5a5a3000"}, Oaictl, "dm-0", nil},
			"model of the paths":     {spec.DiskHints{Model: "LUN"}, Oaictl, "dm-0", nil},
			"model, service":         {spec.DiskHints{Model: "LUN"}, Service, "", []string{isPath}},
			"size":                   {spec.DiskHints{MinSizeGigabytes: 100}, Oaictl, "dm-0 sdc", nil},
			"paths are named in all": {spec.DiskHints{SerialNumber: "x"}, Oaictl, "", []string{"/dev/disk/by-path/fc-1-lun-0, a path of /dev/dm-0) 300 GB"}},
		} {
			check(t, state+": "+name, test.hints, lun(change), test.by, test.want, test.fails)
		}
	}
}

// TestUnusableMultipath leaves the paths of a device that cannot be installed on to the service.
func TestUnusableMultipath(t *testing.T) {
	sas := func(d *model.Disk) {
		if d.Type == "FC" {
			d.Type = "SSD"
		}
		if d.Type == "Multipath" {
			d.Eligible, d.Reasons = false, []string{"Multipath device has path of unsupported type. It must be FC, iSCSI"}
		}
	}
	check(t, "a path", spec.DiskHints{DeviceName: "/dev/sda"}, lun(sas), Oaictl, "sda", nil)
	check(t, "WWN", spec.DiskHints{WWN: "0x600a098038314d6b4b2b4e4f5a5a3000"}, lun(sas), Oaictl, "sda sdb", nil)
	check(t, "the device", spec.DiskHints{DeviceName: "/dev/dm-0"}, lun(sas), Oaictl, "", []string{"/dev/dm-0 (/dev/disk/by-id/dm-uuid-mpath-3600a) fits the hints but cannot be installed on: Multipath device has path"})
}
