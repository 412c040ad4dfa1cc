package iso9660

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// Boot says by which ways firmware starts the image, as far as its tables tell.
type Boot struct {
	BIOSCD   bool // an El Torito entry for BIOS; on s390x it is what firmware loads there
	BIOSDisk bool // boot code and an active partition in the MBR
	UEFICD   bool // an El Torito entry for UEFI
	UEFIDisk bool // an EFI system partition in the MBR or the GPT
}

const mbrEFISystem = 0xEF

// efiSystem is the GPT type C12A7328-F81F-11D2-BA4B-00A0C93EC93B as it is stored.
var efiSystem = [16]byte{0x28, 0x73, 0x2A, 0xC1, 0x1F, 0xF8, 0xD2, 0x11, 0xBA, 0x4B, 0x00, 0xA0, 0xC9, 0x3E, 0xC9, 0x3B}

// bootWays adds the ways that the boot catalog and the GPT tell of.
func (v *Volume) bootWays() {
	efiImage := int64(-1)
	for _, i := range v.BootImages {
		switch {
		case i.Bootable && i.Platform == platformBIOS:
			v.Boot.BIOSCD = true
		case i.Bootable && i.Platform == platformUEFI:
			v.Boot.UEFICD = true
			efiImage = i.Offset
		}
	}
	if v.GPT == nil || v.GPT.array == nil {
		return
	}
	for e := range slices.Chunk(v.GPT.array, int(little32(v.GPT.header[gptAtEntrySize:]))) {
		// isohybrid gives the type of basic data to the partition of the UEFI boot image; firmware looks inside.
		kind, inUse := [16]byte(e), [16]byte(e) != [16]byte{}
		v.Boot.UEFIDisk = v.Boot.UEFIDisk || kind == efiSystem || inUse && block(e[32:])*BlockSize == efiImage
	}
}

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

// BlockSize is the unit of places in partition tables.
const BlockSize = 512

const mbrCodeSize = 440

// readPartitions reads the MBR, as far as it tells of ways to boot, and the GPT.
func (v *Volume) readPartitions() error {
	m, err := v.read(0, BlockSize, "the first block")
	if err != nil {
		return err
	}
	if m[510] != 0x55 || m[511] != 0xAA {
		return nil
	}
	hasCode := len(bytes.Trim(m[:mbrCodeSize], "\x00")) > 0
	for i := range 4 {
		if e := m[446+16*i:]; little32(e[12:]) > 0 {
			v.Boot.BIOSDisk = v.Boot.BIOSDisk || e[0] == 0x80 && hasCode
			v.Boot.UEFIDisk = v.Boot.UEFIDisk || e[4] == mbrEFISystem
		}
	}
	return v.readGPT()
}
