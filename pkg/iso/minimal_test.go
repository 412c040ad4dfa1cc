package iso_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
)

const rootfsURL = "http://media.example.com:8080/rootfs.img?arch=x86_64&v=1"

func TestMinimalEveryLayout(t *testing.T) {
	for _, l := range isotest.Layouts() {
		t.Run(l.Name, func(t *testing.T) {
			base := open(t, l)
			made, err := base.Minimal(t.Context(), rootfsURL)
			switch {
			case !l.MiniISO:
				check.Says(t, err, "built without a minimal ISO")
				return
			case !takesKargs(l):
				check.Says(t, err, "no areas for kernel arguments")
				return
			case err != nil:
				t.Fatal(err)
			}
			want := "ignition.firstboot ignition.platform.id=metal coreos.live.rootfs_url=" + rootfsURL
			check.Equal(t, made.Kargs(), want, "kernel arguments")
			if made.Info().Boot != base.Info().Boot {
				t.Errorf("boots as %+v, the full one as %+v", made.Info().Boot, base.Info().Boot)
			}
			checkAsBuilt(t, l, made)

			c := wish(l)
			c.Kargs = iso.KargEdit{Append: []string{"quiet"}}
			image, _ := customize(t, made, c)
			used := reopen(t, image)
			check.Equal(t, string(must.Get(used.Ignition())(t)), config, "Ignition")
			reset, _ := customize(t, used, iso.Customization{Existing: iso.Replace, Kargs: iso.KargEdit{Reset: true}})
			if got := reopen(t, reset).Kargs(); got != want {
				t.Errorf("kernel arguments %q after a reset, want %q", got, want)
			}
		})
	}
}

// checkAsBuilt compares the virtual image with the one that the build made: only the boot menus and kargs.json differ.
func checkAsBuilt(t *testing.T, l isotest.Layout, made *iso.Base) {
	t.Helper()
	built := isotest.Minimal(t, l)
	got := content(t, made.Image())
	if len(got) < len(built) {
		t.Fatalf("%d bytes, the build made %d", len(got), len(built))
	}
	changed := 0
	for i := range built {
		if built[i] != got[i] {
			changed++
		}
	}
	if changed == 0 || changed > 8192 {
		t.Errorf("%d bytes differ from what the build made", changed)
	}
}

func TestMinimalOfWhatWasCustomized(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	for name, c := range map[string]iso.Customization{
		"Ignition":  {Ignition: []byte(config)},
		"arguments": {Kargs: iso.KargEdit{Append: []string{"quiet"}}},
	} {
		image, _ := customize(t, base, c)
		customized := reopen(t, image)
		if _, err := customized.Minimal(t.Context(), rootfsURL); !errors.Is(err, iso.ErrCustomized) {
			t.Errorf("%s: error %v", name, err)
		}
		built := must.Get(customized.AsBuilt())(t)
		made, err := built.Minimal(t.Context(), rootfsURL)
		if err != nil {
			t.Fatalf("%s: of the image as it was built: %v", name, err)
		}
		checkAsBuilt(t, layout(t, "x86_64-2023-07"), made)
	}
	damaged := base.Image().Clone()
	boot := isotest.Content(t, layout(t, "x86_64-2023-07"), "images/pxeboot/vmlinuz")
	at := bytes.Index(content(t, damaged), boot[:4096])
	damaged.Overlay(int64(at+600), []byte("damage"))
	check.Says(t, check.Err(reopen(t, damaged).Minimal(t.Context(), rootfsURL)), "digest", "damaged: error")
}

