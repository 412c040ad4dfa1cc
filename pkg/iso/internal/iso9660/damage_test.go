package iso9660

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
)

// TestDamageIsNamed breaks one thing of a sound image at a time. The error must name it.
func TestDamageIsNamed(t *testing.T) {
	sound := must.Get(os.ReadFile(isotest.Make(t, layout(t, "x86_64-2023-07"))))(t)
	v := must.Get(Read(bytes.NewReader(sound), int64(len(sound))))(t)
	recordOf := func(path string) int64 {
		f := must.Get(v.Find(path))(t)
		return f.records[0].at
	}
	const pvd = 16 * SectorSize
	ignition, kernel := recordOf("images/ignition.img"), recordOf("images/pxeboot/vmlinuz")
	images := parentRecord(t, v, "images")
	put := func(off int64, n uint32) func([]byte) []byte {
		return func(b []byte) []byte { putBoth32(b[off:], n); return b }
	}
	set := func(off int64, bytes ...byte) func([]byte) []byte {
		return func(b []byte) []byte { copy(b[off:], bytes); return b }
	}
	cases := map[string]struct {
		damage func([]byte) []byte
		want   string
	}{
		"empty":                       {func(b []byte) []byte { return nil }, "not an ISO 9660 image"},
		"zeros":                       {func(b []byte) []byte { return make([]byte, len(b)) }, "no CD001 at 32769"},
		"only the system area":        {func(b []byte) []byte { return b[:pvd] }, "less than a volume descriptor needs"},
		"ends within descriptors":     {func(b []byte) []byte { return b[:pvd+3000] }, "truncated within its volume descriptors"},
		"truncated":                   {func(b []byte) []byte { return b[:len(b)/2] }, "the image is truncated: it has"},
		"descriptors never end":       {func(b []byte) []byte { return repeatDescriptor(b) }, "do not end within 32"},
		"descriptors break off":       {set(18*SectorSize, 0, 0, 0, 0, 0, 0), "break off: no CD001 at 36865"},
		"blocks of 512 bytes":         {set(pvd+128, 0, 2, 2, 0), "blocks have 512 bytes"},
		"byte orders disagree":        {set(pvd+80, 0xff), "in one byte order and"},
		"root beyond the end":         {put(pvd+atRoot+2, 0x7fffffff), "beyond the end of the image"},
		"root is no directory":        {set(pvd+atRoot+25, 0), "it is no directory's"},
		"record of no length":         {set(images, 33), "impossible length of 33 bytes"},
		"name longer than its record": {set(ignition+32, 200), "name of 200 bytes does not fit"},
		"extended attributes":         {set(ignition+1, 1), "extended attribute record"},
		"interleaved":                 {set(ignition+26, 1), "interleaved"},
		"file beyond the end":         {put(ignition+2, 0xfffffff0), "ignition.img, 262144 bytes at 8796092989440"},
		"absurd file size":            {put(ignition+10, 0xfffffff0), "lies beyond the end of the image"},
		"directory in a circle":       {copyPlace(images, pvd+atRoot), "the directories go in a circle"},
		"absurd directory":            {put(images+10, 0x7fffffff), "images, 2147483647 bytes at"},
		"files overlap":               {copySector(ignition, kernel), "overlap"},
		"file upon the descriptors":   {put(kernel+2, 16), "the volume descriptors, "},
		"extent without a last one":   {set(lastRecord(t, v, "coreos")+25, flagMultiExtent), "the last extent of miniso.dat is missing"},
		"extent of another":           {set(recordOf("coreos/igninfo.json")+25, flagMultiExtent), "has another name"},
		"catalog beyond the end":      {func(b []byte) []byte { binary.LittleEndian.PutUint32(b[17*SectorSize+71:], 1<<30); return b }, "boot catalog at sector 1073741824"},
		"catalog without an entry":    {set(catalogAt(sound), 9), "does not start with a validation entry"},
		"catalog with a wrong sum":    {set(catalogAt(sound)+4, 9), "checksum of its validation entry"},
		"boot image beyond the end":   {set(catalogAt(sound)+40, 0, 0, 0, 0x70), "a boot image, 1 bytes at"},
		"rock ridge in a circle":      {func(b []byte) []byte { return circleCE(b, ignition) }, "go on in more than 8 places"},
		"a name with a slash":         {func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("ignition.img"), []byte("ignition/img")) }, "which no file can be"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := readAll(c.damage(bytes.Clone(sound)))
			check.Says(t, err, c.want)
		})
	}
	if err := readAll(nil); !errors.Is(err, ErrNotISO) {
		t.Errorf("an empty image: %v, want ErrNotISO", err)
	}
	if err := readAll(sound[:len(sound)/2]); !errors.Is(err, ErrTruncated) {
		t.Errorf("half an image: %v, want ErrTruncated", err)
	}
}

func readAll(b []byte) error {
	v, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	return v.Walk(func(File) error { return nil })
}

