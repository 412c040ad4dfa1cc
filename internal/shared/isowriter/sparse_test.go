package isowriter

import (
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
