package embed_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
	"github.com/oaictl/oaictl/pkg/iso/internal/embed"
	"github.com/ulikunitz/xz"
)

// different compares fast what is equal: cmp takes its time for long contents.
func different(want, got []embed.Member) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// letters are bytes of which gzip makes about 6 of 8 bits, and xz hardly less.
func letters(n int) []byte {
	b := noise(n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"[b[i]&63]
	}
	return b
}

// farRepeats are bytes that xz makes much smaller than gzip, whose window is short.
func farRepeats() []byte {
	return bytes.Repeat(noise(100<<10), 4)
}

var members = []embed.Member{
	{Name: "config.ign", Mode: 0o600, Data: []byte(`{"ignition":{"version":"3.1.0"}}`)},
	{Name: "etc/coreos-firstboot-network/eth0.nmconnection", Mode: 0o600, Data: []byte("[connection]\n")},
	{Name: "etc/link", Mode: 0o120777, Data: []byte("coreos-firstboot-network")},
	{Name: "var/empty", Mode: 0o040700, Data: []byte{}},
}

func raw(t testing.TB, members ...embed.Member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := cpio.NewWriter(&b)
	for _, m := range members {
		if err := w.WriteFile(m.Name, m.Mode, m.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t testing.TB, data []byte) []byte {
	return through(t, data, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
}

func xzed(t testing.TB, data []byte, check byte, block int64) []byte {
	return through(t, data, func(w io.Writer) (io.WriteCloser, error) {
		return xz.WriterConfig{CheckSum: check, BlockSize: block, DictCap: 1 << 16}.NewWriter(w)
	})
}

func zstded(t testing.TB, data []byte, options ...zstd.EOption) []byte {
	return through(t, data, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, options...) })
}

func through(t testing.TB, data []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := open(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPackAndUnpack(t *testing.T) {
	for _, test := range []struct {
		name        string
		members     []embed.Member
		limit       int64
		compression string
	}{
		{"usual", members, 256 << 10, embed.Gzip},
		{"no limit", members, 0, embed.Gzip},
		{"xz where gzip does not fit", []embed.Member{{Name: "config.ign", Mode: 0o600, Data: farRepeats()}}, 200 << 10, embed.XZ},
		{"beyond the dictionary", []embed.Member{{Name: "a", Mode: 0o600, Data: bytes.Repeat(farRepeats(), 3)}}, 200 << 10, embed.XZ},
	} {
		t.Run(test.name, func(t *testing.T) {
			data, compression, err := embed.Pack(test.members, test.limit)
			if err != nil {
				t.Fatal(err)
			}
			if compression != test.compression {
				t.Errorf("compressed with %s, want %s", compression, test.compression)
			}
			if test.limit > 0 && int64(len(data)) > test.limit {
				t.Errorf("%d bytes are above the limit", len(data))
			}
			area := append(bytes.Clone(data), make([]byte, 1000)...)
			got, compression, err := embed.Unpack(area)
			if err != nil {
				t.Fatal(err)
			}
			if compression != test.compression {
				t.Errorf("read as %s, want %s", compression, test.compression)
			}
			if diff := different(test.members, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPackIsDeterministic(t *testing.T) {
	var p embed.Packer
	first, _, err := p.Pack(members, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Pack([]embed.Member{{Name: "x", Data: letters(100 << 10)}}, 0); err != nil {
		t.Fatal(err)
	}
	backwards := []embed.Member{members[3], members[2], members[1], members[0]}
	second, _, err := p.Pack(backwards, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("the same members in another order, with a used compressor, made other bytes")
	}
}

func TestPackSaysWhatDoesNotFit(t *testing.T) {
	_, _, err := embed.Pack([]embed.Member{
		{Name: "config.ign", Mode: 0o600, Data: letters(40 << 10)},
		{Name: "small", Mode: 0o600, Data: []byte("secret")},
		{Name: "etc/b", Mode: 0o600, Data: letters(20 << 10)},
		{Name: "etc/c", Mode: 0o600, Data: letters(60 << 10)},
	}, 32<<10)
	var large *embed.TooLarge
	if !errors.As(err, &large) {
		t.Fatalf("error %v", err)
	}
	if large.Have != 32<<10 || large.Need <= large.Have || large.Need > 120<<10 {
		t.Errorf("need %d, have %d", large.Need, large.Have)
	}
	text := err.Error()
	if !strings.Contains(text, "etc/c (61440 bytes), config.ign (40960 bytes), etc/b (20480 bytes)") || strings.Contains(text, "secret") {
		t.Error(text)
	}
}

func TestPackGivesUpWhereNothingHelps(t *testing.T) {
	_, _, err := embed.Pack([]embed.Member{{Name: "a", Mode: 0o600, Data: letters(8 << 20)}}, 1<<10)
	var large *embed.TooLarge
	if !errors.As(err, &large) || large.Need < 6<<20 || large.Need > 8<<20 {
		t.Errorf("error %v", err)
	}
}

// xz may be given up at any of its bytes, the last ones included, of which its
// writer tells nothing: at every limit the result is whole or refused.
func TestPackNeverCuts(t *testing.T) {
	given := []embed.Member{{Name: "a", Mode: 0o600, Data: noise(70)}}
	for limit := int64(1); limit < 300; limit++ {
		packed, _, err := embed.Pack(given, limit)
		var large *embed.TooLarge
		if errors.As(err, &large) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := embed.Unpack(packed); err != nil || different(given, got) != "" {
			t.Fatalf("limit %d: %v", limit, err)
		}
	}
}

func TestPackFitsExactly(t *testing.T) {
	data, _, err := embed.Pack(members, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := embed.Pack(members, int64(len(data))); err != nil {
		t.Errorf("an area of just its size: %v", err)
	}
	if fit, _, err := embed.Pack(members, int64(len(data))-1); err == nil && len(fit) >= len(data) {
		t.Errorf("%d bytes in an area of %d", len(fit), len(data)-1)
	}
}

func TestPackRefuses(t *testing.T) {
	for _, test := range []struct {
		name    string
		members []embed.Member
		text    string
	}{
		{"two of one name", []embed.Member{{Name: "a"}, {Name: "a"}}, "there already"},
		{"traversal", []embed.Member{{Name: "../a"}}, "no clean path"},
		{"a file above a file", []embed.Member{{Name: "a/b"}, {Name: "a"}}, "no directory"},
		{"a device", []embed.Member{{Name: "a", Mode: 0o020600}}, "device"},
	} {
		if _, _, err := embed.Pack(test.members, 0); err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: error %v, want one with %q", test.name, err, test.text)
		}
	}
}

func TestPackOfNothing(t *testing.T) {
	if data, compression, err := embed.Pack(nil, 10); len(data) != 0 || compression != embed.None || err != nil {
		t.Errorf("%d bytes, %s, %v", len(data), compression, err)
	}
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestUnpackTakesWhatTheKernelTakes(t *testing.T) {
	a := embed.Member{Name: "a", Mode: 0o600, Data: []byte("first")}
	b := embed.Member{Name: "b", Mode: 0o644, Data: noise(70 << 10)}
	a2 := embed.Member{Name: "a", Mode: 0o640, Data: []byte("second")}
	zeros := make([]byte, 4096)
	for _, test := range []struct {
		name        string
		area        []byte
		want        []embed.Member
		compression string
	}{
		{"nothing", nil, nil, ""},
		{"pristine", make([]byte, 262144), nil, ""},
		{"plain", raw(t, a), []embed.Member{a}, "none"},
		{"plain behind zeros", join(zeros, raw(t, a)), []embed.Member{a}, "none"},
		{"gzip", join(zipped(t, raw(t, a, b)), zeros), []embed.Member{a, b}, "gzip"},
		{"zstd", join(zstded(t, raw(t, a, b)), zeros), []embed.Member{a, b}, "zstd"},
		{"zstd without checksum", join(zstded(t, raw(t, a, b), zstd.WithEncoderCRC(false)), zeros), []embed.Member{a, b}, "zstd"},
		{"zstd in one piece", join(zstded(t, raw(t, a), zstd.WithSingleSegment(true)), zeros), []embed.Member{a}, "zstd"},
		{"xz", join(xzed(t, raw(t, a, b), xz.CRC32, 0), zeros), []embed.Member{a, b}, "xz"},
		{"xz of several blocks", join(xzed(t, raw(t, a, b), xz.CRC64, 10000), zeros), []embed.Member{a, b}, "xz"},
		{"xz with SHA-256", join(xzed(t, raw(t, a, b), xz.SHA256, 0), zeros), []embed.Member{a, b}, "xz"},
		{"the last copy wins", join(zipped(t, raw(t, a, b)), zipped(t, raw(t, a2))), []embed.Member{a2, b}, "gzip"},
		{"two in one stream", zipped(t, join(raw(t, a), zeros, raw(t, a2, b))), []embed.Member{a2, b}, "gzip"},
		{
			"all together, compressed ones at odd bytes",
			join(raw(t, a), []byte{0}, zipped(t, raw(t, a2)), xzed(t, raw(t, b), xz.CRC32, 0), zstded(t, raw(t, a)), []byte{0}, zipped(t, raw(t, a2))),
			[]embed.Member{a2, b}, "none+gzip+xz+zstd",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, compression, err := embed.Unpack(test.area)
			if err != nil {
				t.Fatal(err)
			}
			if diff := different(test.want, got); diff != "" {
				t.Error(diff)
			}
			if compression != test.compression {
				t.Errorf("compression %q, want %q", compression, test.compression)
			}
		})
	}
}

func TestUnpackRefuses(t *testing.T) {
	plain := raw(t, embed.Member{Name: "a", Mode: 0o600, Data: noise(5000)})
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
		{"a bomb", zipped(t, raw(t, embed.Member{Name: "a", Data: make([]byte, 64<<20)})), "unpacks to more than is taken"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _, err := embed.Unpack(test.area)
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

func TestUnpackFollowsHardLinks(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("cpio is not installed")
	}
	make := exec.Command("sh", "-c", `printf hello > a && ln a b && ln a c && : > empty && ln empty hollow && find . | sort | cpio -o -H newc --quiet`)
	make.Dir = t.TempDir()
	area, err := make.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := embed.Unpack(area)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, m := range got {
		contents[m.Name] = string(m.Data)
	}
	want := map[string]string{"a": "hello", "b": "hello", "c": "hello", "empty": "", "hollow": ""}
	if diff := cmp.Diff(want, contents); diff != "" {
		t.Error(diff)
	}
}

// The tools of the system unpack what Pack makes, and the other way round.
func TestAgreesWithTools(t *testing.T) {
	content := farRepeats()
	many := []embed.Member{{Name: "etc/a", Mode: 0o600, Data: content}}
	for _, test := range []struct {
		tool  string
		limit int64
	}{{"gzip", 0}, {"xz", 200 << 10}} {
		t.Run(test.tool, func(t *testing.T) {
			need(t, test.tool, "cpio")
			data, compression, err := embed.Pack(many, test.limit)
			if err != nil || compression != test.tool {
				t.Fatalf("%s, %v", compression, err)
			}
			out := shell(t, data, test.tool+" -dc | cpio -i --quiet --to-stdout etc/a")
			if !bytes.Equal(out, content) {
				t.Errorf("%d bytes came out, want %d", len(out), len(content))
			}
		})
	}
	for _, command := range []string{"gzip -9", "xz -9 --check=crc32", "xz -0 --block-size=50000 -T2", "zstd -19 -q", "zstd -1 -q --no-check", "zstd -q --long=27"} {
		t.Run(command, func(t *testing.T) {
			need(t, strings.Fields(command)[0])
			area := append(shell(t, raw(t, many...), command+" -c"), zipped(t, raw(t, members[0]))...)
			got, _, err := embed.Unpack(area)
			if err != nil {
				t.Fatal(err)
			}
			if diff := different([]embed.Member{many[0], members[0]}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

func shell(t *testing.T, in []byte, command string) []byte {
	t.Helper()
	c := exec.Command("sh", "-c", command)
	c.Stdin = bytes.NewReader(in)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return out
}

func TestWalkHandsErrorsOn(t *testing.T) {
	stop := errors.New("enough")
	area := zipped(t, raw(t, members[0]))
	_, err := embed.Walk(bytes.NewReader(area), int64(len(area)), 1<<20, func(cpio.Header, io.Reader) error { return stop })
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
		got, compression, err := embed.Unpack(area)
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

// What is packed comes back, and nothing packed is above the limit.
func FuzzPack(f *testing.F) {
	f.Add("config.ign", []byte("{}"), "etc/a", []byte("b"), 1000)
	f.Add("a", noise(3000), "a/b", []byte(nil), 100)
	f.Fuzz(func(t *testing.T, name1 string, data1 []byte, name2 string, data2 []byte, limit int) {
		given := []embed.Member{{Name: name1, Mode: 0o600, Data: data1}, {Name: name2, Mode: 0o644, Data: data2}}
		packed, compression, err := embed.Pack(given, int64(limit))
		var large *embed.TooLarge
		if errors.As(err, &large) {
			if large.Need <= large.Have || large.Have != int64(limit) {
				t.Fatal(err)
			}
			return
		}
		if err != nil {
			return
		}
		if limit > 0 && len(packed) > limit {
			t.Fatalf("%d bytes above the limit of %d", len(packed), limit)
		}
		got, read, err := embed.Unpack(packed)
		if err != nil || read != compression || len(got) != 2 {
			t.Fatalf("%d members, %s, %v", len(got), read, err)
		}
		for i, m := range got {
			if g := given[i]; m.Name != g.Name {
				g = given[1-i]
				if m.Name != g.Name || !bytes.Equal(m.Data, g.Data) || m.Mode != g.Mode {
					t.Fatalf("%q came back as %q", g.Name, m.Name)
				}
			}
		}
	})
}

func BenchmarkPack(b *testing.B) {
	// The size and the compressibility of a discovery Ignition.
	config := append(letters(16<<10), bytes.Repeat([]byte(`{"path":"/etc/x","mode":420},`), 350)...)
	machine := []embed.Member{{Name: "config.ign", Mode: 0o600, Data: config}, members[1]}
	var p embed.Packer
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := p.Pack(machine, 256<<10); err != nil {
			b.Fatal(err)
		}
	}
}
