package embedarea_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/iso/internal/embedarea"
)

func TestPackAndUnpack(t *testing.T) {
	for _, test := range []struct {
		name        string
		members     []embedarea.Member
		limit       int64
		compression string
	}{
		{"usual", members, 256 << 10, embedarea.Gzip},
		{"no limit", members, 0, embedarea.Gzip},
		{"xz where gzip does not fit", []embedarea.Member{{Name: "config.ign", Mode: 0o600, Data: farRepeats()}}, 200 << 10, embedarea.XZ},
		{"beyond the dictionary", []embedarea.Member{{Name: "a", Mode: 0o600, Data: bytes.Repeat(farRepeats(), 3)}}, 200 << 10, embedarea.XZ},
	} {
		t.Run(test.name, func(t *testing.T) {
			data, compression, err := new(embedarea.Packer).Pack(test.members, test.limit)
			if err != nil {
				t.Fatal(err)
			}
			check.Equal(t, compression, test.compression, "compressed with")
			if test.limit > 0 && int64(len(data)) > test.limit {
				t.Errorf("%d bytes are above the limit", len(data))
			}
			area := append(bytes.Clone(data), make([]byte, 1000)...)
			got, compression, err := embedarea.Unpack(area)
			if err != nil {
				t.Fatal(err)
			}
			check.Equal(t, compression, test.compression, "read as")
			check.Equal(t, different(test.members, got), "")
		})
	}
}

func TestPackIsDeterministic(t *testing.T) {
	var p embedarea.Packer
	first, _, err := p.Pack(members, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Pack([]embedarea.Member{{Name: "x", Data: letters(100 << 10)}}, 0); err != nil {
		t.Fatal(err)
	}
	backwards := []embedarea.Member{members[3], members[2], members[1], members[0]}
	second, _, err := p.Pack(backwards, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("the same members in another order, with a used compressor, made other bytes")
	}
}

func TestPackSaysWhatDoesNotFit(t *testing.T) {
	_, _, err := new(embedarea.Packer).Pack([]embedarea.Member{
		{Name: "config.ign", Mode: 0o600, Data: letters(40 << 10)},
		{Name: "small", Mode: 0o600, Data: []byte("secret")},
		{Name: "etc/b", Mode: 0o600, Data: letters(20 << 10)},
		{Name: "etc/c", Mode: 0o600, Data: letters(60 << 10)},
	}, 32<<10)
	var large *embedarea.TooLarge
	if !errors.As(err, &large) {
		t.Fatalf("error %v", err)
	}
	if large.Have != 32<<10 || large.Need <= large.Have || large.Need > 120<<10 {
		t.Errorf("need %d, have %d", large.Need, large.Have)
	}
}

func TestPackGivesUpWhereNothingHelps(t *testing.T) {
	_, _, err := new(embedarea.Packer).Pack([]embedarea.Member{{Name: "a", Mode: 0o600, Data: letters(8 << 20)}}, 1<<10)
	var large *embedarea.TooLarge
	if !errors.As(err, &large) || large.Need < 6<<20 || large.Need > 8<<20 {
		t.Errorf("error %v", err)
	}
}

// xz may be given up at any of its bytes, including the last ones, which its writer does not report: at every limit the
// result is whole or refused.
func TestPackNeverCuts(t *testing.T) {
	given := []embedarea.Member{{Name: "a", Mode: 0o600, Data: noise(70)}}
	for limit := int64(1); limit < 300; limit++ {
		packed, _, err := new(embedarea.Packer).Pack(given, limit)
		var large *embedarea.TooLarge
		if errors.As(err, &large) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := embedarea.Unpack(packed); err != nil || different(given, got) != "" {
			t.Fatalf("limit %d: %v", limit, err)
		}
	}
}

func TestPackFitsExactly(t *testing.T) {
	data, _, err := new(embedarea.Packer).Pack(members, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := new(embedarea.Packer).Pack(members, int64(len(data))); err != nil {
		t.Errorf("an area of just its size: %v", err)
	}
	if fit, _, err := new(embedarea.Packer).Pack(members, int64(len(data))-1); err == nil && len(fit) >= len(data) {
		t.Errorf("%d bytes in an area of %d", len(fit), len(data)-1)
	}
}

func TestPackRefuses(t *testing.T) {
	for _, test := range []struct {
		name    string
		members []embedarea.Member
		text    string
	}{
		{"two of one name", []embedarea.Member{{Name: "a"}, {Name: "a"}}, "there already"},
		{"traversal", []embedarea.Member{{Name: "../a"}}, "no clean path"},
		{"a file above a file", []embedarea.Member{{Name: "a/b"}, {Name: "a"}}, "no directory"},
		{"a device", []embedarea.Member{{Name: "a", Mode: 0o020600}}, "device"},
	} {
		if _, _, err := new(embedarea.Packer).Pack(test.members, 0); err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: error %v, want one with %q", test.name, err, test.text)
		}
	}
}

func TestPackOfNothing(t *testing.T) {
	if data, compression, err := new(embedarea.Packer).Pack(nil, 10); len(data) != 0 || compression != embedarea.None || err != nil {
		t.Errorf("%d bytes, %s, %v", len(data), compression, err)
	}
}

// What is packed comes back, and nothing packed is above the limit.
func FuzzPack(f *testing.F) {
	f.Add("config.ign", []byte("{}"), "etc/a", []byte("b"), 1000)
	f.Add("a", noise(3000), "a/b", []byte(nil), 100)
	f.Fuzz(func(t *testing.T, name1 string, data1 []byte, name2 string, data2 []byte, limit int) {
		given := []embedarea.Member{{Name: name1, Mode: 0o600, Data: data1}, {Name: name2, Mode: 0o644, Data: data2}}
		packed, compression, err := new(embedarea.Packer).Pack(given, int64(limit))
		var large *embedarea.TooLarge
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
		got, read, err := embedarea.Unpack(packed)
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
	machine := []embedarea.Member{{Name: "config.ign", Mode: 0o600, Data: config}, members[1]}
	var p embedarea.Packer
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := p.Pack(machine, 256<<10); err != nil {
			b.Fatal(err)
		}
	}
}
