//go:build e2e

package isotest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestMakeIsDeterministic(t *testing.T) {
	l, _ := ByName("x86_64-2023-07")
	if !bytes.Equal(read(t, Make(t, l)), read(t, Make(t, l))) {
		t.Error("two fixtures of one layout differ")
	}
}

// TestFilesSurviveXorriso reads files back through xorriso, an implementation that is not ours.
func TestFilesSurviveXorriso(t *testing.T) {
	for _, name := range []string{"x86_64-2023-07", "x86_64-joliet-only", "s390x-2023-07", "x86_64-sparse"} {
		t.Run(name, func(t *testing.T) {
			l, _ := ByName(name)
			iso := Make(t, l)
			for _, path := range []string{"coreos/kargs.json", initrdPath, rootfsPath} {
				out := filepath.Join(t.TempDir(), "out")
				xorriso(t, iso, "-osirrox", "on", "-extract", "/"+path, out)
				if !bytes.Equal(read(t, out), Content(t, l, path)) {
					t.Errorf("xorriso reads %s otherwise", path)
				}
			}
		})
	}
}

// TestMiniISOLeadsToTheMinimalISO unpacks miniso.dat as coreos-installer does.
func TestMiniISOLeadsToTheMinimalISO(t *testing.T) {
	for _, l := range Layouts() {
		if !l.MiniISO {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			im := must.Get(build(l, contents(l)))(t)
			must.Do(t, im.fillMiniISO())
			full := must.Get(os.Open(Make(t, l)))(t)
			defer full.Close()
			got := unpackMiniISO(t, im.content(file{path: minisoPath, data: make([]byte, miniSlotSize)}), full)
			if !bytes.Equal(got, Minimal(t, l)) {
				t.Error("miniso.dat leads to another image")
			}
		})
	}
}

func unpackMiniISO(t *testing.T, slot []byte, full io.ReaderAt) []byte {
	t.Helper()
	r := bytes.NewReader(slot[9:])
	number := func() int {
		b, _ := r.ReadByte()
		switch b {
		case 0xfb:
			var v uint16
			_ = binary.Read(r, binary.LittleEndian, &v)
			return int(v)
		case 0xfc:
			var v uint32
			_ = binary.Read(r, binary.LittleEndian, &v)
			return int(v)
		}
		return int(b)
	}
	_, _ = r.Seek(int64(number()), io.SeekCurrent)
	shared := make([]SharedFile, number())
	for i := range shared {
		shared[i] = SharedFile{uint32(number()), uint32(number()), int64(number())}
	}
	var digest [sha256.Size]byte
	_, _ = io.ReadFull(r, digest[:])
	packed := must.Get(xz.NewReader(io.LimitReader(r, int64(number()))))(t)
	var out bytes.Buffer
	for _, s := range shared {
		must.Get(io.CopyN(&out, packed, int64(s.Minimal)*sectorSize-int64(out.Len())))(t)
		must.Get(io.Copy(&out, io.NewSectionReader(full, int64(s.Full)*sectorSize, s.Length)))(t)
	}
	must.Get(io.Copy(&out, packed))(t)
	if sha256.Sum256(out.Bytes()) != digest {
		t.Error("the digest in miniso.dat is of something else")
	}
	return out.Bytes()
}

// TestBuildRefusesWhatPlainNamesCannotTellApart keeps a new file of a layout from hiding another.
func TestBuildRefusesWhatPlainNamesCannotTellApart(t *testing.T) {
	files := []file{{path: "a/longname-1.img", data: []byte("1")}, {path: "a/longname-2.img", data: []byte("2")}}
	if _, err := build(Layout{Arch: "ppc64le"}, files); err == nil {
		t.Error("two files share LONGNAME.IMG and build accepts it")
	}
}

func TestPathsAreSorted(t *testing.T) {
	for _, l := range Layouts() {
		if !slices.IsSorted(Paths(l)) {
			t.Errorf("the paths of %s are not sorted: %q", l.Name, Paths(l))
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(path))(t)
}
