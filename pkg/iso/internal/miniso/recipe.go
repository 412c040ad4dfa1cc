// Package miniso reads coreos/miniso.dat: the recipe by which a full live ISO becomes its minimal
// ISO, the one without the root filesystem.
//
// The recipe is a table of what the two images have in common, as extents of the full one, and an
// xz stream with all that the table does not cover. The minimal ISO needs no file of its own: it is
// those few bytes in memory and those extents of the full image.
//
// The format is what coreos-installer's "iso minimal pack" writes with Rust's bincode: little endian,
// integers of variable length.
package miniso

import (
	"bytes"
	"errors"
	"fmt"
)

const (
	// Sector is the unit of the table's addresses, in bytes.
	Sector = 2048
	// MaxSize bounds a recipe, as coreos-installer does, in bytes. Real ones have about 3000.
	MaxSize = 1 << 20
	// maxUnpacked bounds what the table does not cover. Real images have 1.4 MB of it, most of
	// which is the padding that isohybrid adds.
	maxUnpacked = 64 << 20

	version = 1
)

var magic = [8]byte{'M', 'I', 'N', 'I', 'S', 'O'}

// ErrEmpty is returned for a slot that nobody filled: images built before 2021-12, or without a
// minimal ISO, carry zeros.
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

// Parse reads a recipe. What follows it, the zeros of its slot, is not looked at.
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
