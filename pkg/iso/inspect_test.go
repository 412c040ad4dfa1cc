package iso_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

func inspect(tb testing.TB, base *iso.Base) *iso.Report {
	tb.Helper()
	return must.Get(base.Inspect(tb.Context()))(tb)
}

func TestInspectEveryLayout(t *testing.T) {
	for _, l := range isotest.Layouts() {
		t.Run(l.Name, func(t *testing.T) {
			base := open(t, l)
			got := inspect(t, base)
			os, version, _ := strings.Cut(l.VolumeID, "-")
			area := iso.IgnitionReport{AreaBytes: isotest.IgnitionAreaSize, Compression: "none", Members: []iso.Member{}}
			want := &iso.Report{
				VolumeID: l.VolumeID, Size: got.Size, Arch: l.Arch, OS: os, Version: version, Ignition: area,
				Network: []iso.NetworkFile{}, Secrets: []iso.Secret{}, Boot: got.Boot, Features: got.Features,
				Live: iso.LiveReport{InitrdID: l.VolumeID, RootfsID: l.VolumeID, Match: true},
			}
			if takesKargs(l) {
				want.Kargs = iso.KargsReport{Current: l.DefaultKargs(), Default: l.DefaultKargs(), Limit: got.Kargs.Limit}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (got.Features != nil) != l.Features || (got.Kargs.Limit > 0) != takesKargs(l) {
				t.Errorf("features %v, limit %d", got.Features, got.Kargs.Limit)
			}
			wantBoot := iso.Boot{BIOSCD: l.Arch == "x86_64", BIOSDisk: l.Hybrid, UEFICD: l.Arch == "x86_64" || l.Arch == "aarch64", UEFIDisk: l.Hybrid}
			if l.Arch == "x86_64" && got.Boot != wantBoot {
				t.Errorf("boots as %+v, want %+v", got.Boot, wantBoot)
			}
			if damage, err := base.Verify(t.Context()); err != nil || len(damage) > 0 {
				t.Errorf("damage %v, error %v", damage, err)
			}
		})
	}
}

const secretive = `{"ignition":{"version":"3.2.0"},"storage":{"files":[` +
	`{"path":"/root/.docker/config.json","mode":420,"contents":{"source":"data:,%7B%22auths%22%3A%7B%22q%22%3A%7B%22auth%22%3A%22YTpi%22%7D%7D%7D"}},` +
	`{"path":"/etc/assisted/network/host0/eth0.nmconnection","mode":384,"contents":{"source":"data:,x"}}]}}`

// archive makes what a tool embeds: members in a cpio archive.
func archive(tb testing.TB, members map[string]string) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := cpio.NewWriter(&out)
	for _, name := range []string{"config.ign", "etc/coreos-firstboot-network/b.nmconnection", "etc/assisted/network/host1/eno1.nmconnection", "agent-files/agent-tui"} {
		if content, there := members[name]; there {
			must.Do(tb, w.Write(name, 0o100600, []byte(content)))
		}
	}
	must.Do(tb, w.Close())
	return out.Bytes()
}

func packed(tb testing.TB, data []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := must.Get(open(&out))(tb)
	must.Get(w.Write(data))(tb)
	must.Do(tb, w.Close())
	return out.Bytes()
}

func TestInspectFindsWhatOtherToolsEmbed(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	volume := must.Get(iso9660.Read(base.Image(), base.Image().Size()))(t)
	area := must.Get(volume.Find("images/ignition.img"))(t)
	members := archive(t, map[string]string{"config.ign": secretive, "etc/coreos-firstboot-network/b.nmconnection": keyfile})
	for name, open := range map[string]func(io.Writer) (io.WriteCloser, error){
		"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		"xz":   func(w io.Writer) (io.WriteCloser, error) { return xz.WriterConfig{CheckSum: xz.CRC32}.NewWriter(w) },
		"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
		"none": nil,
	} {
		t.Run(name, func(t *testing.T) {
			data := members
			if open != nil {
				data = packed(t, members, open)
			}
			image := base.Image().Clone()
			image.Overlay(area.Offset, data)
			got := inspect(t, reopen(t, image))
			if got.Ignition.Compression != name || len(got.Ignition.Members) != 2 || got.Ignition.Bytes == 0 {
				t.Errorf("Ignition %+v", got.Ignition)
			}
			wantSecrets := []iso.Secret{{In: "images/ignition.img", Path: "/root/.docker/config.json", Kind: "pull-secret"}}
			if diff := cmp.Diff(wantSecrets, got.Secrets); diff != "" {
				t.Errorf("secrets (-want +got):\n%s", diff)
			}
			var names []string
			for _, n := range got.Network {
				names = append(names, n.Name)
			}
			check.Slice(t, names, []string{"/etc/assisted/network/host0/eth0.nmconnection", "b.nmconnection"}, "network")
			files, err := reopen(t, image).NetworkFiles()
			if want := []iso.Keyfile{{Name: "b.nmconnection", Content: []byte(keyfile)}, {Name: "host0-eth0.nmconnection", Content: []byte("x")}}; err != nil || cmp.Diff(want, files) != "" {
				t.Errorf("network files %v (-want +got):\n%s", err, cmp.Diff(want, files))
			}
		})
	}
}

