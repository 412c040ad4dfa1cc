package iso9660

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

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

// readGPT reads the primary table and holds the backup against it. Damage is noted, not returned: the image may be
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
