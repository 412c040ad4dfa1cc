//go:build linux

package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/disk/disktest"
	"github.com/oaictl/oaictl/internal/host/disk/layout"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// bytesSource is an image in memory.
type bytesSource struct {
	content []byte
	err     error // comes at the end, if it is not nil
}

func (s bytesSource) Open(context.Context) (io.ReadCloser, int64, error) {
	r := io.Reader(bytes.NewReader(s.content))
	if s.err != nil {
		r = io.MultiReader(r, failing{s.err})
	}
	return io.NopCloser(r), int64(len(s.content)), nil
}

func (bytesSource) String() string { return "memory" }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// disk is a disk in memory that notes what was written.
type disk struct {
	content []byte
	sector  int64
	direct  bool
	writes  []write
	fail    int // which write fails, from 1
}

type write struct {
	at      int64
	content []byte
}

func newDisk(size int64) *disk {
	return &disk{content: bytes.Repeat([]byte{0xaa}, int(size)), sector: 512}
}

func (d *disk) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(d.content).ReadAt(p, at)
}

func (d *disk) WriteAt(p []byte, at int64) (int, error) {
	if d.direct && (at%d.sector != 0 || int64(len(p))%d.sector != 0) {
		return 0, fmt.Errorf("%d bytes at %d are not aligned", len(p), at)
	}
	if at < 0 || at+int64(len(p)) > int64(len(d.content)) {
		return 0, fmt.Errorf("%d bytes at %d are outside of the disk", len(p), at)
	}
	d.writes = append(d.writes, write{at, bytes.Clone(p)})
	if len(d.writes) == d.fail {
		return 0, errors.New("the disk is broken")
	}
	return copy(d.content[at:], p), nil
}

func (d *disk) Zero(at, size int64) error {
	_, err := d.WriteAt(make([]byte, size), at)
	return err
}

func (d *disk) Clear() error {
	size := min(1<<20, int64(len(d.content)))
	return errors.Join(d.Zero(0, size), d.Zero(int64(len(d.content))-size, size))
}

func (d *disk) Size() int64             { return int64(len(d.content)) }
func (d *disk) SectorSize() int64       { return d.sector }
func (d *disk) SetDirect(on bool) error { d.direct = on; return nil }
func (d *disk) Sync() error             { return nil }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func sum(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}

// pack compresses an image.
func pack(t testing.TB, format Format, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch format {
	case Raw:
		return content
	case Gzip:
		w = gzip.NewWriter(&out)
	case XZ:
		w = must.Get(xz.NewWriter(&out))(t)
	case Zstd:
		w = must.Get(zstd.NewWriter(&out))(t)
	}
	must.Get(w.Write(content))(t)
	must.Do(t, w.Close())
	return out.Bytes()
}

// large is an image with long runs of zeros.
func large() []byte {
	const mib = 1 << 20
	return disktest.Image(512, 90*mib,
		disktest.Part{Number: 1, Offset: mib, Bytes: mib, NonZero: true},
		disktest.Part{Number: 4, Offset: 75 * mib, Bytes: 9*mib + 512, NonZero: true},
	)
}

func TestWriteFormats(t *testing.T) {
	image := disktest.RHCOS()
	for _, format := range []Format{Raw, Gzip, XZ, Zstd} {
		packed := pack(t, format, image)
		target := newDisk(int64(len(image)) + 3<<20)
		var percents []int
		w := Writer{Progress: func(p int) { percents = append(percents, p) }, Verify: true, Log: quiet()}
		written, err := w.Write(t.Context(), target, Image{Source: bytesSource{content: packed}, SHA256: sum(packed), ContentSHA256: sum(image)})
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if written.Format != format || written.Bytes != int64(len(image)) || len(written.Table.Partitions) != 4 {
			t.Errorf("%s: %+v", format, written)
		}
		if _, err := layout.Read(target, 512); err == nil {
			t.Errorf("%s: the disk has a partition table before Commit", format)
		}
		got := make([]byte, len(image))
		must.Get(written.ReadAt(got, 0))(t)
		if !bytes.Equal(got, image) {
			t.Errorf("%s: ReadAt differs", format)
		}
		must.Do(t, written.Commit())
		if !bytes.Equal(target.content[:len(image)], image) {
			t.Errorf("%s: the disk differs from the image", format)
		}
		if !slices.IsSorted(percents) || percents[0] != 0 || percents[len(percents)-1] != 100 {
			t.Errorf("%s: the percentages are %v", format, percents)
		}
		must.Do(t, written.Abort())
		if _, err := layout.Read(target, 512); err == nil {
			t.Errorf("%s: the disk has a partition table after Abort", format)
		}
	}
}

