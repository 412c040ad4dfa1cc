package miniso_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
	"github.com/oaictl/oaictl/pkg/iso/internal/miniso"
)

// images makes a full and a minimal image that share three files, at other places and with other
// bytes around them.
func images() (full, minimal []byte, table []isotest.SharedFile) {
	random := rand.New(rand.NewPCG(3, 4))
	fill := func(n int) []byte {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(random.UintN(256))
		}
		return data
	}
	full = fill(400 * miniso.Sector)
	minimal = fill(320 * miniso.Sector)
	table = []isotest.SharedFile{
		{Minimal: 20, Full: 30, Length: 5000},
		{Minimal: 23, Full: 20, Length: 2048}, // directly behind the one before it, to the sector
		{Minimal: 270, Full: 300, Length: 1},  // addresses that need two bytes
	}
	for _, e := range table {
		copy(minimal[e.Minimal*miniso.Sector:], full[e.Full*miniso.Sector:][:e.Length])
	}
	return full, minimal, table
}

func pack(tb testing.TB) (data, full, minimal []byte) {
	tb.Helper()
	full, minimal, table := images()
	data = must.Get(isotest.PackMiniISO(minimal, "0.26.0", table))(tb)
	return data, full, minimal
}

func parse(tb testing.TB, data []byte) *miniso.Recipe {
	tb.Helper()
	return must.Get(miniso.Parse(data))(tb)
}

func TestPiecesMakeTheMinimalImage(t *testing.T) {
	data, full, minimal := pack(t)
	recipe := parse(t, append(data, make([]byte, 4096)...)) // the slot is padded with zeros
	pieces := must.Get(recipe.Pieces(int64(len(full))))(t)
	var got []byte
	for _, p := range pieces {
		if p.Data != nil {
			got = append(got, p.Data...)
		} else {
			got = append(got, full[p.Full:p.Full+p.Length]...)
		}
	}
	if !bytes.Equal(got, minimal) {
		t.Error("the pieces make another image")
	}
	if sha256.Sum256(got) != recipe.Digest {
		t.Error("the digest is of another image")
	}
}

// The layout of the bytes, written down by hand from the format: bincode with integers of variable
// length.
func TestParseReadsBincode(t *testing.T) {
	want := &miniso.Recipe{
		App:    "0.1",
		Table:  []miniso.Entry{{Minimal: 250, Full: 251, Length: 65535}, {Minimal: 70000, Full: 0, Length: 1 << 31}},
		Digest: [32]byte{0: 0xaa, 31: 0xbb},
		Packed: []byte{1, 2, 3},
	}
	data, err := hex.DecodeString("4d494e49534f0000" + "01" + "03302e31" + // magic, version, "0.1"
		"02" + "fa" + "fbfb00" + "fbffff" + // two entries, the first one
		"fc70110100" + "00" + "fc00000080" +
		"aa" + strings.Repeat("00", 30) + "bb" +
		"03010203")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, parse(t, data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	good, _, _ := pack(t)
	with := func(change func(data []byte) []byte) []byte { return change(bytes.Clone(good)) }
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"other magic":     {with(func(d []byte) []byte { d[0] = 'm'; return d }), "not a recipe"},
		"later version":   {with(func(d []byte) []byte { d[8] = 2; return d }), `recipe version 2 (made by coreos-installer "0.26.0")`},
		"cut off":         {good[:len(good)-1], "cut off: 1 bytes are missing"},
		"magic only":      {good[:8], "cut off"},
		"number too wide": {with(func(d []byte) []byte { d[16] = 0xff; return d }), "number at byte 16 is too large"},
		"empty table":     {append(bytes.Clone(good[:16]), make([]byte, 40)...), "table is empty"},
		"too large":       {append(bytes.Clone(good), make([]byte, miniso.MaxSize)...), "more than the 1048576"},
		"overlap":         {with(func(d []byte) []byte { d[22] = 21; return d }), "table entry 2 begins at byte 43008, inside the one before it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := miniso.Parse(c.data)
			check.Says(t, err, c.want)
		})
	}
	if _, err := miniso.Parse(make([]byte, 16384)); !errors.Is(err, miniso.ErrEmpty) {
		t.Errorf("empty slot: error %v", err)
	}
}

func TestPiecesRefuse(t *testing.T) {
	data, full, _ := pack(t)
	recipe := parse(t, data)
	check.Says(t, check.Err(recipe.Pieces(int64(len(full)/2))), "table entry 3 needs bytes", "full image too short: error")
	recipe.Table[1].Minimal = 400_000
	recipe.Table[2].Minimal = 400_010
	check.Says(t, check.Err(recipe.Pieces(int64(len(full)))), "table entry 2 needs", "too little packed: error")
	recipe.Packed = []byte("not xz")
	check.Says(t, check.Err(recipe.Pieces(int64(len(full)))), "unpacking what is not shared", "not packed: error")
}

func FuzzParse(f *testing.F) {
	data, full, _ := pack(f)
	f.Add(data)
	f.Add(data[:len(data)-len(parse(f, data).Packed)])
	f.Fuzz(func(t *testing.T, data []byte) {
		recipe, err := miniso.Parse(data)
		if err != nil {
			return
		}
		pieces, err := recipe.Pieces(int64(len(full)))
		if err != nil {
			return
		}
		for _, p := range pieces {
			if p.Full < 0 || p.Length < 0 || p.Full+p.Length > int64(len(full)) {
				t.Errorf("piece %d+%d reaches beyond the full image", p.Full, p.Length)
			}
		}
	})
}
