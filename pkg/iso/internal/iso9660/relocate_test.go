package iso9660

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
)

const ignition = "images/ignition.img"

// grow moves a file of an image behind everything else and gives it other content, in the image's own file.
func grow(t *testing.T, image, name string, content []byte) {
	t.Helper()
	v, _ := open(t, image)
	f := must.Get(v.Find(name))(t)
	offset, size := v.RoomFor(int64(len(content)))
	patches := must.Get(v.Relocate(f, offset, int64(len(content)), size))(t, "Relocate")
	out := must.Get(os.OpenFile(image, os.O_WRONLY, 0))(t)
	defer out.Close()
	must.Do(t, out.Truncate(size))
	end := int64(0)
	for _, p := range append(patches, Patch{offset, content}) {
		if p.Offset < end && p.Offset != offset {
			t.Errorf("the patch at %d follows one that ends at %d", p.Offset, end)
		}
		must.Get(out.WriteAt(p.Data, p.Offset))(t)
		end = p.Offset + int64(len(p.Data))
	}
}

func bigContent() []byte { return bytes.Repeat([]byte("grown beyond its area. "), 20_000) }

func TestRelocateEveryLayout(t *testing.T) {
	for _, l := range isotest.Layouts() {
		if l.Arch == "s390x" {
			continue // its area is part of the boot image
		}
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			image := isotest.Make(t, l)
			before, _ := open(t, image)
			grow(t, image, ignition, bigContent())
			after, _ := open(t, image)

			got := must.Get(after.ReadFile(ignition, 1<<20))(t)
			if !bytes.Equal(got, bigContent()) {
				t.Error("the moved file has other content")
			}
			check.Do(t, after.Walk(func(File) error { return nil }), "Walk")
			if after.Sectors*SectorSize != after.Size {
				t.Errorf("the volume has %d sectors, the image %d bytes", after.Sectors, after.Size)
			}
			if diff := cmp.Diff(before.Boot, after.Boot); diff != "" {
				t.Errorf("ways to boot (-before +after):\n%s", diff)
			}
			checkMovedGPT(t, before.GPT, after)
			checkOthers(t, l, after)
		})
	}
}

func checkMovedGPT(t *testing.T, before *GPT, after *Volume) {
	t.Helper()
	if before == nil {
		if after.GPT != nil {
			t.Error("a GPT came out of nowhere")
		}
		return
	}
	if len(after.GPT.Trouble) > 0 {
		t.Errorf("trouble with the GPT: %q", after.GPT.Trouble)
	}
	check.Equal(t, after.GPT.Alternate, after.Size/BlockSize-1, "the backup GPT lies at block")
	if diff := cmp.Diff(before.array, after.GPT.array); diff != "" {
		t.Errorf("partitions (-before +after):\n%s", diff)
	}
}

// checkOthers holds every file that was not moved against what the fixture was made of.
func checkOthers(t *testing.T, l isotest.Layout, v *Volume) {
	t.Helper()
	for _, path := range []string{"images/pxeboot/initrd.img", "images/pxeboot/rootfs.img"} {
		got := must.Get(v.ReadFile(path, 1<<20))(t)
		if !bytes.Equal(got, isotest.Content(t, l, path)) {
			t.Errorf("%s changed", path)
		}
	}
}

// TestRelocateChangesNothingElse compares all bytes of the image before and after.
func TestRelocateChangesNothingElse(t *testing.T) {
	path := isotest.Make(t, layout(t, "x86_64-2023-07"))
	before := must.Get(os.ReadFile(path))(t)
	v, _ := open(t, path)
	f := must.Get(v.Find(ignition))(t)
	offset, size := v.RoomFor(300_000)
	patches := must.Get(v.Relocate(f, offset, 300_000, size))(t)
	var within []Patch
	for _, p := range patches {
		if p.Offset < v.Size {
			within = append(within, p)
		}
	}
	// Two directory records, two volume descriptors, one GPT header.
	if len(within) != 5 {
		t.Errorf("%d patches within the old image, want 5", len(within))
	}
	changed := 0
	for _, p := range within {
		changed += len(p.Data)
	}
	if most := 2*16 + 2*8 + BlockSize; changed > most {
		t.Errorf("%d bytes within the old image are replaced, want at most %d", changed, most)
	}
	if offset < int64(len(before)) {
		t.Errorf("the file would lie at %d, upon the image's %d bytes", offset, len(before))
	}
}

