package image

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"slices"

	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/isowriter"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// placed is a file as a reader of the image finds it.
type placed struct{ at, size int64 }

// readISO lists an image's files by their Rock Ridge names. It shares nothing
// with the writer: it follows the primary descriptor and the directory records.
func readISO(t testing.TB, iso []byte) map[string]placed {
	t.Helper()
	descriptor := iso[16*2048:]
	if string(descriptor[:6]) != "\x01CD001" {
		t.Fatal("no primary descriptor in sector 16")
	}
	if sectors := binary.LittleEndian.Uint32(descriptor[80:]); int(sectors)*2048 != len(iso) {
		t.Errorf("the volume says %d sectors, the image has %d bytes", sectors, len(iso))
	}
	files := map[string]placed{}
	var walk func(record []byte, prefix string)
	walk = func(record []byte, prefix string) {
		at, size := binary.LittleEndian.Uint32(record[2:]), binary.LittleEndian.Uint32(record[10:])
		if at != binary.BigEndian.Uint32(record[6:]) || size != binary.BigEndian.Uint32(record[14:]) {
			t.Errorf("%s: the two byte orders disagree", prefix)
		}
		dir := iso[int64(at)*2048 : int64(at)*2048+int64(size)]
		for i := 0; i < len(dir); {
			length := int(dir[i])
			if length == 0 { // the rest of the sector is empty
				i += 2048 - i%2048
				continue
			}
			child := dir[i : i+length]
			if i/2048 != (i+length-1)/2048 {
				t.Errorf("%s: a record crosses a sector", prefix)
			}
			i += length
			id := child[33 : 33+int(child[32])]
			if len(id) == 1 && id[0] <= 1 {
				continue
			}
			name := rockRidgeName(child[33+len(id)+(len(id)+1)%2:])
			if name == "" {
				t.Errorf("%s%q has no Rock Ridge name", prefix, id)
			}
			if child[25]&2 != 0 {
				walk(child, prefix+name+"/")
				continue
			}
			files[prefix+name] = placed{int64(binary.LittleEndian.Uint32(child[2:])) * 2048, int64(binary.LittleEndian.Uint32(child[10:]))}
		}
	}
	walk(descriptor[156:190], "")
	return files
}

func rockRidgeName(area []byte) string {
	for len(area) >= 4 && area[2] >= 4 {
		if string(area[:2]) == "NM" {
			return string(area[5:area[2]])
		}
		area = area[area[2]:]
	}
	return ""
}

func liveFor(t testing.TB, version, arch string, minimal bool) *live {
	t.Helper()
	build, err := versions.OSImageFor(version, arch)
	if err != nil {
		t.Fatal(err)
	}
	made, err := newLive(build, minimal)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestLayout(t *testing.T) {
	common := []string{"coreos/features.json", "coreos/igninfo.json", "coreos/kargs.json", kernelPath, initrdPath}
	menus := []string{"EFI/redhat/grub.cfg", efiPath, catalogPath, ignitionPath}
	bios := []string{biosPath, "isolinux/isolinux.cfg"}
	tests := []struct {
		arch    string
		minimal bool
		more    []string
	}{
		{"x86_64", false, slices.Concat(menus, bios, []string{rootfsPath})},
		{"x86_64", true, slices.Concat(menus, bios, []string{extraPath})},
		{"arm64", false, append([]string{rootfsPath}, menus...)},
		{"ppc64le", false, []string{rootfsPath, ignitionPath, "boot/grub/grub.cfg"}},
		{"s390x", false, []string{rootfsPath, zBootPath, insPath, addrsizePath, "images/genericdvd.prm", catalogPath}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s minimal=%v", tt.arch, tt.minimal), func(t *testing.T) {
			made := liveFor(t, "4.21", tt.arch, tt.minimal)
			iso := made.iso.Bytes()
			if len(iso) > 4<<20 {
				t.Errorf("%d bytes are more than tiny", len(iso))
			}
			files := readISO(t, iso)
			var names []string
			for name := range files {
				names = append(names, name)
			}
			want := slices.Concat(common, tt.more)
			slices.Sort(want)
			slices.Sort(names)
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			checkIgnitionArea(t, iso, files, made)
			checkKargs(t, iso, files, made)
			root := iso[files[initrdPath].at:]
			if !bytes.HasPrefix(root, []byte("\x1f\x8b")) || files[initrdPath].size%4 != 0 {
				t.Error("the initrd is not a padded gzip archive")
			}
			if f, ok := files[rootfsPath]; ok && string(iso[f.at+124:f.at+128]) != "hsqs" {
				t.Errorf("no file system at byte 124 of the root archive: %q", iso[f.at+120:f.at+130])
			}
		})
	}
}

