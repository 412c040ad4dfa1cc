package iso9660

import (
	"encoding/binary"
	"fmt"
)

const (
	// The platforms of El Torito that CoreOS images boot on; s390x calls itself BIOS.
	platformBIOS = 0x00
	platformUEFI = 0xEF

	catalogEntry = 32
	bootable     = 0x88
)

// BootImage is an entry of the El Torito boot catalog.
type BootImage struct {
	Platform byte
	Bootable bool
	Offset   int64 // in the image
	Blocks   int   // of 512 bytes, that firmware loads
}

// readCatalog reads the boot catalog: a validation entry, the default entry, then sections of further ones. Of a
// catalog that goes on beyond its first sector that sector is read: room for 60 entries.
func (v *Volume) readCatalog(sector int64) error {
	c, err := v.read(sector*SectorSize, SectorSize, "it")
	if err != nil {
		return err
	}
	if c[0] != 1 || c[30] != 0x55 || c[31] != 0xAA {
		return fmt.Errorf("it does not start with a validation entry")
	}
	var sum uint16
	for i := 0; i < catalogEntry; i += 2 {
		sum += binary.LittleEndian.Uint16(c[i:])
	}
	if sum != 0 {
		return fmt.Errorf("the checksum of its validation entry is wrong")
	}
	if err := v.addBootImage(c[catalogEntry:], c[1]); err != nil {
		return err
	}
	for at, last := 2*catalogEntry, false; !last && at+catalogEntry <= len(c); {
		header := c[at:]
		if header[0] != 0x90 && header[0] != 0x91 {
			break
		}
		last = header[0] == 0x91
		entries := int(binary.LittleEndian.Uint16(header[2:]))
		for at += catalogEntry; entries > 0 && at+catalogEntry <= len(c); entries-- {
			if err := v.addBootImage(c[at:], header[1]); err != nil {
				return err
			}
			at += catalogEntry
		}
	}
	return nil
}

func (v *Volume) addBootImage(e []byte, platform byte) error {
	b := BootImage{
		Platform: platform,
		Bootable: e[0] == bootable,
		Offset:   little32(e[8:]) * SectorSize,
		Blocks:   int(binary.LittleEndian.Uint16(e[6:])),
	}
	if b.Bootable {
		// Only the start is held against the image: the number of blocks may stand for "all of it".
		if err := v.holds(b.Offset, 1, "a boot image"); err != nil {
			return err
		}
	}
	v.BootImages = append(v.BootImages, b)
	return nil
}