func TestMinimalRefusesURLs(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	for _, url := range []string{"ftp://host/rootfs.img", "/srv/rootfs.img", "http:///rootfs.img", "http://a b/"} {
		if _, err := base.Minimal(t.Context(), url); err == nil {
			t.Errorf("%q was taken", url)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := base.Minimal(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	made, err := base.Minimal(t.Context(), "") // the failure before is not remembered
	if err != nil || strings.Contains(made.Kargs(), "rootfs_url") {
		t.Errorf("without a URL: error %v", err)
	}
}

func TestNetbootEveryLayout(t *testing.T) {
	for _, l := range isotest.Layouts() {
		t.Run(l.Name, func(t *testing.T) {
			base := open(t, l)
			n := must.Get(base.Netboot(wish(l)))(t)
			initrd := isotest.Content(t, l, "images/pxeboot/initrd.img")
			if got := content(t, n.Initrd); !bytes.HasPrefix(got, initrd) || int64(len(got)-len(initrd)) != n.Result.IgnitionBytes {
				t.Errorf("initrd of %d bytes does not begin with the base's %d", len(got), len(initrd))
			}
			if got := content(t, n.Rootfs); !bytes.Equal(got, isotest.Content(t, l, "images/pxeboot/rootfs.img")) {
				t.Error("another root filesystem")
			}
			if l.Arch == "aarch64" {
				if got := content(t, n.Kernel); !bytes.HasPrefix(got, []byte("MZ")) {
					t.Error("the kernel is still packed")
				}
			}
			if strings.Contains(n.Kargs, "liveiso") || !strings.Contains(n.Kargs, "ignition.firstboot") {
				t.Errorf("kernel arguments %q", n.Kargs)
			}
			checkZ(t, l, n)
			want := "#!ipxe\ninitrd --name initrd http://h/i\nkernel http://h/k initrd=initrd coreos.live.rootfs_url=http://h/r " + n.Kargs + "\nboot\n"
			check.Equal(t, n.Script("http://h/k", "http://h/i", "http://h/r"), want, "script")
		})
	}
}

func checkZ(t *testing.T, l isotest.Layout, n *iso.Netboot) {
	t.Helper()
	if l.Arch != "s390x" {
		if n.AddrSize != nil || n.Ins != "" {
			t.Error("files of s390x")
		}
		return
	}
	size := n.Initrd.Size()
	want := []byte{0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)}
	if !bytes.Equal(n.AddrSize, want) {
		t.Errorf("initrd.addrsize %x, want %x", n.AddrSize, want)
	}
	check.Contains(t, n.Ins, "initrd 0x02000000\n", "generic.ins")
}

// BenchmarkCustomize prepares the image of one machine of many: they share their config and differ in
// network and kernel arguments. In own-config every machine has a config that was not seen before.
func BenchmarkCustomize(b *testing.B) {
	base := open(b, layout(b, "x86_64-2023-07"))
	shared := realistic()
	wanted := iso.Customization{
		Ignition: shared, Kargs: iso.KargEdit{Append: []string{"console=ttyS0,115200n8"}},
		Keyfiles: []iso.Keyfile{{Name: "eth0.nmconnection", Content: []byte(keyfile)}},
	}
	run := func(b *testing.B, prepare func(n int) iso.Customization) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			if _, _, err := base.Customize(prepare(n)); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("shared-config", func(b *testing.B) {
		run(b, func(int) iso.Customization { return wanted })
	})
	b.Run("hostname", func(b *testing.B) {
		run(b, func(n int) iso.Customization {
			c := wanted
			c.Hostname = map[string]string{"": fmt.Sprintf("node-%d", n)}
			return c
		})
	})
	b.Run("own-config", func(b *testing.B) {
		run(b, func(n int) iso.Customization {
			c := wanted
			c.Ignition = bytes.Replace(shared, []byte("file-0"), fmt.Appendf(nil, "file-%d", n+100), 1)
			return c
		})
	})
}

func BenchmarkMinimal(b *testing.B) {
	base := open(b, layout(b, "x86_64-2023-07"))
	must.Get(base.Minimal(b.Context(), rootfsURL))(b)
	b.ReportAllocs()
	for b.Loop() {
		must.Get(base.Minimal(b.Context(), rootfsURL))(b)
	}
}

func BenchmarkOpen(b *testing.B) {
	path := isotest.Make(b, layout(b, "x86_64-2023-07"))
	b.ReportAllocs()
	for b.Loop() {
		base := must.Get(iso.Open(path))(b)
		must.Do(b, base.Close())
	}
}
