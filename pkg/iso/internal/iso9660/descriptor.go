package iso9660

import (
	"encoding/binary"
	"fmt"
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

// descriptor is a volume descriptor that describes a tree of directories.
type descriptor struct {
	offset   int64
	enhanced bool // neither the primary one nor Joliet's: a tree that is not read
}

// readDescriptors reads the volume descriptors up to their terminator. It returns the sector of the El Torito boot
// catalog, 0 if there is none.
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
		v.joliet.names = jolietName
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
