package iso_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// describedAs returns the layout's image with another igninfo.json of the same length.
func describedAs(tb testing.TB, base *iso.Base, text string) *overlay.Image {
	tb.Helper()
	volume := must.Get(iso9660.Read(base.Image(), base.Image().Size()))(tb)
	f := must.Get(volume.Find("coreos/igninfo.json"))(tb)
	if int64(len(text)) > f.Size {
		tb.Fatalf("%s has more than %d bytes", text, f.Size)
	}
	return change(tb, base, "coreos/igninfo.json", 0, fmt.Appendf(nil, "%-*s", f.Size, text))
}

// For any igninfo.json, a config is not written over what the machine boots.
func TestOpenRefusesAnAreaOverWhatBoots(t *testing.T) {
	for text, want := range map[string]string{
		`{"file":"EFI/redhat/grub.cfg"}`:       "lies over the area for kernel arguments at byte ",
		`{"file":"isolinux/isolinux.cfg"}`:     "lies over the area for kernel arguments at byte ",
		`{"file":"isolinux/isolinux.bin"}`:     "lies in the boot image isolinux/isolinux.bin",
		`{"file":"images/efiboot.img"}`:        "lies in the boot image images/efiboot.img",
		`{"file":"images/pxeboot/vmlinuz"}`:    "lies in images/pxeboot/vmlinuz",
		`{"file":"images/pxeboot/initrd.img"}`: "lies in images/pxeboot/initrd.img",
		`{"file":"images/pxeboot/rootfs.img"}`: "lies in images/pxeboot/rootfs.img",
		`{"file":"coreos/miniso.dat"}`:         "lies in coreos/miniso.dat",
		`{"file":"coreos/igninfo.json"}`:       "lies in coreos/igninfo.json",
	} {
		for _, name := range []string{"x86_64-2023-07", "x86_64-joliet-only", "x86_64-plain-names"} {
			image := describedAs(t, open(t, layout(t, name)), text)
			base, err := iso.OpenReader("bad.iso", image, image.Size())
			if err == nil {
				_, _, made := base.Customize(iso.Customization{Existing: iso.Replace})
				t.Errorf("%s, %s: opened; customised, with error %v", name, text, made)
				continue
			}
			if !strings.HasPrefix(err.Error(), "bad.iso: the Ignition area, ") || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
				t.Errorf("%s, %s: error %q, want one that says %q", name, text, err, want)
			}
		}
	}
}

// On s390x the area is in what boots, behind the initrd.
func TestOpenRefusesAnAreaBeforeTheInitrdsEnd(t *testing.T) {
	base := open(t, layout(t, "s390x-2023-07"))
	for _, text := range []string{
		`{"file":"images/cdboot.img"}`,
		`{"file":"images/cdboot.img","offset":131072}`,
		`{"file":"images/cdboot.img","offset":66688,"length":896}`,
	} {
		image := describedAs(t, base, text)
		check.Says(t, check.Err(iso.OpenReader("bad.iso", image, image.Size())), "not behind its initrd", text)
	}
	image := describedAs(t, base, `{"file":"images/pxeboot/kernel.img"}`)
	check.Says(t, check.Err(iso.OpenReader("bad.iso", image, image.Size())), "lies in images/pxeboot/kernel.img", "the kernel: error")
}

// If only the header of old images describes the area, its place is still restricted.
func TestOpenHoldsTheHeaderAgainstTheFiles(t *testing.T) {
	data := renamed(content(t, open(t, layout(t, "x86_64-2021-12")).Image()), "ignition.img")
	must.Get(iso.OpenReader("old.iso", bytes.NewReader(data), int64(len(data))))(t, "only the header tells of it")
	binary.LittleEndian.PutUint64(data[32<<10-16:], 0)
	check.Says(t, check.Err(iso.OpenReader("old.iso", bytes.NewReader(data), int64(len(data)))), "lies in no file of the image", "the system area: error")
}

// ucs2 is a name as the Joliet tree has it.
func ucs2(s string) []byte {
	var out []byte
	for _, c := range []byte(s) {
		out = append(out, 0, c)
	}
	return out
}

// directoryRecord finds where the record of a directory begins, by its plain name.
func directoryRecord(tb testing.TB, data []byte, name string) int {
	tb.Helper()
	for at := 0; ; at++ {
		next := bytes.Index(data[at:], []byte(name))
		if next < 0 {
			tb.Fatalf("no directory %s", name)
		}
		at += next
		if start := at - 33; data[at-1] == byte(len(name)) && int(data[start]) >= 33+len(name) && data[start+25] == 2 {
			return start
		}
	}
}

// Nothing is made of an image whose directories go in a circle.
func TestOpenRefusesDirectoriesInACircle(t *testing.T) {
	data := content(t, open(t, layout(t, "x86_64-2023-07")).Image())
	images, below := directoryRecord(t, data, "IMAGES"), directoryRecord(t, data, "PXEBOOT")
	copy(data[below+2:below+18], data[images+2:images+18]) // where it is and how long
	path := filepath.Join(t.TempDir(), "circle.iso")
	must.Do(t, os.WriteFile(path, data, 0o600))
	if _, err := iso.Open(path); err == nil || !strings.Contains(err.Error(), "circle.iso: directory /images/pxeboot") || !strings.Contains(err.Error(), "go in a circle") {
		t.Errorf("error %v", err)
	}
}

// Every generation's area is where it may be, also after it was moved.
func TestOpenTakesEveryLayoutsArea(t *testing.T) {
	for _, l := range isotest.Layouts() {
		image, _ := customize(t, open(t, l), iso.Customization{Ignition: []byte(config)})
		reopen(t, image)
	}
}
