// Package miniso reads coreos/miniso.dat: the recipe by which a full live ISO becomes its minimal
// ISO, the one without the root filesystem.
//
// The recipe is a table of what the two images have in common, as extents of the full one, and an
// xz stream with all that the table does not cover.
//
// The format is what coreos-installer's "iso minimal pack" writes with Rust's bincode: little endian,
// integers of variable length.
package miniso

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/oaictl/oaictl/pkg/iso/internal/unxz"
)

const (
	// Sector is the unit of the table's addresses, in bytes.
	Sector = 2048
	// MaxSize bounds a recipe, as coreos-installer does, in bytes. Real ones have about 3000.
	MaxSize = 1 << 20
	// maxUnpacked bounds what the table does not cover. Real images have 1.4 MB of it, mostly the padding that
	// isohybrid adds.
	maxUnpacked = 64 << 20

	version = 1
)

var magic = [8]byte{'M', 'I', 'N', 'I', 'S', 'O'}

// ErrEmpty is returned for an unfilled slot: images built before 2021-12, or without a minimal ISO, carry zeros.
var ErrEmpty = errors.New("holds no recipe: this image was built without a minimal ISO")

// Recipe says how the minimal ISO is made of the full one.
type Recipe struct {
	// App is the version of the program that wrote the recipe.
	App string
	// Table lists what is taken from the full ISO, by its place in the minimal one.
	Table []Entry
	// Digest is the SHA-256 of the whole minimal ISO.
	Digest [32]byte
	// Packed is an xz stream of all bytes of the minimal ISO that Table does not cover, in order.
	Packed []byte
}

// Entry is one extent that both images have. Addresses are sectors, Length is in bytes.
type Entry struct {
	Minimal, Full, Length uint32
}

func (e Entry) start() int64 { return int64(e.Minimal) * Sector }
func (e Entry) end() int64   { return e.start() + int64(e.Length) }

// Parse reads a recipe. What follows it, the zeros of its slot, is not read.
func Parse(data []byte) (*Recipe, error) {
	if len(bytes.TrimLeft(data, "\x00")) == 0 {
		return nil, ErrEmpty
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("recipe has %d bytes, more than the %d that one may have", len(data), MaxSize)
	}
	r := &reader{data: data}
	if got := r.bytes(uint64(len(magic))); !bytes.Equal(got, magic[:]) {
		return nil, fmt.Errorf("not a recipe: it begins with %q", got)
	}
	got, app := r.integer(), string(r.bytes(r.integer()))
	if r.err != nil {
		return nil, r.err
	}
	if got != version {
		return nil, fmt.Errorf("recipe version %d (made by coreos-installer %q) is not understood, only %d", got, app, version)
	}
	recipe := &Recipe{App: app, Table: r.table()}
	copy(recipe.Digest[:], r.bytes(uint64(len(recipe.Digest))))
	recipe.Packed = bytes.Clone(r.bytes(r.integer()))
	if r.err != nil {
		return nil, r.err
	}
	return recipe, recipe.check()
}

// check holds the table to its order: without it the pieces could not be put together in one pass.
func (r *Recipe) check() error {
	if len(r.Table) == 0 {
		return errors.New("table is empty: the two images would share nothing")
	}
	var end int64
	for i, e := range r.Table {
		if e.start() < end {
			return fmt.Errorf("table entry %d begins at byte %d, inside the one before it", i+1, e.start())
		}
		end = e.end()
	}
	return nil
}

// Piece is a stretch of the minimal ISO: Data where that is set, else Length bytes of the full ISO
// from Full on.
type Piece struct {
	Data         []byte
	Full, Length int64 // bytes
}

// Pieces returns the minimal ISO from its first byte to its last, for a full ISO of fullSize bytes. Only the digest of
// the result shows whether that is the right full ISO.
func (r *Recipe) Pieces(fullSize int64) ([]Piece, error) {
	rest, err := unxz.Bytes(r.Packed, maxUnpacked)
	if err != nil {
		return nil, fmt.Errorf("unpacking what is not shared: %w", err)
	}
	var pieces []Piece
	var at int64
	for i, e := range r.Table {
		if gap := e.start() - at; gap > 0 {
			if gap > int64(len(rest)) {
				return nil, fmt.Errorf("table entry %d needs %d bytes before it, and only %d are packed", i+1, gap, len(rest))
			}
			pieces = append(pieces, Piece{Data: rest[:gap:gap]})
			rest = rest[gap:]
		}
		full := int64(e.Full) * Sector
		if full+int64(e.Length) > fullSize {
			return nil, fmt.Errorf("table entry %d needs bytes %d to %d of an image of %d bytes", i+1, full, full+int64(e.Length), fullSize)
		}
		if e.Length > 0 {
			pieces = append(pieces, Piece{Full: full, Length: int64(e.Length)})
		}
		at = e.end()
	}
	if len(rest) > 0 {
		pieces = append(pieces, Piece{Data: rest})
	}
	return pieces, nil
}

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
	if r.err != nil || first[0] < follow2 {
		return littleEndian(first)
	}
	width, known := map[byte]uint64{follow2: 2, follow4: 4, follow8: 8}[first[0]]
	if !known {
		r.err = fmt.Errorf("recipe: number at byte %d is too large", r.at-1)
	}
	return littleEndian(r.bytes(width))
}

func littleEndian(b []byte) uint64 {
	var wide [8]byte
	copy(wide[:], b)
	return binary.LittleEndian.Uint64(wide[:])
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
