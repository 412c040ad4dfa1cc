package fetch

import (
	"strings"
	"testing"
)

func TestParseContentRange(t *testing.T) {
	for said, want := range map[string][2]int64{
		"bytes 0-0/1":     {0, 1},
		"bytes 5-9/10":    {5, 10},
		"bytes 5-9/*":     {5, -1},
		"bytes 5-9/9":     {-1, 0},
		"bytes 9-5/10":    {-1, 0},
		"bytes -5-9/10":   {-1, 0},
		"bytes */10":      {-1, 0},
		"items 5-9/10":    {-1, 0},
		"bytes 5-9":       {-1, 0},
		"":                {-1, 0},
		"bytes 0-1/9e999": {-1, 0},
	} {
		first, total, ok := parseContentRange(said)
		if ok != (want[0] >= 0) || ok && (first != want[0] || total != want[1]) {
			t.Errorf("%q: %d, %d, %t", said, first, total, ok)
		}
	}
}

func FuzzParseContentRange(f *testing.F) {
	f.Add("bytes 5-9/10")
	f.Add("bytes 5-9/*")
	f.Fuzz(func(t *testing.T, said string) {
		first, total, ok := parseContentRange(said)
		if ok && (first < 0 || total >= 0 && total <= first) {
			t.Errorf("%q: %d of %d", said, first, total)
		}
	})
}

func FuzzSource(f *testing.F) {
	for _, s := range []string{"https://u:p@h/x?q", "base.iso", "file:///x", "http://[::1]:80/a?b#c", "://", "http://h/%zz", "file://"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, location string) {
		from, err := Source{Location: location}.parse()
		if err == nil && (from.path == "") == (from.url == nil) {
			t.Errorf("%q: %+v", location, from)
		}
		shown := Redact(location)
		if _, rest, isURL := strings.Cut(shown, "://"); isURL && strings.ContainsAny(rest, "@#") && !strings.Contains(rest, "/") {
			t.Errorf("%q is shown as %q", location, shown)
		}
	})
}
