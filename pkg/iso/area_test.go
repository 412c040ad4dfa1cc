package iso

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

func TestIgnInfo(t *testing.T) {
	const size = 1000
	for text, want := range map[string]struct {
		offset, length int64
		err            string
	}{
		`{"file":"a"}`:                              {0, 1000, ""},
		`{"file":"a","offset":0}`:                   {0, 1000, ""},
		`{"file":"a","offset":10}`:                  {10, 990, ""},
		`{"file":"a","length":10}`:                  {0, 10, ""},
		`{"file":"a","offset":990,"length":10}`:     {990, 10, ""},
		`{"file":"a","offset":990,"length":11}`:     {err: "does not fit into a"},
		`{"file":"a","offset":1000}`:                {err: "outside of a"},
		`{"file":"a","offset":-1}`:                  {err: "outside of a"},
		`{"file":"a","length":-1}`:                  {err: "does not fit"},
		`{"file":"a","length":0}`:                   {err: "does not fit"},
		`{"file":"a","offset":1e30}`:                {err: "igninfo.json"},
		`{"file":"a","length":9223372036854775807}`: {err: "does not fit"},
		`{}`:             {err: "names no file"},
		`[]`:             {err: "igninfo.json"},
		`{"file":"a"} x`: {err: "more follows"},
		``:               {err: "igninfo.json"},
	} {
		info, err := parseIgnInfo([]byte(text))
		var offset, length int64
		if err == nil {
			offset, length, err = info.within(size)
		}
		if want.err != "" {
			check.Says(t, err, want.err, text)
			continue
		}
		if err != nil || offset != want.offset || length != want.length {
			t.Errorf("%s: %d bytes at %d, error %v; want %d at %d", text, length, offset, err, want.length, want.offset)
		}
	}
}

func FuzzIgnInfo(f *testing.F) {
	for _, text := range []string{`{"file":"images/ignition.img"}`, `{"file":"a","offset":1,"length":2}`, `{"file":"a","offset":-1}`, "{"} {
		f.Add([]byte(text), int64(1000))
	}
	f.Fuzz(func(t *testing.T, data []byte, size int64) {
		info, err := parseIgnInfo(data)
		if err != nil {
			return
		}
		offset, length, err := info.within(size)
		if err == nil && (offset < 0 || length <= 0 || length > size || offset > size-length) {
			t.Errorf("%d bytes at %d of a file of %d", length, offset, size)
		}
	})
}

func TestSplitLabel(t *testing.T) {
	for label, want := range map[string][2]string{
		"rhcos-9.6.20250523-0":             {"rhcos", "9.6.20250523-0"},
		"fedora-coreos-42.20250803.3.0":    {"fedora-coreos", "42.20250803.3.0"},
		"rhcos-418.94.202501221327-0-live": {"rhcos", "418.94.202501221327-0-live"},
		"agentboot":                        {"agentboot", ""},
		"-":                                {"-", ""},
		"":                                 {"", ""},
	} {
		if os, version := splitLabel(label); os != want[0] || version != want[1] {
			t.Errorf("%q: %q and %q, want %q", label, os, version, want)
		}
	}
}

func TestKernelArch(t *testing.T) {
	head := func(at int, magic string) []byte {
		data := make([]byte, 1024)
		copy(data, "MZ")
		copy(data[at:], magic)
		return data
	}
	pe := func(machine string) []byte {
		data := head(0x80, "PE\x00\x00"+machine)
		data[0x3c] = 0x80
		return data
	}
	wild := head(0x3c, "\xff\xff\xff\xff")
	for name, c := range map[string]struct {
		head []byte
		want string
	}{
		"bzImage":       {head(0x202, "HdrS"), "x86_64"},
		"Image":         {head(56, "ARM\x64"), "aarch64"},
		"zboot":         {pe("\x64\xaa"), "aarch64"},
		"EFI stub":      {pe("\x64\x86"), "x86_64"},
		"ELF":           {[]byte("\x7fELF\x02\x01\x01"), "ppc64le"},
		"other PE":      {pe("\x00\x00"), ""},
		"PE far away":   {wild, ""},
		"nothing":       {nil, ""},
		"less than ELF": {[]byte("\x7fEL"), ""},
	} {
		check.Equal(t, kernelArch(c.head), c.want, name)
	}
}
