package kargs_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oaictl/oaictl/pkg/iso/internal/kargs"
)

const (
	defaults = "coreos.liveiso=rhcos-9.4 ignition.firstboot ignition.platform.id=metal"
	areaSize = 300
)

// image is a fake: boot menus at fixed places, each with an area in its middle.
type image struct {
	data  []byte
	files map[string][2]int64
	json  string
}

func (im *image) locate(path string) (off, size int64, err error) {
	f, found := im.files[path]
	if !found {
		return 0, 0, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return f[0], f[1], nil
}

func (im *image) read() (*kargs.Area, error) {
	return kargs.Read(bytes.NewReader(im.data), im.locate, []byte(im.json))
}

func (im *image) write(patches []kargs.Patch) {
	for _, p := range patches {
		copy(im.data[p.Offset:], p.Data)
	}
}

func area(text string, end, pad byte) []byte {
	b := bytes.Repeat([]byte{pad}, areaSize)
	copy(b, text)
	b[len(text)] = end
	return b
}

const (
	grubOffset     = 40_000
	isolinuxOffset = 50_000
	inFile         = 100
)

func newImage() *image {
	im := &image{
		data: bytes.Repeat([]byte{'.'}, 60_000),
		files: map[string][2]int64{
			"EFI/redhat/grub.cfg":   {grubOffset, 1000},
			"isolinux/isolinux.cfg": {isolinuxOffset, 1000},
		},
		json: `{"default":"` + defaults + `","size":300,"files":[
			{"path":"EFI/redhat/grub.cfg","offset":100},{"path":"isolinux/isolinux.cfg","offset":100,"pad":"#","end":"\n"}]}` + "    \n",
	}
	copy(im.data[grubOffset+inFile:], area(defaults, '\n', '#'))
	copy(im.data[isolinuxOffset+inFile:], area(defaults, '\n', '#'))
	return im
}

// mainframe is an s390x image: one file, and zeros around the arguments.
func mainframe() *image {
	im := newImage()
	im.files = map[string][2]int64{"images/cdboot.img": {grubOffset, 1000}}
	im.json = `{"default":"` + defaults + `","size":300,"files":[{"path":"images/cdboot.img","offset":100,"pad":"\u0000","end":"\u0000"}]}`
	copy(im.data[grubOffset+inFile:], area(defaults, 0, 0))
	return im
}

// legacy is an image from before kargs.json.
func legacy(offsets ...uint64) *image {
	im := newImage()
	im.json, im.files = "", nil
	header := []byte("coreKarg")
	for _, n := range append([]uint64{areaSize, 55_000}, offsets...) {
		header = binary.LittleEndian.AppendUint64(header, n)
	}
	copy(im.data[32672:32672+72], make([]byte, 72))
	copy(im.data[32672:], header)
	copy(im.data[55_000:], area(defaults, '\n', '#'))
	return im
}

func legacyUsual() *image { return legacy(grubOffset+inFile, isolinuxOffset+inFile) }

func TestReadsEveryLayout(t *testing.T) {
	for _, test := range []struct {
		name  string
		image *image
		files int
	}{
		{"kargs.json", newImage(), 2},
		{"s390x", mainframe(), 1},
		{"header in the system area", legacyUsual(), 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, err := test.image.read()
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Fields(defaults)
			if diff := cmp.Diff(want, a.Default); diff != "" {
				t.Errorf("default: %s", diff)
			}
			if diff := cmp.Diff(want, a.Current); diff != "" {
				t.Errorf("current: %s", diff)
			}
			if a.Limit != areaSize-1 || len(a.Files) != test.files || len(a.Damage) > 0 {
				t.Errorf("limit %d, %d files, damage %q", a.Limit, len(a.Files), a.Damage)
			}
			if f := a.Files[0]; f.Offset != grubOffset+inFile || f.Size != areaSize {
				t.Errorf("area %+v", f)
			}
		})
	}
}

