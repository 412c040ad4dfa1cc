package image

import (
	"crypto/sha256"
	"io"
	"slices"
)

// sparse is a sequence of bytes that holds only its parts; everything between
// them is zero. Where parts overlap the later one wins, so writing a part over
// a shared image patches a copy of it without copying its bytes.
type sparse struct {
	size  int64
	parts []part
}

// part is a run of bytes at its place.
type part struct {
	at   int64
	data []byte
}

func bytesOf(data []byte) *sparse {
	s := &sparse{}
	s.append(data)
	return s
}

func zeros(size int64) *sparse { return &sparse{size: size} }

// put writes data at a place, growing the sequence to hold it.
func (s *sparse) put(at int64, data []byte) {
	s.parts = append(s.parts, part{at: at, data: data})
	s.size = max(s.size, at+int64(len(data)))
}

// putAll writes another sequence at a place.
func (s *sparse) putAll(at int64, other *sparse) {
	for _, p := range other.parts {
		s.put(at+p.at, p.data)
	}
	s.size = max(s.size, at+other.size)
}

func (s *sparse) append(data []byte) { s.put(s.size, data) }

// pad grows the sequence with zeros to a multiple of unit.
func (s *sparse) pad(unit int64) { s.size = (s.size + unit - 1) / unit * unit }

// with is a copy that shares all bytes and has further parts written over them.
func (s *sparse) with(parts ...part) *sparse {
	patched := &sparse{size: s.size, parts: slices.Concat(s.parts, parts)}
	for _, p := range parts {
		patched.size = max(patched.size, p.at+int64(len(p.data)))
	}
	return patched
}

// ReadAt implements io.ReaderAt.
func (s *sparse) ReadAt(into []byte, at int64) (int, error) {
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
		from, to := max(at, p.at), min(end, p.at+int64(len(p.data)))
		if from < to {
			copy(into[from-at:to-at], p.data[from-p.at:])
		}
	}
	return len(into), short
}

// reader reads the sequence from its start.
func (s *sparse) reader() *io.SectionReader { return io.NewSectionReader(s, 0, s.size) }

// bytes is the sequence in full: for what is small.
func (s *sparse) bytes() []byte {
	all := make([]byte, s.size)
	_, _ = s.ReadAt(all, 0) // reads memory
	return all
}

// digest is the SHA-256 of the parts, their places and the size: equal
// sequences that were written alike have equal digests.
func (s *sparse) digest() [sha256.Size]byte {
	sum := sha256.New()
	number := func(n int64) {
		for shift := 0; shift < 64; shift += 8 {
			sum.Write([]byte{byte(n >> shift)})
		}
	}
	number(s.size)
	for _, p := range s.parts {
		number(p.at)
		number(int64(len(p.data)))
		sum.Write(p.data)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}
