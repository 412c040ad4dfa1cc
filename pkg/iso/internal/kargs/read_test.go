package kargs_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/kargs"
)

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
			a := must.Get(test.image.read())(t)
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
			a := must.Get(im.read())(t)
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
	a := must.Get(im.read())(t)
	check.Same(t, []string{"a", "b"}, a.Current)
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
			check.Says(t, check.Err(im.read()), test.text)
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

func TestTheKernelsOwnLimit(t *testing.T) {
	im := newImage()
	im.files["EFI/redhat/grub.cfg"] = [2]int64{0, 60_000}
	im.json = `{"size":5000,"files":[{"path":"EFI/redhat/grub.cfg","offset":0}]}`
	check.Equal(t, must.Get(im.read())(t).Limit, 2047, "limit")
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
		again := must.Get(im.read())(t)
		if got := strings.Join(again.Current, " "); got != args || len(again.Damage) > 0 {
			t.Fatalf("%q was read back as %q, damage %q", args, got, again.Damage)
		}
	})
}