func TestEditsAreReadBack(t *testing.T) {
	for _, make := range []func() *image{newImage, mainframe, legacyUsual} {
		im := make()
		pristine := bytes.Clone(im.data)
		a, err := im.read()
		if err != nil {
			t.Fatal(err)
		}
		args, patches, _, err := a.Apply(kargs.Edit{
			Append:  []string{"console=ttyS0,115200n8", `dyndbg="file x +p"`},
			Delete:  []string{"ignition.firstboot"},
			Replace: []kargs.Replacement{{Old: "ignition.platform.id=metal", New: "ignition.platform.id=qemu"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := `coreos.liveiso=rhcos-9.4 ignition.platform.id=qemu console=ttyS0,115200n8 dyndbg="file x +p"`; args != want {
			t.Errorf("arguments %q, want %q", args, want)
		}
		if len(patches) != len(a.Files) {
			t.Fatalf("%d patches of %d files", len(patches), len(a.Files))
		}
		for _, p := range patches {
			if len(p.Data) != areaSize {
				t.Errorf("a patch of %d bytes does not fill the area", len(p.Data))
			}
		}
		im.write(patches)
		a, err = im.read()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(a.Current, " "); got != args || len(a.Damage) > 0 {
			t.Errorf("read back %q, damage %q", got, a.Damage)
		}
		_, patches, _, err = a.Apply(kargs.Edit{Reset: true})
		if err != nil {
			t.Fatal(err)
		}
		im.write(patches)
		if !bytes.Equal(im.data, pristine) {
			t.Error("a reset does not give the pristine image back")
		}
	}
}

func TestApply(t *testing.T) {
	for _, test := range []struct {
		name string
		edit kargs.Edit
		want string // "" where nothing changes
	}{
		{"nothing", kargs.Edit{}, ""},
		{"reset of what is there", kargs.Edit{Reset: true}, ""},
		{"append", kargs.Edit{Append: []string{"a", "b=c"}}, defaults + " a b=c"},
		{"the same twice", kargs.Edit{Append: []string{"a", "a"}}, defaults + " a a"},
		{"delete", kargs.Edit{Delete: []string{"ignition.firstboot"}}, "coreos.liveiso=rhcos-9.4 ignition.platform.id=metal"},
		{"order", kargs.Edit{
			Append: []string{"ignition.firstboot"}, Delete: []string{"ignition.firstboot"},
		}, "coreos.liveiso=rhcos-9.4 ignition.platform.id=metal ignition.firstboot"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, err := newImage().read()
			if err != nil {
				t.Fatal(err)
			}
			args, patches, _, err := a.Apply(test.edit)
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				if len(patches) > 0 || args != defaults {
					t.Errorf("%d patches, arguments %q", len(patches), args)
				}
				return
			}
			if args != test.want || len(patches) != 2 {
				t.Errorf("%d patches, arguments %q, want %q", len(patches), args, test.want)
			}
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		edit kargs.Edit
		text string
	}{
		{"delete what is not there", kargs.Edit{Delete: []string{"quiet"}}, `delete "quiet": there is no such argument`},
		{"delete another value", kargs.Edit{Delete: []string{"ignition.platform.id=qemu"}}, "but ignition.platform.id=metal"},
		{"delete part", kargs.Edit{Delete: []string{"ignition"}}, "no such argument"},
		{"replace what is not there", kargs.Edit{Replace: []kargs.Replacement{{"a", "b"}}}, `replace "a"`},
		{"replace by nothing", kargs.Edit{Replace: []kargs.Replacement{{"ignition.firstboot", ""}}}, "empty"},
		{"empty", kargs.Edit{Append: []string{""}}, "empty"},
		{"two in one", kargs.Edit{Append: []string{"a b"}}, "a space divides"},
		{"space behind", kargs.Edit{Append: []string{"a "}}, "a space divides"},
		{"new line", kargs.Edit{Append: []string{"a\n"}}, "printable ASCII"},
		{"zero", kargs.Edit{Append: []string{"a\x00b"}}, "printable ASCII"},
		{"not ASCII", kargs.Edit{Append: []string{"ä"}}, "printable ASCII"},
		{"open quote", kargs.Edit{Append: []string{`a="b`}}, "quote is not closed"},
		{"comment", kargs.Edit{Append: []string{"#a"}}, "comment"},
		{"too long", kargs.Edit{Append: []string{strings.Repeat("x", 300)}}, "they take 371 bytes, 72 more than the image holds (299)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, err := newImage().read()
			if err != nil {
				t.Fatal(err)
			}
			_, patches, _, err := a.Apply(test.edit)
			if err == nil || !strings.Contains(err.Error(), test.text) || patches != nil {
				t.Errorf("%d patches, error %v, want one with %q", len(patches), err, test.text)
			}
		})
	}
}

func TestFillsTheAreaToTheLastByte(t *testing.T) {
	im := newImage()
	a, err := im.read()
	if err != nil {
		t.Fatal(err)
	}
	_, patches, _, err := a.Apply(kargs.Edit{Append: []string{strings.Repeat("x", a.Limit-len(defaults)-1)}})
	if err != nil {
		t.Fatal(err)
	}
	im.write(patches)
	again, err := im.read()
	if err != nil || len(again.Damage) > 0 {
		t.Fatalf("damage %q, %v", again.Damage, err)
	}
	if n := len(strings.Join(again.Current, " ")); n != a.Limit {
		t.Errorf("%d bytes read back, want %d", n, a.Limit)
	}
}

func TestWarns(t *testing.T) {
	for _, test := range []struct {
		name  string
		image *image
		edit  kargs.Edit
		texts []string
	}{
		{"nothing", newImage(), kargs.Edit{Append: []string{"console=tty0", "console=ttyS1,115200n8", "console=ttysclp0", "quiet"}}, nil},
		{"no baud rate", newImage(), kargs.Edit{Append: []string{"console=ttyS0", "console=ttyAMA0"}}, []string{"console=ttyS0 says no baud rate", "console=ttyAMA0 says no baud rate"}},
		{"no baud rate of a mainframe", mainframe(), kargs.Edit{Append: []string{"console=ttyS1"}}, nil},
		{"characters of GRUB", newImage(), kargs.Edit{Append: []string{"ignition.config.url=http://x/?a&b"}}, []string{"characters that GRUB takes for its own"}},
		{"no GRUB", mainframe(), kargs.Edit{Append: []string{"ignition.config.url=http://x/?a&b"}}, nil},
		{"no root", newImage(), kargs.Edit{Delete: []string{"coreos.liveiso=rhcos-9.4"}}, []string{"will not find its root"}},
		{"another root", newImage(), kargs.Edit{Replace: []kargs.Replacement{{"coreos.liveiso=rhcos-9.4", "coreos.live.rootfs_url=http://x/r"}}}, nil},
		{"no Ignition", newImage(), kargs.Edit{Delete: []string{"ignition.firstboot"}}, []string{"ignition.firstboot is gone"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, err := test.image.read()
			if err != nil {
				t.Fatal(err)
			}
			_, _, warnings, err := a.Apply(test.edit)
			if err != nil {
				t.Fatal(err)
			}
			if len(warnings) != len(test.texts) {
				t.Fatalf("warnings %q, want %q", warnings, test.texts)
			}
			for i, w := range warnings {
				if !strings.Contains(w, test.texts[i]) {
					t.Errorf("warning %q, want %q", w, test.texts[i])
				}
			}
		})
	}
}

func TestDamageIsSaidAndCuredByReset(t *testing.T) {
	for _, test := range []struct {
		name string
		harm func(im *image)
		text string
	}{
		{"files that differ", func(im *image) { copy(im.data[isolinuxOffset+inFile:], area("other", '\n', '#')) }, "isolinux/isolinux.cfg holds other kernel arguments than EFI/redhat/grub.cfg"},
		{"no end", func(im *image) {
			for _, at := range []int{grubOffset, isolinuxOffset} {
				copy(im.data[at+inFile:], area(defaults+" console=ttyS0", '#', '#'))
			}
		}, "EFI/redhat/grub.cfg: nothing ends"},
		{"something behind", func(im *image) { copy(im.data[grubOffset+inFile+200:], "set default=0") }, "EFI/redhat/grub.cfg: something other than padding"},
		{"binary", func(im *image) { copy(im.data[grubOffset+inFile:], "\x01\x02") }, "no printable ASCII"},
	} {
		t.Run(test.name, func(t *testing.T) {
			im := newImage()
			test.harm(im)
			a, err := im.read()
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Damage) == 0 || !strings.Contains(a.Damage[0], test.text) {
				t.Fatalf("damage %q, want %q", a.Damage, test.text)
			}
			if _, _, _, err := a.Apply(kargs.Edit{Append: []string{"x"}}); err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("an edit of damaged arguments: %v", err)
			}
			_, patches, _, err := a.Apply(kargs.Edit{Reset: true})
			if err != nil {
				t.Fatal(err)
			}
			im.write(patches)
			if a, err = im.read(); err != nil || len(a.Damage) > 0 || strings.Join(a.Current, " ") != defaults {
				t.Errorf("after a reset: %q, damage %q, %v", a.Current, a.Damage, err)
			}
		})
	}
}

func TestNoEndLeavesTheArgumentsReadable(t *testing.T) {
	im := newImage()
	copy(im.data[grubOffset+inFile:], area("a b", '#', '#'))
	a, err := im.read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, a.Current); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	entry := `{"path":"EFI/redhat/grub.cfg","offset":100}`
	for _, test := range []struct{ name, json, text string }{
		{"no JSON", "hello", "read kargs.json: invalid character"},
		{"no files", `{"size":300}`, "names 0 files"},
		{"too many files", `{"size":300,"files":[` + strings.TrimSuffix(strings.Repeat(entry+",", 65), ",") + `]}`, "names 65 files"},
		{"no path", `{"size":300,"files":[{"offset":1}]}`, "files[0]: no path"},
		{"unknown file", `{"size":300,"files":[{"path":"x"}]}`, "files[0]: x: file does not exist"},
		{"out of range", `{"size":300,"files":[{"path":"EFI/redhat/grub.cfg","offset":701}]}`, "300 bytes at byte 701 are not within the 1000 of EFI/redhat/grub.cfg"},
		{"negative offset", `{"size":300,"files":[{"path":"EFI/redhat/grub.cfg","offset":-1}]}`, "300 bytes at byte -1"},
		{"negative size", `{"size":-300,"files":[` + entry + `]}`, "-300 bytes"},
		{"overflow", `{"size":300,"files":[{"path":"EFI/redhat/grub.cfg","offset":9223372036854775807}]}`, "not within"},
		{"no number of 64 bits", `{"size":300,"files":[{"path":"EFI/redhat/grub.cfg","offset":18446744073709551615}]}`, "read kargs.json"},
		{"no size", `{"files":[` + entry + `]}`, "an area of 0 bytes"},
		{"overlap", `{"size":300,"files":[` + entry + `,{"path":"EFI/redhat/grub.cfg","offset":399}]}`, "overlap at byte 40399"},
		{"long pad", `{"size":300,"files":[{"path":"EFI/redhat/grub.cfg","offset":1,"pad":"##"}]}`, `files[0].pad: "##" is not one byte`},
		{"empty end", `{"size":300,"files":[{"path":"EFI/redhat/grub.cfg","offset":1,"end":""}]}`, `files[0].end: "" is not one byte`},
		{"end that is a letter", `{"size":300,"files":[{"path":"EFI/redhat/grub.cfg","offset":1,"end":"a"}]}`, "files[0].end: 'a' may stand in an argument"},
		{"binary default", `{"default":"\"a\nb\"","size":300,"files":[` + entry + `]}`, "no printable ASCII"},
		{"default that does not fit", `{"default":"` + strings.Repeat("x", 300) + `","size":300,"files":[` + entry + `]}`, "take 300 bytes, but its areas hold 299"},
	} {
		t.Run(test.name, func(t *testing.T) {
			im := newImage()
			im.json = test.json
			if _, err := im.read(); err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v, want one with %q", err, test.text)
			}
		})
	}
}

