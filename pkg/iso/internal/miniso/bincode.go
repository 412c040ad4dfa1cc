package miniso

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Marks of bincode's integers of variable length: a first byte below them is the value itself,
// otherwise it says how many bytes follow.
const (
	follow2 = 251
	follow4 = 252
	follow8 = 253
)

// reader takes values off the front of data. The first error stands, and everything after it is
// zero.
type reader struct {
	data []byte
	at   int
	err  error
}

func (r *reader) bytes(n uint64) []byte {
	if r.err != nil {
		return nil
	}
	if n > uint64(len(r.data)-r.at) {
		r.err = fmt.Errorf("recipe is cut off: %d bytes are missing at byte %d", n-uint64(len(r.data)-r.at), r.at)
		return nil
	}
	got := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return got
}

func (r *reader) integer() uint64 {
	first := r.bytes(1)
	if r.err != nil {
		return 0
	}
	if first[0] < follow2 {
		return uint64(first[0])
	}
	switch first[0] {
	case follow2:
		if b := r.bytes(2); b != nil {
			return uint64(binary.LittleEndian.Uint16(b))
		}
	case follow4:
		if b := r.bytes(4); b != nil {
			return uint64(binary.LittleEndian.Uint32(b))
		}
	case follow8:
		if b := r.bytes(8); b != nil {
			return binary.LittleEndian.Uint64(b)
		}
	default:
		r.err = fmt.Errorf("recipe: number at byte %d is too large", r.at-1)
	}
	return 0
}

func (r *reader) integer32() uint32 {
	n := r.integer()
	if n > math.MaxUint32 && r.err == nil {
		r.err = fmt.Errorf("recipe: number before byte %d needs more than 32 bits", r.at)
	}
	return uint32(n)
}

// table reads the shared extents. The table grows by what is there, not by what its length claims.
func (r *reader) table() []Entry {
	count := r.integer()
	var table []Entry
	for i := uint64(0); i < count && r.err == nil; i++ {
		table = append(table, Entry{Minimal: r.integer32(), Full: r.integer32(), Length: r.integer32()})
	}
	return table
}
