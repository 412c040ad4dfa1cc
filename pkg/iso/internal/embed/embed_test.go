package embed_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
	"github.com/oaictl/oaictl/pkg/iso/internal/embed"
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
		if err := w.Write(m.Name, cpio.TypeRegular|m.Mode, m.Data); err != nil {
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
			data, compression, err := new(embed.Packer).Pack(many, test.limit)
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
