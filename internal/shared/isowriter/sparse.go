package isowriter

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
)

// Sparse is a sequence of bytes that holds only its parts; everything between
// them is zero. Where parts overlap the later one wins, so writing a part over
// a shared image patches a copy of it without copying its bytes.
type Sparse struct {
	size  int64
	parts []Part
}

// Part is a run of bytes at its place.
type Part struct {
	At   int64
	Data []byte
}

// BytesOf is a sequence that holds data.
func BytesOf(data []byte) *Sparse {
	s := &Sparse{}
	s.Append(data)
	return s
}

// Zeros is a sequence of zeros, which takes no memory.
func Zeros(size int64) *Sparse { return &Sparse{size: size} }

// Put writes data at a place, growing the sequence to hold it.
func (s *Sparse) Put(at int64, data []byte) {
	s.parts = append(s.parts, Part{At: at, Data: data})
	s.size = max(s.size, at+int64(len(data)))
}

// PutAll writes another sequence at a place.
func (s *Sparse) PutAll(at int64, other *Sparse) {
	for _, p := range other.parts {
		s.Put(at+p.At, p.Data)
	}
	s.size = max(s.size, at+other.size)
}

// Append writes data at the end.
func (s *Sparse) Append(data []byte) { s.Put(s.size, data) }

// Grow adds zeros at the end.
func (s *Sparse) Grow(n int64) { s.size += n }

// Size is the length in bytes.
func (s *Sparse) Size() int64 { return s.size }

// Pad grows the sequence with zeros to a multiple of unit.
func (s *Sparse) Pad(unit int64) { s.size = alignUp(s.size, unit) }

// With is a copy that shares all bytes and has further parts written over them.
func (s *Sparse) With(parts ...Part) *Sparse {
	patched := &Sparse{size: s.size, parts: slices.Concat(s.parts, parts)}
	for _, p := range parts {
		patched.size = max(patched.size, p.At+int64(len(p.Data)))
	}
	return patched
}

// ReadAt implements io.ReaderAt.
func (s *Sparse) ReadAt(into []byte, at int64) (int, error) {
	if at >= s.size {
		return 0, io.EOF
	}
	var short error
	if int64(len(into)) > s.size-at {
		into, short = into[:s.size-at], io.EOF
	}
	clear(into)
	end := at + int64(len(into))
	for _, p := range s.parts {
		from, to := max(at, p.At), min(end, p.At+int64(len(p.Data)))
		if from < to {
			copy(into[from-at:to-at], p.Data[from-p.At:])
		}
	}
	return len(into), short
}

// Reader reads the sequence from its start.
func (s *Sparse) Reader() *io.SectionReader { return io.NewSectionReader(s, 0, s.size) }

// Bytes is the sequence in full: for what is small.
func (s *Sparse) Bytes() []byte {
	all := make([]byte, s.size)
	_, _ = s.ReadAt(all, 0) // reads memory
	return all
}

// Digest is the SHA-256 of the parts, their places and the size: equal
// sequences that were written alike have equal digests.
func (s *Sparse) Digest() [sha256.Size]byte {
	sum := sha256.New()
	number := func(n int64) {
		for shift := 0; shift < 64; shift += 8 {
			sum.Write([]byte{byte(n >> shift)})
		}
	}
	number(s.size)
	for _, p := range s.parts {
		number(p.At)
		number(int64(len(p.Data)))
		sum.Write(p.Data)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

// Store writes the parts into an empty file. What is zero stays a hole.
func (s *Sparse) Store(file interface {
	io.WriterAt
	Truncate(size int64) error
}) error {
	if err := file.Truncate(s.size); err != nil {
		return err
	}
	for _, p := range s.parts {
		if _, err := file.WriteAt(p.Data, p.At); err != nil {
			return err
		}
	}
	return nil
}

// Member is a file, directory or symbolic link of an archive. The content of a
// link is its target.
type Member struct {
	Name string
	Mode uint32 // kind and permissions, as stat(2) has them
	Data *Sparse
}

// The kinds of members, which are bits of their modes.
const (
	ModeDirectory = 0o040000
	ModeFile      = 0o100000
	ModeLink      = 0o120000
)

// Archive is an uncompressed cpio archive in the form newc, which the kernel
// unpacks into its root. It depends on its members alone: no times, no owners.
func Archive(members ...Member) *Sparse {
	archive := &Sparse{}
	for i, m := range append(members, Member{Name: "TRAILER!!!", Data: Zeros(0)}) {
		archive.Append(fmt.Appendf(nil, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
			i+1, m.Mode, 0, 0, 1, 0, m.Data.Size(), 0, 0, 0, 0, len(m.Name)+1, 0, m.Name))
		archive.Pad(4)
		archive.PutAll(archive.Size(), m.Data)
		archive.Pad(4)
	}
	return archive
}

// Gzip compresses data, always to the same bytes.
func Gzip(data []byte) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, _ = zip.Write(data) // memory
	_ = zip.Close()
	return out.Bytes()
}

// IgnitionArchive is what an embed area holds: a compressed archive with an Ignition config as its one member.
func IgnitionArchive(config []byte) []byte {
	return Gzip(Archive(Member{Name: "config.ign", Mode: ModeFile | 0o644, Data: BytesOf(config)}).Bytes())
}