func TestReadRefusesHeaders(t *testing.T) {
	absurd := legacyUsual()
	binary.LittleEndian.PutUint64(absurd.data[32672+8:], 1<<40)
	short := newImage()
	short.json, short.data = "", short.data[:1000]
	none := newImage()
	none.json = ""
	for _, test := range []struct {
		name  string
		image *image
		is    error
		text  string
	}{
		{"no header", none, kargs.ErrNone, ""},
		{"no system area", short, kargs.ErrNone, ""},
		{"no areas", legacy(), kargs.ErrNone, ""},
		{"absurd length", absurd, nil, "areas of 1099511627776 bytes"},
		{"out of the image", legacy(1 << 40), nil, "the area at byte 1099511627776"},
		{"beyond 63 bits", legacy(1 << 63), nil, "area at byte 9223372036854775808"},
		{"overlap", legacy(40_000, 40_001), nil, "overlap at byte 40001"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.image.read()
			if err == nil || !strings.Contains(err.Error(), test.text) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %v, want %v, %q", err, test.is, test.text)
			}
		})
	}
}

func TestNoResetWithoutDefaults(t *testing.T) {
	im := legacyUsual()
	binary.LittleEndian.PutUint64(im.data[32672+16:], 0)
	a, err := im.read()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := a.Apply(kargs.Edit{Reset: true}); err == nil || !strings.Contains(err.Error(), "does not say what its defaults are") {
		t.Errorf("error %v", err)
	}
}

