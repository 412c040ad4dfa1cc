package cpio_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
)

// seen is a member as a reader gives it back.
type seen struct {
	Name    string
	Mode    uint32
	Content string
	Archive int
}

func readAll(r *cpio.Reader) ([]seen, error) {
	var all []seen
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return all, err
		}
		all = append(all, seen{h.Name, h.Mode, string(content), h.Archive})
	}
}

func archive(t testing.TB, write func(w *cpio.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	w := cpio.NewWriter(&b)
	must.Do(t, write(w))
	must.Do(t, w.Close())
	return b.Bytes()
}

func one(t testing.TB, name, content string) []byte {
	return archive(t, func(w *cpio.Writer) error { return w.Write(name, cpio.TypeRegular|0o600, []byte(content)) })
}

func sample(w *cpio.Writer) error {
	return errors.Join(
		w.Write("config.ign", cpio.TypeRegular|0o600, []byte("{}")),
		w.Write("etc/net/a.nmconnection", cpio.TypeRegular|0o600, []byte("[connection]\n")),
		w.Write("etc/net/b.nmconnection", cpio.TypeRegular|0o640, nil),
		w.Write("etc/net", cpio.TypeDirectory|0o755, nil),
		w.Write("var/empty", cpio.TypeDirectory|0o700, nil),
		w.Write("etc/link", cpio.TypeSymlink, []byte("net/a.nmconnection")),
	)
}

func TestReadsWhatWasWritten(t *testing.T) {
	b := archive(t, sample)
	if len(b)%4 != 0 {
		t.Errorf("an archive of %d bytes is not aligned", len(b))
	}
	r := cpio.NewReader(bytes.NewReader(b))
	got := must.Get(readAll(r))(t)
	want := []seen{
		{"config.ign", 0o100600, "{}", 0},
		{"etc", 0o040755, "", 0},
		{"etc/net", 0o040755, "", 0},
		{"etc/net/a.nmconnection", 0o100600, "[connection]\n", 0},
		{"etc/net/b.nmconnection", 0o100640, "", 0},
		{"var", 0o040755, "", 0},
		{"var/empty", 0o040700, "", 0},
		{"etc/link", 0o120777, "net/a.nmconnection", 0},
	}
	check.Same(t, want, got)
	if again := archive(t, sample); !bytes.Equal(b, again) {
		t.Error("the same members made another archive")
	}
	if r.Archives() != 1 {
		t.Errorf("%d archives", r.Archives())
	}
}

func TestReadsConcatenatedArchives(t *testing.T) {
	b := one(t, "a", "first")
	b = append(b, make([]byte, 512)...)
	b = append(b, one(t, "a", "second")...)
	b = append(b, one(t, "b", "third")...)
	b = append(b, 0, 0, 0)
	got := must.Get(readAll(cpio.NewReader(bytes.NewReader(b))))(t)
	want := []seen{{"a", 0o100600, "first", 0}, {"a", 0o100600, "second", 1}, {"b", 0o100600, "third", 2}}
	check.Same(t, want, got)
}

func TestSaysWhereSomethingElseFollows(t *testing.T) {
	b := one(t, "a", "first")
	end := int64(len(b))
	for _, test := range []struct {
		name   string
		behind string
		at     int64
		found  bool
	}{
		{"nothing", "", 0, false},
		{"zeros", "\x00\x00\x00\x00\x00", 0, false},
		{"gzip at once", "\x1f\x8b\x08", end, true},
		{"gzip behind zeros", "\x00\x00\x00\x1f\x8b\x08", end + 3, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := bytes.NewReader(append(bytes.Clone(b), test.behind...))
			r := cpio.NewReader(in)
			got, err := readAll(r)
			if err != nil || len(got) != 1 {
				t.Fatalf("%v, %v", got, err)
			}
			at, found := r.Rest()
			if at != test.at || found != test.found {
				t.Errorf("rest at %d %v, want %d %v", at, found, test.at, test.found)
			}
			if _, err := r.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

func TestSkipsWhatIsNotRead(t *testing.T) {
	r := cpio.NewReader(bytes.NewReader(archive(t, sample)))
	var names []string
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		var some [1]byte
		_, _ = r.Read(some[:])
	}
	if len(names) != 8 {
		t.Errorf("members %q", names)
	}
}

func TestRefusesBrokenArchives(t *testing.T) {
	good := one(t, "name", "content")
	change := func(at int, to string) []byte {
		b := bytes.Clone(good)
		copy(b[at:], to)
		return b
	}
	for _, test := range []struct {
		name string
		data []byte
		text string
	}{
		{"empty", nil, "breaks off in a header near byte 0"},
		{"only zeros", make([]byte, 64), "breaks off in a header near byte 64"},
		{"no magic", []byte(strings.Repeat("x", 200)), "no header at byte 0"},
		{"old form", change(0, "070707"), "no header at byte 0"},
		{"cut header", good[:50], "breaks off in a header"},
		{"cut name", good[:112], "breaks off in a name"},
		{"cut content", good[:120], "breaks off in a content"},
		{"no trailer", good[:124], "breaks off in a header near byte 124"},
		{"digits", change(6, "0000000g"), "field 0 is no hexadecimal number"},
		{"sign", change(6, "+0000001"), "field 0 is no hexadecimal number"},
		{"name of nothing", change(94, "00000000"), "a name of 0 bytes"},
		{"huge name", change(94, "FFFFFFFF"), "a name of 4294967295 bytes"},
		{"name with no end", change(94, "00000004"), "the name does not end"},
		{"huge content", change(54, "FFFFFFFF"), "breaks off in a content"},
		{"not aligned", append([]byte{0}, good...), "byte 1, which is no multiple of 4"},
		{"junk in front of the trailer", change(124, "junk"), "no header at byte 124"},
		{"zeros in front of the trailer", change(124, "\x00\x00\x00\x00"), "no header at byte 124"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := readAll(cpio.NewReader(bytes.NewReader(test.data)))
			if !errors.Is(err, cpio.ErrFormat) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v, want one with %q", err, test.text)
			}
		})
	}
}

func TestRefusesNames(t *testing.T) {
	for _, test := range []struct{ name, text string }{
		{"", "empty"},
		{"/etc/passwd", "begins with a slash"},
		{"../x", "no clean path"},
		{"a/../b", "no clean path"},
		{"a//b", "no clean path"},
		{"./a", "no clean path"},
		{"a/", "no clean path"},
		{".", "no clean path"},
		{"..", "no clean path"},
		{"a\x00b", "zero byte"},
		{strings.Repeat("x", 4096), "more than the 4095"},
		{"TRAILER!!!", "archive's end"},
	} {
		w := cpio.NewWriter(io.Discard)
		check.Says(t, w.Write(test.name, cpio.TypeRegular|0o600, nil), test.text, test.name)
	}
}

func TestRefusesWhatCannotStandTogether(t *testing.T) {
	for _, test := range []struct {
		name  string
		write func(w *cpio.Writer) error
		text  string
	}{
		{"the same name", func(w *cpio.Writer) error {
			return errors.Join(w.Write("a", cpio.TypeRegular|0o600, nil), w.Write("a", cpio.TypeRegular|0o600, nil))
		}, "there already"},
		{"below a file", func(w *cpio.Writer) error {
			return errors.Join(w.Write("a", cpio.TypeRegular|0o600, nil), w.Write("a/b", cpio.TypeRegular|0o600, nil))
		}, `"a" is no directory`},
		{"another mode of a directory", func(w *cpio.Writer) error {
			return errors.Join(w.Write("a/b", cpio.TypeRegular|0o600, nil), w.Write("a", cpio.TypeDirectory|0o700, nil))
		}, "there already"},
		{"kind in permissions", func(w *cpio.Writer) error { return w.Write("a", 0o3100600, nil) }, "more than kind and permissions"},
		{"empty target", func(w *cpio.Writer) error { return w.Write("a", cpio.TypeSymlink, []byte("")) }, "target"},
		{"after the end", func(w *cpio.Writer) error { return errors.Join(w.Close(), w.Write("a", cpio.TypeRegular|0o600, nil)) }, "closed"},
	} {
		check.Says(t, test.write(cpio.NewWriter(io.Discard)), test.text, test.name)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(archive(f, sample))
	f.Add(append(append(one(f, "a", "b"), make([]byte, 16)...), one(f, "c", "d")...))
	f.Add([]byte("070701"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := cpio.NewReader(bytes.NewReader(data))
		total := 0
		all, err := readAll(r)
		for _, m := range all {
			total += len(m.Content)
		}
		if total > len(data) {
			t.Fatalf("%d bytes of content in %d bytes", total, len(data))
		}
		if err != nil && !errors.Is(err, cpio.ErrFormat) {
			t.Fatalf("an error that is not of the form: %v", err)
		}
		if at, found := r.Rest(); found && (at >= int64(len(data)) || data[at] == 0) {
			t.Fatalf("rest at %d of %d", at, len(data))
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	config := bytes.Repeat([]byte("0123456789abcdef"), 1600)
	b.ReportAllocs()
	for b.Loop() {
		w := cpio.NewWriter(io.Discard)
		must.Do(b, errors.Join(w.Write("config.ign", cpio.TypeRegular|0o600, config), w.Write("etc/a/b", cpio.TypeRegular|0o600, nil), w.Close()))
	}
}
