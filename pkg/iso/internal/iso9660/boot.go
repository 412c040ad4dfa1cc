package iso9660

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

// Boot says in which ways firmware starts the image, as far as its tables show.
type Boot struct {
	BIOSCD   bool // an El Torito entry for BIOS; on s390x it is what firmware loads there
	BIOSDisk bool // boot code and an active partition in the MBR
	UEFICD   bool // an El Torito entry for UEFI
	UEFIDisk bool // an EFI system partition in the MBR or the GPT
}

const mbrEFISystem = 0xEF

// efiSystem is the GPT type C12A7328-F81F-11D2-BA4B-00A0C93EC93B as it is stored.
var efiSystem = [16]byte{0x28, 0x73, 0x2A, 0xC1, 0x1F, 0xF8, 0xD2, 0x11, 0xBA, 0x4B, 0x00, 0xA0, 0xC9, 0x3E, 0xC9, 0x3B}

// bootWays adds the ways that the boot catalog and the GPT describe.
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
		// Only the start is compared with the size of the image: the number of blocks may mean "all of it".
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

// readPartitions reads the MBR, as far as it describes ways to boot, and the GPT.
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

const (
	gptSignature  = "EFI PART"
	gptHeaderSize = 92
	maxGPTArray   = 1 << 20 // bytes of entries; the usual 128 take 16 KiB

	// Places in a GPT header (UEFI 5.3.2).
	gptAtSize      = 12
	gptAtCRC       = 16
	gptAtSelf      = 24
	gptAtAlternate = 32
	gptAtLast      = 48
	gptAtArray     = 72
	gptAtCount     = 80
	gptAtEntrySize = 84
	gptAtArrayCRC  = 88
)

// GPT is the partition table that UEFI looks at when the image has been written to a disk.
type GPT struct {
	Alternate int64    // block of the backup header
	Trouble   []string // what is damaged, each with its place; the image boots by other ways

	header []byte // of the primary table
	array  []byte // nil if header or array are damaged
}

// readGPT reads the primary table and compares the backup with it. Damage is recorded, not returned: the image may be
// good otherwise.
func (v *Volume) readGPT() error {
	header, err := v.read(BlockSize, BlockSize, "the second block")
	if err != nil {
		return err
	}
	if string(header[:8]) != gptSignature {
		return nil
	}
	v.GPT = &GPT{}
	array, err := v.readGPTTable(header, 1)
	if err != nil {
		v.GPT.Trouble = append(v.GPT.Trouble, fmt.Sprintf("primary GPT at block 1: %v", err))
		return nil
	}
	g := v.GPT
	g.header, g.array = header, array
	g.Alternate = block(header[gptAtAlternate:])
	if err := v.checkBackupGPT(); err != nil {
		g.Trouble = append(g.Trouble, fmt.Sprintf("backup GPT at block %d: %v", g.Alternate, err))
	}
	return nil
}

func (v *Volume) readGPTTable(header []byte, at int64) ([]byte, error) {
	size := binary.LittleEndian.Uint32(header[gptAtSize:])
	if size < gptHeaderSize || size > BlockSize {
		return nil, fmt.Errorf("its header has an impossible size of %d bytes", size)
	}
	if crc32.ChecksumIEEE(withoutCRC(header[:size])) != binary.LittleEndian.Uint32(header[gptAtCRC:]) {
		return nil, fmt.Errorf("the checksum of its header is wrong")
	}
	if self := block(header[gptAtSelf:]); self != at {
		return nil, fmt.Errorf("its header says that it lies at block %d", self)
	}
	count, entry := binary.LittleEndian.Uint32(header[gptAtCount:]), binary.LittleEndian.Uint32(header[gptAtEntrySize:])
	total := int64(count) * int64(entry)
	if entry < 128 || entry%8 != 0 || total > maxGPTArray {
		return nil, fmt.Errorf("%d entries of %d bytes are impossible", count, entry)
	}
	start := block(header[gptAtArray:])
	if start < 0 || start > v.Size/BlockSize {
		return nil, fmt.Errorf("its entries lie at block %d, beyond the end of the image", start)
	}
	array, err := v.read(start*BlockSize, total, "its entries")
	if err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(array) != binary.LittleEndian.Uint32(header[gptAtArrayCRC:]) {
		return nil, fmt.Errorf("the checksum of its entries is wrong")
	}
	return array, nil
}

func (v *Volume) checkBackupGPT() error {
	at := v.GPT.Alternate
	if at < 0 || at >= v.Size/BlockSize {
		return fmt.Errorf("it lies beyond the end of the image, which has %d blocks", v.Size/BlockSize)
	}
	header, err := v.read(at*BlockSize, BlockSize, "its header")
	if err != nil {
		return err
	}
	if string(header[:8]) != gptSignature {
		return fmt.Errorf("there is none")
	}
	array, err := v.readGPTTable(header, at)
	if err != nil {
		return err
	}
	if !bytes.Equal(array, v.GPT.array) {
		return fmt.Errorf("its entries differ from those of the primary one")
	}
	return nil
}

// move returns the patches that make the table one of an image of size bytes: the primary header, and the backup in
// the last blocks. Partitions stay as they are.
func (g *GPT) move(size int64) []Patch {
	arrayBlocks := alignUp(int64(len(g.array)), BlockSize) / BlockSize
	last := size/BlockSize - 1
	usable := last - arrayBlocks - 1
	primary := g.headerFor(1, last, block(g.header[gptAtArray:]), usable)
	backup := g.headerFor(last, 1, last-arrayBlocks, usable)
	return []Patch{
		{BlockSize, primary},
		{(last - arrayBlocks) * BlockSize, g.array},
		{last * BlockSize, backup},
	}
}

// tail is how many bytes the backup takes at the end of an image.
func (g *GPT) tail() int64 { return alignUp(int64(len(g.array)), BlockSize) + BlockSize }

func (g *GPT) headerFor(self, alternate, array, usable int64) []byte {
	h := bytes.Clone(g.header)
	binary.LittleEndian.PutUint64(h[gptAtSelf:], uint64(self))
	binary.LittleEndian.PutUint64(h[gptAtAlternate:], uint64(alternate))
	binary.LittleEndian.PutUint64(h[gptAtLast:], uint64(usable))
	binary.LittleEndian.PutUint64(h[gptAtArray:], uint64(array))
	size := binary.LittleEndian.Uint32(h[gptAtSize:])
	binary.LittleEndian.PutUint32(h[gptAtCRC:], crc32.ChecksumIEEE(withoutCRC(h[:size])))
	return h
}

// withoutCRC is a header as its checksum sees it: the checksum itself is zero.
func withoutCRC(header []byte) []byte {
	h := bytes.Clone(header)
	clear(h[gptAtCRC : gptAtCRC+4])
	return h
}

// block reads the number of a block; one beyond 63 bits comes out negative, which no check accepts.
func block(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }
