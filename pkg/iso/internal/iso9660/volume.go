// Package iso9660 reads the structures of a bootable ISO image, and says which bytes to change so that one file lies
// elsewhere. It never rebuilds a filesystem: boot code, partition tables and boot catalogs hold places of the image,
// and only an image whose other bytes stay where they are keeps booting everywhere.
//
// It knows the volume descriptors, directory records and Joliet names of ECMA-119, the names of Rock Ridge (IEEE
// P1281/P1282), the El Torito boot catalog, the MBR and the GPT. Offsets are in bytes unless they are called sectors
// (2048 bytes) or blocks (512 bytes). Directories that Rock Ridge moved (its CL entry) are not followed.
//
// An image is untrusted: the places and sizes in it are compared with its length before they are used.
package iso9660

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

const (
	kindBoot          = 0
	kindPrimary       = 1
	kindSupplementary = 2
	kindTerminator    = 255

	maxDescriptors = 32 // images have four or five

	// Places in a primary or supplementary descriptor.
	atVolumeSpace = 80
	atEscapes     = 88
	atRoot        = 156
)

type descriptor struct {
	offset   int64
	enhanced bool // neither the primary one nor Joliet's: a tree that is not read
}

// readDescriptors reads all volume descriptors, and returns the sector of the El Torito boot catalog, 0 for none.
func (v *Volume) readDescriptors() (catalog int64, err error) {
	for i := range int64(maxDescriptors) {
		off := systemArea + i*SectorSize
		d, err := v.descriptorAt(off)
		if err != nil {
			return 0, err
		}
		switch d[0] {
		case kindBoot:
			if strings.HasPrefix(string(d[7:]), "EL TORITO SPECIFICATION") {
				catalog = int64(binary.LittleEndian.Uint32(d[71:]))
			}
		case kindPrimary:
			if len(v.descriptors) > 0 {
				return 0, fmt.Errorf("the volume descriptor at %d is a primary one, and not the first", off)
			}
			if err := v.usePrimary(d, off); err != nil {
				return 0, fmt.Errorf("primary volume descriptor at %d: %w", off, err)
			}
		case kindSupplementary:
			if err := v.useSupplementary(d, off); err != nil {
				return 0, fmt.Errorf("supplementary volume descriptor at %d: %w", off, err)
			}
		case kindTerminator:
			if len(v.descriptors) == 0 {
				return 0, fmt.Errorf("%w: no primary volume descriptor before %d", ErrNotISO, off)
			}
			v.extents = append(v.extents, extent{0, off + SectorSize, "the volume descriptors"})
			return catalog, nil
		}
	}
	return 0, fmt.Errorf("the volume descriptors do not end within %d sectors", maxDescriptors)
}

// CheckStart is the error of Read for an image with such a beginning, if it is no image.
func CheckStart(start []byte) error {
	v := &Volume{r: bytes.NewReader(start), Size: int64(len(start))}
	_, err := v.descriptorAt(systemArea)
	return err
}

func (v *Volume) descriptorAt(off int64) ([]byte, error) {
	if off+SectorSize > v.Size {
		if off == systemArea {
			return nil, fmt.Errorf("%w: it has %d bytes, less than a volume descriptor needs", ErrNotISO, v.Size)
		}
		return nil, fmt.Errorf("%w within its volume descriptors, at %d", ErrTruncated, v.Size)
	}
	d, err := v.read(off, SectorSize, "a volume descriptor")
	if err != nil {
		return nil, err
	}
	if string(d[1:6]) != "CD001" {
		if off == systemArea {
			return nil, fmt.Errorf("%w: no CD001 at %d", ErrNotISO, off+1)
		}
		return nil, fmt.Errorf("the volume descriptors break off: no CD001 at %d", off+1)
	}
	return d, nil
}

func (v *Volume) usePrimary(d []byte, off int64) (err error) {
	if size := binary.LittleEndian.Uint16(d[128:]); size != SectorSize {
		return fmt.Errorf("its blocks have %d bytes, want %d", size, SectorSize)
	}
	if v.Sectors, err = both32(d[atVolumeSpace:], "the volume's size in sectors"); err != nil {
		return err
	}
	v.ID = strings.TrimRight(string(d[40:72]), " \x00")
	v.descriptors = append(v.descriptors, descriptor{offset: off})
	v.primary, err = rootOf(d, off)
	return err
}

