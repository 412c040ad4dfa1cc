package iso_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// wish is all that a layout takes.
func wish(l isotest.Layout) iso.Customization {
	c := iso.Customization{Ignition: []byte(config)}
	if takesKeyfiles(l) {
		c.Keyfiles = []iso.Keyfile{{Name: "eth0.nmconnection", Content: []byte(keyfile)}}
	}
	if takesKargs(l) {
		c.Kargs = iso.KargEdit{Append: []string{"console=ttyS0,115200n8"}, Replace: []iso.Replacement{{Old: "ignition.platform.id=metal", New: "ignition.platform.id=qemu"}}}
	}
	return c
}

func TestCustomizeEveryLayout(t *testing.T) {
	for _, l := range isotest.Layouts() {
		t.Run(l.Name, func(t *testing.T) {
			base := open(t, l)
			c := wish(l)
			image, result := customize(t, base, c)
			if result.Compression != "gzip" || result.Grown || len(result.Warnings) > 0 {
				t.Errorf("result %+v", result)
			}
			again := reopen(t, image)
			check.Equal(t, string(must.Get(again.Ignition())(t)), config, "Ignition")
			check.Equal(t, cmp.Diff(must.Get(again.Keyfiles())(t), c.Keyfiles), "", "keyfiles")
			if takesKargs(l) {
				want := strings.Replace(l.DefaultKargs(), "=metal", "=qemu", 1) + " console=ttyS0,115200n8"
				check.Equal(t, again.Kargs(), want, "kernel arguments")
			}
			if image.Size() != base.Info().Size {
				t.Errorf("%d bytes, the base has %d", image.Size(), base.Info().Size)
			}
			checkPlaces(t, base, image)

			bare, result := customize(t, again, iso.Customization{Existing: iso.Replace, Kargs: iso.KargEdit{Reset: takesKargs(l)}})
			if diff := changes(t, bare, base.Image()); len(diff) > 0 || bare.Size() != base.Info().Size || result.Compression != "none" {
				t.Errorf("with all taken out again it differs from the base at %v", diff)
			}
		})
	}
}

// changes are the runs of bytes in which an image differs from its base. What an extent takes from
// the same place of the base is not read.
func changes(t *testing.T, image, base *overlay.Image) []overlay.Extent {
	t.Helper()
	var found []overlay.Extent
	for _, e := range image.Extents() {
		if e.Kind == overlay.Base && e.SourceOffset == e.Offset {
			continue
		}
		now, before := make([]byte, e.Length), make([]byte, e.Length)
		_, err := image.ReadAt(now, e.Offset)
		if _, err2 := base.ReadAt(before, e.Offset); errors.Join(err, err2) != nil {
			t.Fatal(errors.Join(err, err2))
		}
		for i := range now {
			if now[i] != before[i] {
				found = append(found, overlay.Extent{Offset: e.Offset + int64(i), Length: 1})
			}
		}
	}
	return found
}

// checkPlaces holds what changed to the areas: everything that boots is elsewhere.
func checkPlaces(t *testing.T, base *iso.Base, image *overlay.Image) {
	t.Helper()
	const areas = 1 + 2 // Ignition, and the kernel arguments of at most two boot menus
	changed := 0
	for _, e := range image.Extents() {
		if e.Kind != overlay.Base {
			changed++
		}
	}
	if changed > areas {
		t.Errorf("%d extents are not the base's, want at most %d", changed, areas)
	}
	volume := must.Get(iso9660.Read(base.Image(), base.Image().Size()))(t)
	for _, r := range changes(t, image, base.Image()) {
		within := false
		for _, path := range []string{"images/ignition.img", "images/cdboot.img", "EFI/redhat/grub.cfg", "isolinux/isolinux.cfg", "boot/grub/grub.cfg"} {
			if f, err := volume.Find(path); err == nil && f.Offset <= r.Offset && r.Offset+r.Length <= f.Offset+f.Size {
				within = true
			}
		}
		if !within {
			t.Errorf("bytes %d to %d changed, which are in no file with an area", r.Offset, r.Offset+r.Length)
		}
	}
}

