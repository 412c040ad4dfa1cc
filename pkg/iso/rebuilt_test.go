package iso_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// moved returns an image with one of its files at another place, as when it was rebuilt.
func moved(tb testing.TB, old *overlay.Image, path string) *overlay.Image {
	tb.Helper()
	volume := must.Get(iso9660.Read(old, old.Size()))(tb)
	f := must.Get(volume.Find(path))(tb)
	offset, total := volume.RoomFor(f.Size)
	patches := must.Get(volume.Relocate(f, offset, f.Size, total))(tb)
	image := old.Clone()
	image.Truncate(total)
	image.Zero(f.Offset, f.Size)
	image.Overlay(offset, content(tb, old.Slice(f.Offset, f.Size)))
	for _, p := range patches {
		image.Overlay(p.Offset, p.Data)
	}
	return image
}

// What another tool rebuilt is changed and not damaged; what is damaged in it is found all the same.
func TestVerifyWhatWasRebuilt(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	rebuilt := moved(t, moved(t, base.Image(), "images/pxeboot/initrd.img"), "images/pxeboot/vmlinuz")
	sound := reopen(t, rebuilt)
	if damage, err := sound.Verify(t.Context()); err != nil || len(damage) > 0 {
		t.Errorf("damage %v, error %v", damage, err)
	}
	if base.Rebuilt() || !sound.Rebuilt() {
		t.Errorf("as it was built: rebuilt %t; afterwards: %t", base.Rebuilt(), sound.Rebuilt())
	}
	if got := inspect(t, sound).Problems; len(got) != 1 || !strings.Contains(got[0], iso.ErrRebuilt.Error()) {
		t.Errorf("problems %v", got)
	}
	if _, err := sound.Minimal(t.Context(), rootfsURL); !errors.Is(err, iso.ErrRebuilt) {
		t.Errorf("its minimal ISO: error %v", err)
	}
	hurt := reopen(t, change(t, sound, "images/pxeboot/rootfs.img", 4096, []byte("damage")))
	damage, err := hurt.Verify(t.Context())
	if err != nil || len(damage) != 1 || damage[0].Place != "images/pxeboot/rootfs.img" {
		t.Errorf("with another root filesystem: damage %v, error %v", damage, err)
	}
}

// An area that was made larger is not mistaken for that, nor does it hide damage once it is empty again.
func TestAGrownAreaIsNotRebuilt(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	image, result := customize(t, base, iso.Customization{Ignition: noise(280_000)})
	if grown := reopen(t, image); !result.Grown || len(inspect(t, grown).Problems) > 0 {
		t.Errorf("grown %v, problems %v", result.Grown, inspect(t, grown).Problems)
	}
	emptied, _ := customize(t, reopen(t, image), iso.Customization{Existing: iso.Replace})
	hurt := change(t, reopen(t, emptied), "images/pxeboot/vmlinuz", 5000, []byte("damage"))
	damage, err := reopen(t, hurt).Verify(t.Context())
	if err != nil || !slices.ContainsFunc(damage, func(d iso.Damage) bool { return d.Place == "coreos/miniso.dat" }) {
		t.Errorf("damage %v, error %v", damage, err)
	}
}