// The agent-based installer appends its files to the initrd.
func TestInspectFindsWhatWasAppendedToTheInitrd(t *testing.T) {
	l := layout(t, "x86_64-2023-07")
	base := open(t, l)
	volume := must.Get(iso9660.Read(base.Image(), base.Image().Size()))(t)
	initrd := must.Get(volume.Find("images/pxeboot/initrd.img"))(t)
	added := packed(t, archive(t, map[string]string{"agent-files/agent-tui": "#!", "etc/assisted/network/host1/eno1.nmconnection": "[connection]\nid=w\n\n[wifi-security]\npsk=12345678\n"}),
		func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	size := initrd.Size + int64(len(added))
	offset, total := volume.RoomFor(size)
	patches := must.Get(volume.Relocate(initrd, offset, size, total))(t)
	image := base.Image().Clone()
	image.Truncate(total)
	image.Overlay(offset, slices.Concat(isotest.Content(t, l, "images/pxeboot/initrd.img"), added))
	for _, p := range patches {
		image.Overlay(p.Offset, p.Data)
	}
	got := inspect(t, reopen(t, image))
	if len(got.Ramdisks) != 1 || len(got.Ramdisks[0].Members) != 2 || got.Ramdisks[0].Path != "images/pxeboot/initrd.img" {
		t.Errorf("ramdisks %+v", got.Ramdisks)
	}
	if want := []iso.Secret{{In: "images/pxeboot/initrd.img", Path: "etc/assisted/network/host1/eno1.nmconnection", Kind: "network-password"}}; cmp.Diff(want, got.Secrets) != "" {
		t.Errorf("secrets %+v", got.Secrets)
	}
	if len(got.Network) != 1 || !got.Live.Match {
		t.Errorf("network %+v, live %+v", got.Network, got.Live)
	}
}

func TestReportIsTheJSONThatIsPromised(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	image, _ := customize(t, base, wish(layout(t, "x86_64-2023-07")))
	data := must.Get(json.Marshal(inspect(t, reopen(t, image))))(t)
	var got map[string]any
	must.Do(t, json.Unmarshal(data, &got))
	for key, fields := range map[string][]string{
		"volumeId": nil, "size": nil, "arch": nil, "os": nil, "network": nil, "features": nil, "secrets": nil,
		"ignition": {"bytes", "areaBytes", "compression", "members"},
		"kargs":    {"current", "default", "limit"},
		"boot":     {"biosCd", "biosDisk", "uefiCd", "uefiDisk"},
	} {
		value, there := got[key]
		if !there || value == nil {
			t.Errorf("no %s in %s", key, data)
		}
		for _, field := range fields {
			if _, there := value.(map[string]any)[field]; !there {
				t.Errorf("no %s.%s in %s", key, field, data)
			}
		}
	}
}

// change returns a copy of the layout's image with bytes changed at an offset within one of its files.
func change(tb testing.TB, base *iso.Base, path string, at int64, data []byte) *overlay.Image {
	tb.Helper()
	volume := must.Get(iso9660.Read(base.Image(), base.Image().Size()))(tb)
	f := must.Get(volume.Find(path))(tb)
	image := base.Image().Clone()
	image.Overlay(f.Offset+at, data)
	return image
}

func TestVerifyFindsDamage(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	old := open(t, layout(t, "x86_64-2021-12"))
	rootfs := int64(len(isotest.Content(t, layout(t, "x86_64-2023-07"), "images/pxeboot/rootfs.img")))
	menu := isotest.Content(t, layout(t, "x86_64-2023-07"), "EFI/redhat/grub.cfg")
	legacy := old.Image().Clone()
	legacy.Overlay(32744+8, []byte{0, 0x10})
	for name, c := range map[string]struct {
		image *overlay.Image
		want  string
	}{
		"Ignition area": {change(t, base, "images/ignition.img", 0, []byte("\x1f\x8bnonsense")), "images/ignition.img: "},
		"rootfs":        {change(t, base, "images/pxeboot/rootfs.img", 4096, []byte("damage")), "images/pxeboot/rootfs.img: bytes 0 to"},
		"rootfs id":     {change(t, base, "images/pxeboot/rootfs.img", rootfs-128-140, bytes.Repeat([]byte{'0'}, 100)), "images/pxeboot/rootfs.img: "},
		"initrd":        {change(t, base, "images/pxeboot/initrd.img", 5000, []byte("damage")), "images/pxeboot/initrd.img: "},
		"kernel":        {change(t, base, "images/pxeboot/vmlinuz", 5000, []byte("damage")), "coreos/miniso.dat: "},
		"one boot menu": {change(t, base, "EFI/redhat/grub.cfg", int64(bytes.Index(menu, []byte("platform.id=metal"))), []byte("platform.id=qemux")), "kernel arguments: "},
		"header":        {legacy, "system area: its header has the Ignition area at byte"},
	} {
		t.Run(name, func(t *testing.T) {
			damage := must.Get(reopen(t, c.image).Verify(t.Context()))(t)
			if !slices.ContainsFunc(damage, func(d iso.Damage) bool { return strings.HasPrefix(d.String(), c.want) }) {
				t.Errorf("damage %v, want %q", damage, c.want)
			}
		})
	}
}

// TestEmptyFilesLieNowhere: the records of files name a place far beyond the image, with no bytes.
func TestEmptyFilesLieNowhere(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	image, whole := base.Image().Clone(), content(t, base.Image())
	for _, path := range []string{"images/pxeboot/initrd.img", "images/pxeboot/rootfs.img"} {
		n := uint32(len(isotest.Content(t, layout(t, "x86_64-2023-07"), path)))
		size := binary.BigEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, n), n)
		for at := 0; ; at++ {
			next := bytes.Index(whole[at:], size)
			if next < 0 {
				break
			}
			at += next
			image.Overlay(int64(at)-8, []byte("\x00\x00\xff\x00\x00\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
		}
	}
	damaged := reopen(t, image)
	if problems := inspect(t, damaged).Problems; len(problems) == 0 {
		t.Error("an image without an initrd has no problem")
	}
	if damage, err := damaged.Verify(t.Context()); err != nil || len(damage) == 0 {
		t.Errorf("damage %v, error %v", damage, err)
	}
}

func TestVerifyWhatIsCustomized(t *testing.T) {
	for _, name := range []string{"x86_64-2021-12", "x86_64-2023-07", "aarch64-2023-07", "s390x-2023-07"} {
		base := open(t, layout(t, name))
		c := wish(layout(t, name))
		if !strings.HasPrefix(name, "s390x") {
			c.Ignition = noise(280_000)
		}
		image, _ := customize(t, base, c)
		if damage, err := reopen(t, image).Verify(t.Context()); err != nil || len(damage) > 0 {
			t.Errorf("%s: damage %v, error %v", name, damage, err)
		}
		made := must.Get(base.Minimal(t.Context(), rootfsURL))(t)
		image, _ = customize(t, made, c)
		if damage, err := reopen(t, image).Verify(t.Context()); err != nil || len(damage) > 0 {
			t.Errorf("%s, minimal: damage %v, error %v", name, damage, err)
		}
	}
}

// renamed gives a file of an image another name, in the Rock Ridge tree and in the Joliet one. Plain
// names lead nowhere beside them.
func renamed(data []byte, name string) []byte {
	other := name[:len(name)-1] + "x"
	return bytes.ReplaceAll(bytes.ReplaceAll(data, []byte(name), []byte(other)), ucs2(name), ucs2(other))
}

func TestOpenRefuses(t *testing.T) {
	good := isotest.Make(t, layout(t, "x86_64-2023-07"))
	data := must.Get(os.ReadFile(good))(t)
	igninfo := []byte("{\n    \"file\": \"images/ignition.img\"\n}\n")
	describe := func(text string) []byte {
		padded := fmt.Sprintf("%-*s", len(igninfo), text)
		return bytes.Replace(data, igninfo, []byte(padded)[:len(igninfo)], 1)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":            {nil, "image"},
		"text":             {[]byte(strings.Repeat("no image\n", 9000)), "not an ISO 9660 image"},
		"truncated":        {data[:len(data)/2], "truncated"},
		"no area":          {renamed(renamed(data, "igninfo.json"), "ignition.img"), "no Ignition area"},
		"igninfo no JSON":  {describe(`{"file":`), "coreos/igninfo.json: "},
		"igninfo no file":  {describe(`{"file":"images/nothing"}`), `coreos/igninfo.json names "images/nothing"`},
		"igninfo negative": {describe(`{"file":"images/efiboot.img","offset":-1}`), "coreos/igninfo.json: "},
		"igninfo outside":  {describe(`{"file":"README","length":99}`), "coreos/igninfo.json"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.iso")
			must.Do(t, os.WriteFile(path, c.data, 0o600))
			_, err := iso.Open(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "bad.iso") {
				t.Errorf("error %v, want one that names the file and says %q", err, c.want)
			}
		})
	}
	check.Says(t, check.Err(iso.Open(t.TempDir())), "neither a file nor a disk", "a directory: error")
	if _, err := iso.Open(filepath.Join(t.TempDir(), "none.iso")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openFile(t, good).Inspect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

// A minimal ISO has no root filesystem: the report does not say whether it matches.
func TestLiveReportOfAMinimalISO(t *testing.T) {
	for want, report := range map[string]iso.LiveReport{
		`{"initrdId":"a"}`: {InitrdID: "a"},
		`{"initrdId":"a","rootfsId":"a","match":true}`:  {InitrdID: "a", RootfsID: "a", Match: true},
		`{"initrdId":"a","rootfsId":"b","match":false}`: {InitrdID: "a", RootfsID: "b"},
	} {
		check.Contains(t, string(must.Get(json.Marshal(iso.Report{Live: report}))(t)), `"live":`+want)
	}
}