func TestGrowWhatDoesNotFit(t *testing.T) {
	large := noise(280_000)
	for _, l := range isotest.Layouts() {
		t.Run(l.Name, func(t *testing.T) {
			base := open(t, l)
			image, result, err := base.Customize(iso.Customization{Ignition: large})
			if l.Arch == "s390x" {
				var tooLarge *iso.TooLargeError
				if !errors.As(err, &tooLarge) || tooLarge.Largest[0].Path != "/opt/large" {
					t.Fatalf("error %v, want one that names the file", err)
				}
				if !strings.Contains(err.Error(), "on s390x") || !strings.Contains(err.Error(), l.Name+".iso") {
					t.Errorf("error %q names neither image nor reason", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !result.Grown || result.AreaBytes < result.IgnitionBytes || image.Size() <= base.Info().Size {
				t.Errorf("result %+v, image of %d bytes", result, image.Size())
			}
			again := reopen(t, image)
			if got, err := again.Ignition(); err != nil || !bytes.Equal(got, large) {
				t.Errorf("%d bytes of Ignition came back, error %v", len(got), err)
			}
			if again.Info().Boot != base.Info().Boot {
				t.Errorf("boots as %+v, the base as %+v", again.Info().Boot, base.Info().Boot)
			}
		})
	}
	base := open(t, layout(t, "x86_64-2023-07"))
	if _, _, err := base.Customize(iso.Customization{Ignition: large, NoGrow: true}); err == nil || !strings.Contains(err.Error(), "do not permit a larger area") {
		t.Errorf("told not to grow: error %v", err)
	}
}

// Text that gzip takes for nearly incompressible, for its matches are further apart than 32 KiB, fits
// with xz and needs no growing.
func TestXZWhereGzipDoesNotFit(t *testing.T) {
	block := base64.StdEncoding.EncodeToString(random(60_000))
	var sources []string
	for i := range 5 {
		sources = append(sources, fmt.Sprintf(`{"path":"/f%d","mode":420,"contents":{"source":"data:;base64,%s"}}`, i, block))
	}
	wanted := fmt.Sprintf(`{"ignition":{"version":"3.2.0"},"storage":{"files":[%s]}}`, strings.Join(sources, ","))
	for _, name := range []string{"x86_64-2023-07", "s390x-2023-07"} {
		image, result := customize(t, open(t, layout(t, name)), iso.Customization{Ignition: []byte(wanted)})
		if result.Compression != "xz" || result.Grown {
			t.Errorf("%s: result %+v", name, result)
		}
		if got, err := reopen(t, image).Ignition(); err != nil || string(got) != wanted {
			t.Errorf("%s: %d bytes came back, error %v", name, len(got), err)
		}
	}
}

func TestGrowTwice(t *testing.T) {
	base := open(t, layout(t, "x86_64-2021-12"))
	first, _ := customize(t, base, iso.Customization{Ignition: noise(270_000)})
	grown := reopen(t, first)
	second, _ := customize(t, grown, iso.Customization{Ignition: noise(350_000), Existing: iso.Replace})
	again := reopen(t, second)
	if got, err := again.Ignition(); err != nil || !bytes.Equal(got, noise(350_000)) {
		t.Errorf("%d bytes came back, error %v", len(got), err)
	}
	small, result := customize(t, again, iso.Customization{Ignition: []byte(config), Existing: iso.Replace})
	if result.Grown {
		t.Error("grew for a config that fits")
	}
	if bytes.Contains(content(t, small), []byte("/opt/large")) {
		t.Error("what was replaced is still there")
	}
}

func TestExisting(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	image, _ := customize(t, base, iso.Customization{Ignition: []byte(config), Keyfiles: []iso.Keyfile{{Name: "a.nmconnection", Content: []byte(keyfile)}}})
	used := reopen(t, image)
	other := `{"ignition":{"version":"3.3.0"},"storage":{"files":[{"path":"/etc/issue","mode":420,"contents":{"source":"data:,bye"}}]}}`

	_, _, err := used.Customize(iso.Customization{Ignition: []byte(other)})
	if !errors.Is(err, iso.ErrCustomized) || !strings.Contains(err.Error(), "images/ignition.img holds config.ign, etc/coreos-firstboot-network/a.nmconnection") {
		t.Errorf("refused: error %v", err)
	}
	merged, _ := customize(t, used, iso.Customization{Ignition: []byte(other), Existing: iso.Merge})
	got, err := reopen(t, merged).Ignition()
	if err != nil || !bytes.Contains(got, []byte("/etc/motd")) || !bytes.Contains(got, []byte("/etc/issue")) || !bytes.Contains(got, []byte(`"3.3.0"`)) {
		t.Errorf("merged: %s, error %v", got, err)
	}
	if kept, err := reopen(t, merged).Keyfiles(); err != nil || len(kept) != 1 {
		t.Errorf("merged: keyfiles %v, error %v", kept, err)
	}
	replaced, _ := customize(t, used, iso.Customization{Ignition: []byte(other), Existing: iso.Replace})
	check.Equal(t, string(must.Get(reopen(t, replaced).Ignition())(t)), other, "replaced")
	if kept, err := reopen(t, replaced).Keyfiles(); err != nil || len(kept) != 0 {
		t.Errorf("replaced: keyfiles %v, error %v", kept, err)
	}
	kargs, _ := customize(t, used, iso.Customization{Kargs: iso.KargEdit{Append: []string{"quiet"}}, Existing: iso.Merge})
	check.Equal(t, string(must.Get(reopen(t, kargs).Ignition())(t)), config, "only kernel arguments")
}

func TestHostnames(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	for name, c := range map[string]struct {
		names map[string]string
		want  []string
		err   string
	}{
		"one for all":    {names: map[string]string{"": "node-0.example.com"}, want: []string{"/etc/hostname", "data:,node-0.example.com", "/etc/motd", `"3.2.0"`}},
		"by MAC":         {names: map[string]string{"52-54-00-00-00-0A": "a", "52:54:00:00:00:02": "b"}, want: []string{"/etc/oaictl/hostnames/52:54:00:00:00:0a", "f=/etc/oaictl/hostnames/$$mac;", "oaictl-hostname.service"}},
		"bad MAC":        {names: map[string]string{"eth0": "a"}, err: `"eth0" is not a MAC address`},
		"bad name":       {names: map[string]string{"": "a_b"}, err: `hostname "a_b" is not a valid name`},
		"twice":          {names: map[string]string{"52:54:00:00:00:02": "a", "52-54-00-00-00-02": "a"}, err: "already has a hostname"},
		"both ways":      {names: map[string]string{"": "a", "52:54:00:00:00:02": "b"}, err: "cannot be used together"},
		"empty for this": {names: map[string]string{"52:54:00:00:00:02": ""}, err: "is not a valid name"},
	} {
		t.Run(name, func(t *testing.T) {
			image, _, err := base.Customize(iso.Customization{Ignition: []byte(config), Hostname: c.names})
			if c.err != "" {
				check.Says(t, err, c.err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := must.Get(reopen(t, image).Ignition())(t)
			for _, want := range c.want {
				if !bytes.Contains(got, []byte(want)) {
					t.Errorf("no %s in %s", want, got)
				}
			}
		})
	}
}

func TestCustomizeRefuses(t *testing.T) {
	modern, old, bare := layout(t, "x86_64-2023-07"), layout(t, "x86_64-2022-02"), layout(t, "x86_64-2020-09")
	for name, c := range map[string]struct {
		layout isotest.Layout
		wish   iso.Customization
		want   string
	}{
		"bad Ignition":      {modern, iso.Customization{Ignition: []byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"etc"}]}}`)}, "the Ignition config:1:"},
		"keyfile elsewhere": {modern, iso.Customization{Keyfiles: []iso.Keyfile{{Name: "../x.nmconnection", Content: []byte(keyfile)}}}, "without a directory"},
		"keyfile broken":    {modern, iso.Customization{Keyfiles: []iso.Keyfile{{Name: "x.nmconnection", Content: []byte("nonsense")}}}, "x.nmconnection"},
		"keyfile too early": {old, iso.Customization{Keyfiles: []iso.Keyfile{{Name: "x.nmconnection", Content: []byte(keyfile)}}}, "live-initrd-network"},
		"no arguments":      {bare, iso.Customization{Kargs: iso.KargEdit{Append: []string{"quiet"}}}, "no areas for kernel arguments"},
		"no such argument":  {modern, iso.Customization{Kargs: iso.KargEdit{Delete: []string{"quiet"}}}, `"quiet"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := open(t, c.layout).Customize(c.wish)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.layout.Name+".iso") {
				t.Errorf("error %v, want one that names the image and says %q", err, c.want)
			}
		})
	}
}