func (v *Volume) useSupplementary(d []byte, off int64) (err error) {
	if len(v.descriptors) == 0 {
		return fmt.Errorf("it precedes the primary one")
	}
	switch string(d[atEscapes : atEscapes+3]) {
	case "%/@", "%/C", "%/E":
		if v.Joliet {
			return fmt.Errorf("it is the second of Joliet")
		}
		v.Joliet = true
		v.descriptors = append(v.descriptors, descriptor{offset: off})
		v.joliet, err = rootOf(d, off)
		v.joliet.names = func(_ *Volume, r record) (string, error) { return withoutVersion(ucs2(r.id)), nil }
		return err
	}
	v.descriptors = append(v.descriptors, descriptor{offset: off, enhanced: true})
	return nil
}

// rootOf reads the root directory's record, which a descriptor contains.
func rootOf(d []byte, off int64) (tree, error) {
	r, err := parseRecord(d[atRoot:atRoot+34], off+atRoot)
	if err != nil {
		return tree{}, fmt.Errorf("record of the root directory: %w", err)
	}
	if r.flags&flagDirectory == 0 {
		return tree{}, fmt.Errorf("record of the root directory: it is no directory's")
	}
	return tree{root: r, names: plainName}, nil
}

func ucs2(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

const (
	// SectorSize is the unit of places in an ISO.
	SectorSize = 2048

	systemArea = 16 * SectorSize
)

// What Read returns, wrapped, for content that does not start as an ISO image does, or ends before its volume.
var (
	ErrNotISO    = errors.New("not an ISO 9660 image")
	ErrTruncated = errors.New("the image is truncated")
)

// Volume is an ISO image, read except for its directories. It is safe for concurrent use if its reader is.
type Volume struct {
	ID      string // the label, which coreos.liveiso= names
	Size    int64  // of the image in bytes
	Sectors int64  // of the volume; isohybrid pads the image beyond it

	Joliet    bool // there is a tree of UCS-2 names
	RockRidge bool // the primary tree has real names

	Boot       Boot
	BootImages []BootImage // in the order of the El Torito catalog
	GPT        *GPT        // nil without a GPT

	r           io.ReaderAt
	primary     tree
	joliet      tree
	descriptors []descriptor // all that have a tree
	extents     []extent     // what is neither file nor directory
}

// Read reads what an image of size bytes says of itself. Beyond a few sectors nothing is kept in memory.
func Read(r io.ReaderAt, size int64) (*Volume, error) {
	v := &Volume{r: r, Size: size}
	catalog, err := v.readDescriptors()
	if err != nil {
		return nil, err
	}
	if v.Sectors*SectorSize > size {
		return nil, fmt.Errorf("%w: it has %d bytes, its volume descriptor says %d", ErrTruncated, size, v.Sectors*SectorSize)
	}
	if err := v.readRockRidge(); err != nil {
		return nil, err
	}
	if catalog > 0 {
		if err := v.readCatalog(catalog); err != nil {
			return nil, fmt.Errorf("reading the boot catalog at sector %d: %w", catalog, err)
		}
	}
	if err := v.readPartitions(); err != nil {
		return nil, err
	}
	v.primary.root, v.joliet.root = v.primary.root.bare(), v.joliet.root.bare()
	v.bootWays()
	return v, nil
}

// read returns n bytes at off; what says in errors whose they are.
func (v *Volume) read(off, n int64, what string) ([]byte, error) {
	if err := v.holds(off, n, what); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if got, err := v.r.ReadAt(b, off); int64(got) < n {
		return nil, fmt.Errorf("reading %s, %d bytes at %d: %w", what, n, off, err)
	}
	return b, nil
}

func (v *Volume) holds(off, n int64, what string) error {
	if off < 0 || n < 0 || off > v.Size || n > v.Size-off {
		return fmt.Errorf("%s, %d bytes at %d, lies beyond the end of the image, which has %d", what, n, off, v.Size)
	}
	return nil
}

// both32 reads a number that is stored in both byte orders, as most of ECMA-119's are.
func both32(b []byte, what string) (int64, error) {
	little, big := binary.LittleEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if little != big {
		return 0, fmt.Errorf("%s is %d in one byte order and %d in the other", what, little, big)
	}
	return int64(little), nil
}

func putBoth32(b []byte, n uint32) {
	binary.LittleEndian.PutUint32(b, n)
	binary.BigEndian.PutUint32(b[4:], n)
}

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }
