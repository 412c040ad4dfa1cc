package isowriter

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

func TestSparse(t *testing.T) {
	s := Zeros(10)
	s.Put(2, []byte("abcd"))
	patched := s.With(Part{At: 4, Data: []byte("XY")}, Part{At: 9, Data: []byte("Z!")})
	check.Equal(t, string(s.Bytes()), "\x00\x00abcd\x00\x00\x00\x00", "original")
	check.Equal(t, string(patched.Bytes()), "\x00\x00abXY\x00\x00\x00Z!", "patched")
	if s.Digest() == patched.Digest() {
		t.Error("a patch leaves the digest")
	}
	into := []byte("garbage")
	n, err := patched.ReadAt(into, 8)
	if n != 3 || err != io.EOF || string(into[:n]) != "\x00Z!" {
		t.Errorf("ReadAt = %d, %v, %q", n, err, into[:n])
	}
	if n, err := patched.ReadAt(into, 11); n != 0 || err != io.EOF {
		t.Errorf("ReadAt the end = %d, %v", n, err)
	}
}

// TestIgnitionArchive has a config be the one member of a compressed archive.
func TestIgnitionArchive(t *testing.T) {
	zip, err := gzip.NewReader(bytes.NewReader(IgnitionArchive([]byte(`{"ignition":{}}`))))
	if err != nil {
		t.Fatal(err)
	}
	archive, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	const magic = "070701" // begins the header of each member, the trailer's too
	name, config := []byte("config.ign\x00"), []byte(`{"ignition":{}}`)
	if !bytes.HasPrefix(archive, []byte(magic)) || bytes.Count(archive, []byte(magic)) != 2 {
		t.Errorf("the archive has other members: %q", archive)
	}
	if at := bytes.Index(archive, name); at < 0 || bytes.Index(archive, config) < at {
		t.Errorf("the archive does not hold the config under its name: %q", archive)
	}
}
