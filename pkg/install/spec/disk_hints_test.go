package spec

import (
	"slices"
	"strings"
	"testing"
)

// TestRefusedByService refuses offline what the service ignores, or finds in no machine.
func TestRefusedByService(t *testing.T) {
	for name, test := range map[string]struct {
		hints DiskHints
		want  []string // name of the hint, and a part of the message about it
	}{
		"none":            {},
		"known":           {hints: DiskHints{DeviceName: "/dev/disk/by-path/pci-1", WWN: "0x5001b448b1a00002", Model: "x", MinSizeGigabytes: 1}},
		"NVMe":            {hints: DiskHints{WWN: "eui.36344630529022090025384500000001"}},
		"DASD":            {hints: DiskHints{DeviceName: "/dev/dasda", WWN: "IBM.75000000092461.e900.10"}},
		"extensions":      {DiskHints{WWNWithExtension: "0x5", WWNVendorExtension: "0x6"}, []string{"wwnWithExtension is not supported", "wwnVendorExtension is not supported"}},
		"beside the WWN":  {DiskHints{WWN: "0x5001b448b1a00002", WWNVendorExtension: "0x6"}, []string{"wwnVendorExtension is not supported"}},
		"by-id":           {DiskHints{DeviceName: "/dev/disk/by-id/nvme-eui.3634"}, []string{`deviceName "/dev/disk/by-id/nvme-eui.3634" matches no disk`}},
		"a mapped device": {DiskHints{DeviceName: "/dev/mapper/mpatha"}, []string{"deviceName"}},
		"upper case":      {DiskHints{WWN: "0x5001B448B1A00003"}, []string{`write "0x5001b448b1a00003"`}},
		"without 0x":      {DiskHints{WWN: "600A098038314D6B4B2B4E4F5A5A3000"}, []string{`write "0x600a098038314d6b4b2b4e4f5a5a3000"`}},
	} {
		var got []string
		for _, r := range test.hints.RefusedByService() {
			got = append(got, r.Field+" "+r.Message+" "+r.Remedy)
		}
		if !slices.EqualFunc(got, test.want, strings.Contains) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