func TestRelocateTwice(t *testing.T) {
	path := isotest.Make(t, layout(t, "x86_64-2023-07"))
	grow(t, path, ignition, bigContent())
	grow(t, path, ignition, append(bigContent(), "once more"...))
	v, _ := open(t, path)
	got := must.Get(v.ReadFile(ignition, 1<<20))(t)
	if !bytes.HasSuffix(got, []byte("once more")) || len(v.GPT.Trouble) > 0 {
		t.Errorf("after two moves the file ends with %q and the GPT has trouble %q", got[len(got)-9:], v.GPT.Trouble)
	}
}

func TestRelocateRefuses(t *testing.T) {
	v, _ := open(t, isotest.Make(t, layout(t, "x86_64-2023-07")))
	sparse, _ := open(t, isotest.Make(t, layout(t, "x86_64-sparse")))
	s390x, _ := open(t, isotest.Make(t, layout(t, "s390x-2023-07")))
	for name, c := range map[string]struct {
		v    *Volume
		path string
		move func(offset, size, volume int64) (int64, int64, int64)
		want string
	}{
		"boot image":            {v, "isolinux/isolinux.bin", asIs, "boot image"},
		"s390x boot image":      {s390x, "images/cdboot.img", asIs, "boot image"},
		"several extents":       {sparse, "data/registry.tar", asIs, "several extents"},
		"half a sector":         {v, ignition, func(o, s, n int64) (int64, int64, int64) { return o + 512, s, n }, "whole sectors"},
		"upon the image":        {v, ignition, func(o, s, n int64) (int64, int64, int64) { return o - SectorSize, s, n }, "upon them"},
		"no room for the GPT":   {v, ignition, func(o, s, n int64) (int64, int64, int64) { return o, s, alignUp(o+s, SectorSize) }, "does not hold"},
		"beyond 32 bits":        {v, ignition, func(o, s, n int64) (int64, int64, int64) { return o, 5 << 30, o + 6<<30 }, "cannot say"},
		"negative":              {v, ignition, func(o, s, n int64) (int64, int64, int64) { return o, -1, n }, "cannot say"},
		"beyond all":            {v, ignition, func(o, s, n int64) (int64, int64, int64) { return 1 << 62, s, n }, "ends before it"},
		"volume beyond 32 bits": {v, ignition, func(o, s, n int64) (int64, int64, int64) { return o, s, 1 << 44 }, "volume descriptor cannot say"},
	} {
		t.Run(name, func(t *testing.T) {
			f := must.Get(c.v.Find(c.path))(t)
			offset, volume := c.v.RoomFor(1000)
			o, s, n := c.move(offset, 1000, volume)
			check.Says(t, check.Err(c.v.Relocate(f, o, s, n)), c.want)
		})
	}
	if _, err := v.Relocate(File{Path: ignition}, 0, 0, 0); err == nil {
		t.Error("a file that the image does not have like this is moved")
	}
}

func asIs(o, s, n int64) (int64, int64, int64) { return o, s, n }

func TestRelocateRefusesADamagedGPT(t *testing.T) {
	b := must.Get(os.ReadFile(isotest.Make(t, layout(t, "x86_64-2023-07"))))(t)
	b[BlockSize+40] ^= 1
	v := must.Get(Read(bytes.NewReader(b), int64(len(b))))(t)
	f := must.Get(v.Find(ignition))(t)
	offset, size := v.RoomFor(1000)
	if _, err := v.Relocate(f, offset, 1000, size); err == nil || !strings.Contains(err.Error(), "GPT cannot be kept") {
		t.Errorf("got %v, want an error about the GPT", err)
	}
}