func TestWriteZeros(t *testing.T) {
	image := large()
	for _, spare := range []int64{0, 5 << 20} {
		target := newDisk(int64(len(image)) + spare)
		written, err := Writer{Log: quiet(), Verify: true}.Write(t.Context(), target, Image{Source: bytesSource{content: image}})
		if err != nil {
			t.Fatal(err)
		}
		must.Do(t, written.Commit())
		if !bytes.Equal(target.content[:len(image)], image) {
			t.Errorf("%d spare bytes: the disk differs from the image", spare)
		}
		for _, write := range target.writes {
			if len(write.content) > mostZeros+blockSize {
				t.Errorf("one write has %d bytes", len(write.content))
			}
		}
	}
}

func TestWriteToAFile(t *testing.T) {
	image := append(large(), 1, 2, 3) // an end that is no whole sector
	file := filepath.Join(t.TempDir(), "disk")
	must.Do(t, os.WriteFile(file, bytes.Repeat([]byte{0xaa}, len(image)+1000), 0o600))
	disks := blockdevice.Disks{}
	device := must.Get(disks.Open(must.Get(disks.Inspect(file))(t)))(t)
	written, err := Writer{Log: quiet(), Verify: true}.Write(t.Context(), device, Image{Source: bytesSource{content: pack(t, Zstd, image)}})
	if err != nil {
		t.Fatal(err)
	}
	must.Do(t, written.Commit())
	must.Do(t, device.Close())
	if !bytes.Equal(must.Get(os.ReadFile(file))(t)[:len(image)], image) {
		t.Error("the disk differs from the image")
	}
}

func TestWriteFails(t *testing.T) {
	image := disktest.RHCOS()
	packed := pack(t, Gzip, image)
	longer := disktest.Image(4096, 8<<20)
	broken := errors.New("the cable is broken")
	for name, test := range map[string]struct {
		image  Image
		size   int64
		fail   int
		want   string
		cancel bool
	}{
		"empty":             {image: Image{Source: bytesSource{}}, want: "beginning of the image"},
		"short":             {image: Image{Source: bytesSource{content: image[:1000]}}, want: "only 1000 bytes"},
		"no table":          {image: Image{Source: bytesSource{content: make([]byte, 2<<20)}}, want: "no valid GUID partition table"},
		"cut off":           {image: Image{Source: bytesSource{content: image[:6<<20]}}, want: "it was cut off"},
		"packed, cut off":   {image: Image{Source: bytesSource{content: packed[:len(packed)-9]}}, want: "unexpected EOF"},
		"packed, damaged":   {image: Image{Source: bytesSource{content: flip(packed, len(packed)/2)}}, want: "read the image after"},
		"stream fails":      {image: Image{Source: bytesSource{image[:5<<20], broken}}, want: "cable"},
		"too small":         {image: Image{Source: bytesSource{content: image}}, size: 8<<20 - 512, want: "choose a larger disk"},
		"trailing":          {image: Image{Source: bytesSource{content: append(bytes.Clone(image), 1)}}, size: 8 << 20, want: "choose a larger disk"},
		"other sectors":     {image: Image{Source: bytesSource{content: longer}}, want: "sectors of 4096 bytes"},
		"partition beyond":  {image: Image{Source: bytesSource{content: stretched(image)}}, size: 8 << 20, want: "is beyond the end"},
		"other digest":      {image: Image{Source: bytesSource{content: packed}, SHA256: sum(image)}, want: "digest of the image"},
		"other content":     {image: Image{Source: bytesSource{content: packed}, ContentSHA256: sum(packed)}, want: "digest of the unpacked image"},
		"first write fails": {image: Image{Source: bytesSource{content: image}}, fail: 1, want: "the disk is broken"},
		"later write fails": {image: Image{Source: bytesSource{content: image}}, fail: 3, want: "the disk is broken"},
		"cancelled":         {image: Image{Source: bytesSource{content: image}}, cancel: true, want: "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			target := newDisk(max(test.size, 8<<20-512))
			if test.size == 0 {
				target = newDisk(9 << 20)
			}
			target.fail = test.fail
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.cancel {
				cancel()
			}
			_, err := Writer{Log: quiet()}.Write(ctx, target, test.image)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if bootable(target) {
				t.Error("the disk has a partition table")
			}
			if target.direct {
				t.Error("the disk is still written directly")
			}
		})
	}
}

// stretched is an image whose first partition ends after the last sector. Its second partition table would be written with
// the other content, and start a disk of the same size before all is there.
func stretched(image []byte) []byte {
	image = bytes.Clone(image)
	order, header := binary.LittleEndian, image[512:512+92]
	entries := image[512*order.Uint64(header[72:]):][:order.Uint32(header[80:])*order.Uint32(header[84:])]
	order.PutUint64(entries[40:], 1<<40)
	order.PutUint32(header[88:], crc32.ChecksumIEEE(entries))
	order.PutUint32(header[16:], 0)
	order.PutUint32(header[16:], crc32.ChecksumIEEE(header))
	return image
}

