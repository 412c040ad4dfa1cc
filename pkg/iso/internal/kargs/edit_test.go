package kargs_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/kargs"
)

func TestEditsAreReadBack(t *testing.T) {
	for _, make := range []func() *image{newImage, mainframe, legacyUsual} {
		im := make()
		pristine := bytes.Clone(im.data)
		a := must.Get(im.read())(t)
		args, patches, _, err := a.Apply(kargs.Edit{
			Append:  []string{"console=ttyS0,115200n8", `dyndbg="file x +p"`},
			Delete:  []string{"ignition.firstboot"},
			Replace: []kargs.Replacement{{Old: "ignition.platform.id=metal", New: "ignition.platform.id=qemu"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		check.Equal(t, args, `coreos.liveiso=rhcos-9.4 ignition.platform.id=qemu console=ttyS0,115200n8 dyndbg="file x +p"`, "arguments")
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
			a := must.Get(newImage().read())(t)
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
		{"two in one", kargs.Edit{Append: []string{"a b"}}, "a space separates"},
		{"space behind", kargs.Edit{Append: []string{"a "}}, "a space separates"},
		{"new line", kargs.Edit{Append: []string{"a\n"}}, "printable ASCII"},
		{"zero", kargs.Edit{Append: []string{"a\x00b"}}, "printable ASCII"},
		{"not ASCII", kargs.Edit{Append: []string{"ä"}}, "printable ASCII"},
		{"open quote", kargs.Edit{Append: []string{`a="b`}}, "quote is not closed"},
		{"comment", kargs.Edit{Append: []string{"#a"}}, "comment"},
		{"too long", kargs.Edit{Append: []string{strings.Repeat("x", 300)}}, "they take 371 bytes, 72 more than the image holds (299)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := must.Get(newImage().read())(t)
			_, patches, _, err := a.Apply(test.edit)
			if err == nil || !strings.Contains(err.Error(), test.text) || patches != nil {
				t.Errorf("%d patches, error %v, want one with %q", len(patches), err, test.text)
			}
		})
	}
}

func TestFillsTheAreaToTheLastByte(t *testing.T) {
	im := newImage()
	a := must.Get(im.read())(t)
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
			a := must.Get(test.image.read())(t)
			_, _, warnings, err := a.Apply(test.edit)
			if err != nil {
				t.Fatal(err)
			}
			if len(warnings) != len(test.texts) {
				t.Fatalf("warnings %q, want %q", warnings, test.texts)
			}
			for i, w := range warnings {
				check.Contains(t, w, test.texts[i], "warning")
			}
		})
	}
}

func TestNoResetWithoutDefaults(t *testing.T) {
	im := legacyUsual()
	binary.LittleEndian.PutUint64(im.data[32672+16:], 0)
	a := must.Get(im.read())(t)
	if _, _, _, err := a.Apply(kargs.Edit{Reset: true}); err == nil || !strings.Contains(err.Error(), "does not say what its defaults are") {
		t.Errorf("error %v", err)
	}
}