// parentRecord is where the root directory describes a directory.
func parentRecord(t *testing.T, v *Volume, name string) int64 {
	t.Helper()
	e, err := v.lookup(v.primary, name)
	if err != nil || e == nil {
		t.Fatalf("no directory %s: %v", name, err)
	}
	return e.records[0].at
}

func lastRecord(t *testing.T, v *Volume, dir string) int64 {
	t.Helper()
	e, err := v.lookup(v.primary, dir)
	if err != nil || e == nil {
		t.Fatalf("no directory %s: %v", dir, err)
	}
	entries := must.Get(v.list(v.primary, e.records[0], dir))(t)
	return entries[len(entries)-1].records[0].at
}

func catalogAt(b []byte) int64 { return little32(b[17*SectorSize+71:]) * SectorSize }

func repeatDescriptor(b []byte) []byte {
	boot := bytes.Clone(b[17*SectorSize : 18*SectorSize])
	for i := 17; i < 60; i++ {
		copy(b[i*SectorSize:], boot)
	}
	return b
}

// copyPlace makes the record at one offset say the same place as that at another, and size.
func copyPlace(to, from int64) func([]byte) []byte {
	return func(b []byte) []byte { copy(b[to+2:to+18], b[from+2:from+18]); return b }
}

func copySector(to, from int64) func([]byte) []byte {
	return func(b []byte) []byte { copy(b[to+2:to+10], b[from+2:from+10]); return b }
}

// circleCE lets the Rock Ridge entries of a record go on in its own sector, at an entry that goes on at itself.
func circleCE(b []byte, record int64) []byte {
	ce := make([]byte, 28)
	copy(ce, "CE\x1c\x01")
	system := record + recordHeader + int64(b[record+32])
	system += system % 2
	putBoth32(ce[4:], uint32(system/SectorSize))
	putBoth32(ce[12:], uint32(system%SectorSize))
	putBoth32(ce[20:], uint32(len(ce)))
	copy(b[system:], ce)
	return b
}

// TestWalkRefusesNamesBeyondMeasure lets three directories have as many files as fit.
func TestWalkRefusesNamesBeyondMeasure(t *testing.T) {
	path := isotest.Make(t, layout(t, "x86_64-rockridge-only"))
	v, _ := open(t, path)
	image := must.Get(os.ReadFile(path))(t)
	crowd := make([]byte, maxDirectory)
	for sector := 0; sector < len(crowd); sector += SectorSize {
		for at := sector; at+34 <= sector+SectorSize; at += 34 {
			crowd[at], crowd[at+32], crowd[at+33] = 34, 1, 'X'
		}
	}
	for _, name := range []string{"coreos", "images", "isolinux"} {
		at := parentRecord(t, v, name)
		putBoth32(image[at+2:], uint32(len(image)/SectorSize))
		putBoth32(image[at+10:], uint32(len(crowd)))
		image = append(image, crowd...)
	}
	if err := readAll(image); err == nil || !strings.Contains(err.Error(), "more names than are read") {
		t.Errorf("got %v, want an error about too many names", err)
	}
}

// TestRecordsRefuseLengths gives records lengths that lead out of their sector or directory.
func TestRecordsRefuseLengths(t *testing.T) {
	const n = 64 // of every record: 32 fill a sector
	for name, at := range map[string]int{"across a sector": SectorSize - n, "beyond the directory": 2*SectorSize - n} {
		t.Run(name, func(t *testing.T) {
			dir := make([]byte, 2*SectorSize)
			for pos := 0; pos < len(dir); pos += n {
				dir[pos] = n
			}
			must.Do(t, records(dir, 0, func(record) error { return nil }), "sound records")
			dir[at] = n + 2
			if err := records(dir, 0, func(record) error { return nil }); err == nil || !strings.Contains(err.Error(), "impossible length of 66") {
				t.Errorf("got %v, want an error about its length", err)
			}
		})
	}
}

// TestBrokenPartitionTablesAreNoted: an image with a broken GPT is read, and says so.
func TestBrokenPartitionTablesAreNoted(t *testing.T) {
	sound := must.Get(os.ReadFile(isotest.Make(t, layout(t, "x86_64-2023-07"))))(t)
	for name, c := range map[string]struct {
		at   int
		want string
	}{
		"primary header":  {BlockSize + 40, "primary GPT at block 1: the checksum of its header"},
		"primary entries": {2*BlockSize + 3, "primary GPT at block 1: the checksum of its entries"},
		"backup header":   {len(sound) - BlockSize + 30, "the checksum of its header"},
		"backup gone":     {len(sound) - BlockSize, "there is none"},
		"backup entries":  {len(sound) - 2*BlockSize, "the checksum of its entries"},
	} {
		t.Run(name, func(t *testing.T) {
			b := bytes.Clone(sound)
			b[c.at] ^= 0x55
			v := must.Get(Read(bytes.NewReader(b), int64(len(b))))(t)
			if len(v.GPT.Trouble) != 1 || !strings.Contains(v.GPT.Trouble[0], c.want) {
				t.Errorf("trouble is %q, want one with %q", v.GPT.Trouble, c.want)
			}
		})
	}
}
