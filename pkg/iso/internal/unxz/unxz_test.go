package unxz_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/unxz"
)

func pack(tb testing.TB, content []byte, config xz.WriterConfig) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := must.Get(config.NewWriter(&out))(tb)
	must.Get(w.Write(content))(tb)
	must.Do(tb, w.Close())
	return out.Bytes()
}

func sample(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, n)
	for i := range content {
		content[i] = byte(random.UintN(7)) // compressible, with matches that reach far back
	}
	return content
}

func TestBytesGivesBackWhatWasPacked(t *testing.T) {
	for name, c := range map[string]struct {
		size   int
		config xz.WriterConfig
	}{
		"empty":       {0, xz.WriterConfig{}},
		"one byte":    {1, xz.WriterConfig{CheckSum: xz.CRC32}},
		"one block":   {300_000, xz.WriterConfig{CheckSum: xz.SHA256}},
		"many blocks": {300_000, xz.WriterConfig{BlockSize: 70_000}},
	} {
		t.Run(name, func(t *testing.T) {
			content := sample(c.size)
			got := must.Get(unxz.Bytes(pack(t, content, c.config), 1<<20))(t)
			if !bytes.Equal(got, content) {
				t.Error("other content came back")
			}
		})
	}
}

func TestBytesRefuses(t *testing.T) {
	good := pack(t, sample(5000), xz.WriterConfig{})
	damaged := func(at int) []byte {
		data := bytes.Clone(good)
		data[at] ^= 0x10
		return data
	}
	for name, c := range map[string]struct {
		data []byte
		most int64
		want string
	}{
		"too large":      {good, 4999, "more than 4999 bytes"},
		"not xz":         {[]byte("MINISO"), 1 << 20, "not an xz stream"},
		"cut off":        {good[:len(good)-5], 1 << 20, "no valid footer"},
		"header only":    {good[:12], 1 << 20, "cut off in its header"},
		"index damaged":  {damaged(len(good) - 13), 1 << 20, "index is damaged"},
		"header damaged": {damaged(14), 1 << 20, "header is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unxz.Bytes(c.data, c.most)
			check.Says(t, err, c.want)
		})
	}
}

func FuzzBytes(f *testing.F) {
	f.Add(pack(f, sample(100), xz.WriterConfig{}))
	f.Add(pack(f, sample(3000), xz.WriterConfig{BlockSize: 1000}))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := unxz.Bytes(data, 1<<16)
		if err == nil && len(out) > 1<<16 {
			t.Errorf("%d bytes, more than allowed", len(out))
		}
	})
}