// checkIgnitionArea follows igninfo.json to the embed area.
func checkIgnitionArea(t *testing.T, iso []byte, files map[string]placed, made *live) {
	t.Helper()
	var info struct {
		File           string
		Offset, Length int64
	}
	f := files["coreos/igninfo.json"]
	if err := json.Unmarshal(iso[f.at:f.at+f.size], &info); err != nil {
		t.Fatal(err)
	}
	at := files[info.File].at + info.Offset
	length := info.Length
	if length == 0 {
		length = files[info.File].size
	}
	if length != 262144 || (area{at, length}) != made.ignition {
		t.Errorf("igninfo.json says %d+%d, the image has %+v", at, length, made.ignition)
	}
	if i := bytes.IndexFunc(iso[at:at+length], func(r rune) bool { return r != 0 }); i >= 0 {
		t.Errorf("the embed area is not empty at %d", i)
	}
}

// checkKargs follows kargs.json to the default arguments.
func checkKargs(t *testing.T, iso []byte, files map[string]placed, made *live) {
	t.Helper()
	var info struct {
		Default string
		Size    int64
		Files   []struct {
			Path     string
			Offset   int64
			Pad, End string
		}
	}
	f := files["coreos/kargs.json"]
	if err := json.Unmarshal(iso[f.at:f.at+f.size], &info); err != nil {
		t.Fatal(err)
	}
	if len(info.Files) != len(made.kargs.areas) {
		t.Fatalf("%d files with arguments, %d areas", len(info.Files), len(made.kargs.areas))
	}
	for i, file := range info.Files {
		at := files[file.Path].at + file.Offset
		room := iso[at : at+info.Size]
		want := info.Default + file.End
		if !bytes.HasPrefix(room, []byte(want)) {
			t.Errorf("%s: %q", file.Path, room[:len(want)])
		}
		if rest := bytes.Trim(room[len(want):], file.Pad); len(rest) > 0 {
			t.Errorf("%s: %q after the arguments", file.Path, rest)
		}
		if file.Pad == "#" && !bytes.HasPrefix(iso[at+info.Size:], []byte("# COREOS_KARG_EMBED_AREA\n")) {
			t.Errorf("%s: the area does not end at its marker", file.Path)
		}
		if (area{at, info.Size}) != made.kargs.areas[i] {
			t.Errorf("%s: kargs.json says %d+%d, the image has %+v", file.Path, at, info.Size, made.kargs.areas[i])
		}
	}
}

// TestManyFiles fills a directory over several sectors.
func TestManyFiles(t *testing.T) {
	var files []isowriter.File
	for i := range 100 {
		files = append(files, isowriter.File{Path: fmt.Sprintf("dir/f%02d", i), Data: isowriter.BytesOf(fmt.Appendf(nil, "content %d", i))})
	}
	written, err := writeISO("v", files, nil)
	if err != nil {
		t.Fatal(err)
	}
	iso := written.Bytes()
	got := readISO(t, iso)
	for i := range 100 {
		f := got[fmt.Sprintf("dir/f%02d", i)]
		if text := string(iso[f.at : f.at+f.size]); text != fmt.Sprintf("content %d", i) {
			t.Errorf("file %d holds %q", i, text)
		}
	}
}
