package iso_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// For any change to the bytes of an image, reading it and making others of it ends in an error at worst.
func FuzzDamagedImage(f *testing.F) {
	var images []*overlay.Image
	for _, name := range []string{"x86_64-2021-12", "x86_64-2023-07", "s390x-2023-07"} {
		images = append(images, open(f, layout(f, name)).Image())
	}
	f.Add(uint8(0), uint32(32744), []byte("coreiso+\xff\xff\xff\xff\xff\xff\xff\xff"), uint32(0), []byte{})
	f.Add(uint8(1), uint32(16*2048+80), []byte{0xff, 0xff, 0xff, 0x7f}, uint32(0), []byte{})
	f.Add(uint8(1), uint32(512), []byte("EFI PART"), uint32(19*2048), []byte{1})
	f.Add(uint8(2), uint32(66568), []byte{0xff}, uint32(40*2048), []byte{34, 0, 1, 2, 3, 4, 5, 6})
	f.Fuzz(func(t *testing.T, which uint8, at1 uint32, data1 []byte, at2 uint32, data2 []byte) {
		image := images[int(which)%len(images)].Clone()
		size := image.Size()
		image.Overlay(int64(at1)%size, data1)
		image.Overlay(int64(at2)%size, data2)
		base, err := iso.OpenReader("fuzz", image, image.Size())
		if err != nil {
			return
		}
		check.Do(t, check.Err(base.Inspect(t.Context())), "inspecting")
		check.Do(t, check.Err(base.Verify(t.Context())), "verifying")
		// Only that they end is asked of the others: what they refuse is held elsewhere.
		_, _, _ = base.Customize(iso.Customization{Ignition: []byte(config), Kargs: iso.KargEdit{Reset: true}, Existing: iso.Replace})
		_, _ = base.Netboot(iso.Customization{Ignition: []byte(config), Existing: iso.Merge})
		_, _ = base.Minimal(t.Context(), rootfsURL)
	})
}
