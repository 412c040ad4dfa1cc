package embedarea_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
	"github.com/oaictl/oaictl/pkg/iso/internal/embedarea"
)

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestUnpackTakesWhatTheKernelTakes(t *testing.T) {
	a := embedarea.Member{Name: "a", Mode: 0o600, Data: []byte("first")}
	b := embedarea.Member{Name: "b", Mode: 0o644, Data: noise(70 << 10)}
	a2 := embedarea.Member{Name: "a", Mode: 0o640, Data: []byte("second")}
	zeros := make([]byte, 4096)
	for _, test := range []struct {
		name        string
		area        []byte
		want        []embedarea.Member
		compression string
	}{
		{"nothing", nil, nil, ""},
		{"pristine", make([]byte, 262144), nil, ""},
		{"plain", raw(t, a), []embedarea.Member{a}, "none"},
		{"plain behind zeros", join(zeros, raw(t, a)), []embedarea.Member{a}, "none"},
		{"gzip", join(zipped(t, raw(t, a, b)), zeros), []embedarea.Member{a, b}, "gzip"},
		{"zstd", join(zstded(t, raw(t, a, b)), zeros), []embedarea.Member{a, b}, "zstd"},
		{"zstd without checksum", join(zstded(t, raw(t, a, b), zstd.WithEncoderCRC(false)), zeros), []embedarea.Member{a, b}, "zstd"},
		{"zstd in one piece", join(zstded(t, raw(t, a), zstd.WithSingleSegment(true)), zeros), []embedarea.Member{a}, "zstd"},
		{"xz", join(xzed(t, raw(t, a, b), xz.CRC32, 0), zeros), []embedarea.Member{a, b}, "xz"},
		{"xz of several blocks", join(xzed(t, raw(t, a, b), xz.CRC64, 10000), zeros), []embedarea.Member{a, b}, "xz"},
		{"xz with SHA-256", join(xzed(t, raw(t, a, b), xz.SHA256, 0), zeros), []embedarea.Member{a, b}, "xz"},
		{"the last copy wins", join(zipped(t, raw(t, a, b)), zipped(t, raw(t, a2))), []embedarea.Member{a2, b}, "gzip"},
		{"two in one stream", zipped(t, join(raw(t, a), zeros, raw(t, a2, b))), []embedarea.Member{a2, b}, "gzip"},
		{
			"all together, compressed ones at odd bytes",
			join(raw(t, a), []byte{0}, zipped(t, raw(t, a2)), xzed(t, raw(t, b), xz.CRC32, 0), zstded(t, raw(t, a)), []byte{0}, zipped(t, raw(t, a2))),
			[]embedarea.Member{a2, b}, "none+gzip+xz+zstd",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, compression, err := embedarea.Unpack(test.area)
			if err != nil {
				t.Fatal(err)
			}
			check.Equal(t, different(test.want, got), "")
			check.Equal(t, compression, test.compression, "compression")
		})
	}
}

func TestUnpackRefuses(t *testing.T) {
	plain := raw(t, embedarea.Member{Name: "a", Mode: 0o600, Data: noise(5000)})
	cut := func(b []byte) []byte { return b[:len(b)-20] }
	flip := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 0x55
		return b
	}
	gz, x, zs := zipped(t, plain), xzed(t, plain, xz.CRC32, 0), zstded(t, plain)
	for _, test := range []struct {
		name string
		area []byte
		text string
	}{
		{"junk", []byte("\x00\x00hello"), "at byte 2 is no archive"},
		{"junk behind an archive", join(gz, []byte("hello")), "is no archive"},
		{"lz4", []byte("\x02\x21\x4c\x18abc"), "compressed with lz4 are not read"},
		{"plain at an odd byte", join([]byte{0}, plain), "multiple of 4"},
		{"no archive in gzip", zipped(t, []byte(strings.Repeat("hello", 100))), "the gzip archive at byte 0: no newc archive"},
		{"something behind the archive in gzip", zipped(t, join(plain, []byte("hello"))), "something else"},
		{"cut plain", cut(plain), "breaks off"},
		{"cut gzip", cut(gz), "the gzip archive at byte 0"},
		{"cut xz", cut(x), "the xz archive at byte 0: it breaks off"},
		{"cut zstd", cut(zs), "the zstd archive at byte 0: it breaks off"},
		{"wrong gzip", flip(gz, len(gz)-6), "the gzip archive at byte 0"},
		{"wrong xz", flip(x, 2000), "the xz archive at byte 0"},
		{"wrong zstd", flip(zs, len(zs)-2), "the zstd archive at byte 0"},
		{"a dictionary of 4 GiB", hugeDictionary(x), "a dictionary larger than"},
		{"more streams than any tool makes", bytes.Repeat(gz, 300), "more than 256 streams, the next at byte"},
		{"a bomb", zipped(t, raw(t, embedarea.Member{Name: "a", Data: make([]byte, 64<<20)})), "unpacks to more than is taken"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _, err := embedarea.Unpack(test.area)
			if err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%d members, error %v, want one with %q", len(got), err, test.text)
			}
		})
	}
}

// hugeDictionary changes the size of the dictionary: stream header, block header
// size, flags, filter, size of its properties, property.
func hugeDictionary(x []byte) []byte {
	x = bytes.Clone(x)
	x[12+4] = 40
	return x
}

func TestWalkHandsErrorsOn(t *testing.T) {
	stop := errors.New("enough")
	area := zipped(t, raw(t, members[0]))
	_, err := embedarea.Walk(bytes.NewReader(area), int64(len(area)), 1<<20, func(cpio.Header, io.Reader) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	plain := raw(f, members[0])
	f.Add(plain)
	f.Add(append(zipped(f, plain), 0, 0))
	f.Add(xzed(f, plain, xz.CRC32, 0))
	f.Add(append(zstded(f, plain), xzed(f, plain, xz.CRC64, 100)...))
	f.Fuzz(func(t *testing.T, area []byte) {
		got, compression, err := embedarea.Unpack(area)
		if err != nil {
			return
		}
		if (compression == "") != (len(bytes.Trim(area, "\x00")) == 0) {
			t.Fatalf("compression %q of %d bytes", compression, len(area))
		}
		for _, m := range got {
			if cpio.CheckName(m.Name) != nil && m.Name != "TRAILER!!!" {
				t.Fatalf("name %q", m.Name)
			}
		}
	})
}
