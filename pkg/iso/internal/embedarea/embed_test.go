package embedarea_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
	"github.com/oaictl/oaictl/pkg/iso/internal/embedarea"
)

// different compares fast what is equal: cmp takes its time for long contents.
func different(want, got []embedarea.Member) string {
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

// letters are bytes that gzip packs into about 6 of 8 bits, and xz hardly less.
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

var members = []embedarea.Member{
	{Name: "config.ign", Mode: 0o600, Data: []byte(`{"ignition":{"version":"3.1.0"}}`)},
	{Name: "etc/coreos-firstboot-network/eth0.nmconnection", Mode: 0o600, Data: []byte("[connection]\n")},
	{Name: "etc/link", Mode: 0o120777, Data: []byte("coreos-firstboot-network")},
	{Name: "var/empty", Mode: 0o040700, Data: []byte{}},
}

func raw(t testing.TB, members ...embedarea.Member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := cpio.NewWriter(&b)
	for _, m := range members {
		must.Do(t, w.Write(m.Name, cpio.TypeRegular|m.Mode, m.Data))
	}
	must.Do(t, w.Close())
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
	w := must.Get(open(&b))(t)
	must.Get(w.Write(data))(t)
	must.Do(t, w.Close())
	return b.Bytes()
}