func flip(content []byte, at int) []byte {
	content = bytes.Clone(content)
	content[at] ^= 0xff
	return content
}

// bootable reports whether firmware finds one of both partition tables.
func bootable(d *disk) bool {
	_, first := layout.Read(d, d.sector)
	_, second := layout.ReadBackup(d, d.sector, d.Size())
	return first == nil || second == nil
}

// TestPowerLoss applies each prefix of the writes to a disk that had another system: the disk has no partition table, or
// each partition is whole.
func TestPowerLoss(t *testing.T) {
	image := disktest.RHCOS()
	before := disktest.Image(512, 8<<20, disktest.Part{Number: 1, Offset: 2 << 20, Bytes: 4 << 20, NonZero: true})
	for _, spare := range []int{0, 1 << 20} {
		old := append(bytes.Clone(before), make([]byte, spare)...)
		target := newDisk(int64(len(old)))
		target.content = bytes.Clone(old)
		written, err := Writer{Log: quiet()}.Write(t.Context(), target, Image{Source: bytesSource{content: image}})
		if err != nil {
			t.Fatal(err)
		}
		must.Do(t, written.Commit())
		replay := newDisk(int64(len(old)))
		replay.content = bytes.Clone(old)
		states := 0
		for i, write := range target.writes {
			// A write may end in any sector.
			for _, part := range []int{0, 512, 1024, 4096, len(write.content) / 2, len(write.content)} {
				copy(replay.content[write.at:], write.content[:min(part, len(write.content))])
				if i == 0 && part == 0 {
					continue // nothing has happened yet
				}
				states++
				if complaint := halfWritten(replay, image, i); complaint != "" {
					t.Fatalf("%d spare bytes, after %d bytes of write %d: %s", spare, part, i, complaint)
				}
			}
		}
		if states < 30 || !bootable(replay) {
			t.Errorf("%d states, bootable %t", states, bootable(replay))
		}
	}
}

// halfWritten says what is wrong with a disk after a loss of power.
func halfWritten(d *disk, image []byte, write int) string {
	if _, err := layout.Read(d, 512); err != nil && write < 2 {
		return "" // the old disk is being cleared: its second table is the next to go
	}
	if !bootable(d) {
		return ""
	}
	table, err := layout.Read(bytes.NewReader(image), 512)
	if err != nil {
		return err.Error()
	}
	for _, part := range table.Partitions {
		if !bytes.Equal(d.content[part.Offset:part.Offset+part.Bytes], image[part.Offset:part.Offset+part.Bytes]) {
			return fmt.Sprintf("the disk can boot, but partition %d is not whole", part.Number)
		}
	}
	return ""
}

func TestFileDigest(t *testing.T) {
	file := File{Path: filepath.Join(t.TempDir(), "rhcos.raw.gz")}
	if digest, err := file.Digest(); err != nil || digest != "" {
		t.Errorf("no file: %q, %v", digest, err)
	}
	good := sum([]byte("x"))
	for content, want := range map[string]string{
		good + "\n": good, strings.ToUpper(good) + "  rhcos.raw.gz\n": good, "": "", "abc": "", good[:62] + "  x": "", good + "00": "",
	} {
		must.Do(t, os.WriteFile(file.Path+".sha256", []byte(content), 0o600))
		if digest, err := file.Digest(); digest != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", content, digest, err)
		}
	}
	if _, _, err := file.Open(t.Context()); err == nil {
		t.Error("an absent file can be opened")
	}
	if _, _, err := (File{Path: t.TempDir()}).Open(t.Context()); err == nil {
		t.Error("a folder can be opened")
	}
}

func TestXZDictionary(t *testing.T) {
	packed := pack(t, XZ, bytes.Repeat([]byte("image"), 100))
	if err := checkDictionary(packed[:64]); err != nil {
		t.Error(err)
	}
	head := bytes.Clone(packed[:64])
	at := bytes.IndexByte(head[12:], 0x21)
	head[12+at+2] = 40 // 4 GiB
	if err := checkDictionary(head); err == nil || !strings.Contains(err.Error(), "dictionary of 4294967295 bytes") {
		t.Errorf("a dictionary of 4 GiB: %v", err)
	}
	for size := range 64 {
		_ = checkDictionary(packed[:size])
	}
}

func FuzzDecompress(f *testing.F) {
	for _, format := range []Format{Raw, Gzip, XZ, Zstd} {
		f.Add(pack(f, format, bytes.Repeat([]byte("image"), 100)))
	}
	f.Fuzz(func(_ *testing.T, packed []byte) {
		unpacked, end, _, err := decompress(bytes.NewReader(packed))
		if err != nil {
			return
		}
		defer end()
		_, _ = io.CopyN(io.Discard, unpacked, 1<<20)
	})
}