func TestTheKernelsOwnLimit(t *testing.T) {
	im := newImage()
	im.files["EFI/redhat/grub.cfg"] = [2]int64{0, 60_000}
	im.json = `{"size":5000,"files":[{"path":"EFI/redhat/grub.cfg","offset":0}]}`
	a, err := im.read()
	if err != nil || a.Limit != 2047 {
		t.Errorf("limit %d, %v", a.Limit, err)
	}
}

func TestParseReplacement(t *testing.T) {
	for _, test := range []struct {
		text, old, new string
		fails          bool
	}{
		{text: "quiet=verbose", old: "quiet", new: "verbose"},
		{text: "console=ttyS0=ttyS1,115200", old: "console=ttyS0", new: "console=ttyS1,115200"},
		{text: "console=ttyS0=console=ttyS1", old: "console=ttyS0", new: "console=ttyS1"},
		{text: "root=sda=UUID=1", old: "root=sda", new: "root=UUID=1"},
		{text: "quiet", fails: true},
		{text: "a=", fails: true},
		{text: "=a", fails: true},
		{text: "a==b", fails: true},
		{text: "a=b=", fails: true},
	} {
		r, err := kargs.ParseReplacement(test.text)
		if (err != nil) != test.fails || r.Old != test.old || r.New != test.new {
			t.Errorf("%s: %+v, %v", test.text, r, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(newImage().json), area(defaults, '\n', '#'), "a=b")
	f.Add([]byte(mainframe().json), area(defaults, 0, 0), `a="b c"`)
	f.Add([]byte(nil), legacyUsual().data[32672:32672+72], "x")
	f.Fuzz(func(t *testing.T, json, content []byte, extra string) {
		im := newImage()
		im.json = string(json)
		copy(im.data[32672:grubOffset], content)
		copy(im.data[grubOffset+inFile:], content)
		im.files["images/cdboot.img"] = [2]int64{grubOffset, 5000}
		a, err := im.read()
		if err != nil {
			return
		}
		if a.Limit < 1 || len(a.Files) == 0 {
			t.Fatalf("%+v", a)
		}
		args, patches, _, err := a.Apply(kargs.Edit{Append: []string{extra}, Reset: len(a.Damage) > 0})
		if err != nil {
			return
		}
		for _, p := range patches {
			if p.Offset < 0 || p.Offset+int64(len(p.Data)) > int64(len(im.data)) {
				t.Fatalf("a patch at %d of %d bytes", p.Offset, len(p.Data))
			}
		}
		if a.Files[0].Path == "" {
			return // an old image's areas may lie over its header
		}
		im.write(patches)
		again, err := im.read()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(again.Current, " "); got != args || len(again.Damage) > 0 {
			t.Fatalf("%q was read back as %q, damage %q", args, got, again.Damage)
		}
	})
}
