package isotest

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
)

// The partition tables that isohybrid --uefi writes: an MBR whose code starts isolinux, and a GPT over the same bytes.

const (
	blockSize     = 512
	gptEntries    = 128
	gptEntrySize  = 128
	gptHeaderSize = 92
	backupGPTSize = blockSize + gptEntries*gptEntrySize
)

// basicData is the GPT type that isohybrid gives to both of its partitions, EBD0A0A2-B9E5-4433-87C0-68B6B72699C7.
var basicData = [16]byte{0xA2, 0xA0, 0xD0, 0xEB, 0xE5, 0xB9, 0x33, 0x44, 0x87, 0xC0, 0x68, 0xB6, 0xB7, 0x26, 0x99, 0xC7}

func (im *image) writePartitions() {
	im.Put(0, im.mbr())
	entries := im.gptArray()
	last := im.Size()/blockSize - 1
	im.Put(blockSize, im.gptHeader(1, last, 2, entries))
	im.Put(2*blockSize, entries)
	array := last - gptEntries*gptEntrySize/blockSize
	im.Put(array*blockSize, entries)
	im.Put(last*blockSize, im.gptHeader(last, 1, array, entries))
}

func (im *image) mbr() []byte {
	m := make([]byte, blockSize)
	copy(m, "\x33\xed\x90\x90stands for the code that loads isolinux.bin")
	binary.LittleEndian.PutUint64(m[432:], uint64(im.sector(isolinuxPath))*4)
	binary.LittleEndian.PutUint32(m[440:], 0x6f617463)
	entry := func(i int, status, kind byte, start, blocks int64) {
		e := m[446+16*i:]
		e[0], e[4] = status, kind
		copy(e[1:4], "\xfe\xff\xff")
		copy(e[5:8], "\xfe\xff\xff")
		binary.LittleEndian.PutUint32(e[8:], uint32(start))
		binary.LittleEndian.PutUint32(e[12:], uint32(min(blocks, 0xFFFFFFFF)))
	}
	entry(0, 0x80, 0, 0, im.Size()/blockSize)
	entry(1, 0, 0xEF, im.Place(efibootPath)/blockSize, efibootSize/blockSize)
	m[510], m[511] = 0x55, 0xAA
	return m
}

func (im *image) gptArray() []byte {
	entries := make([]byte, gptEntries*gptEntrySize)
	entry := func(i int, name string, first, last int64) {
		e := entries[i*gptEntrySize:]
		id := sha256.Sum256([]byte(im.layout.VolumeID + name))
		copy(e, basicData[:])
		copy(e[16:32], id[:])
		binary.LittleEndian.PutUint64(e[32:], uint64(first))
		binary.LittleEndian.PutUint64(e[40:], uint64(last))
		for j, r := range name {
			binary.LittleEndian.PutUint16(e[56+2*j:], uint16(r))
		}
	}
	start := im.Place(efibootPath) / blockSize
	entry(0, "ISOHybrid ISO", 0, im.sectors*4-1)
	entry(1, "ISOHybrid1", start, start+efibootSize/blockSize-1)
	return entries
}

func (im *image) gptHeader(self, other, array int64, entries []byte) []byte {
	h := make([]byte, blockSize)
	copy(h, "EFI PART\x00\x00\x01\x00")
	binary.LittleEndian.PutUint32(h[12:], gptHeaderSize)
	binary.LittleEndian.PutUint64(h[24:], uint64(self))
	binary.LittleEndian.PutUint64(h[32:], uint64(other))
	binary.LittleEndian.PutUint64(h[40:], 2+gptEntries*gptEntrySize/blockSize)
	binary.LittleEndian.PutUint64(h[48:], uint64(im.Size()/blockSize-1-gptEntries*gptEntrySize/blockSize-1))
	id := sha256.Sum256([]byte(im.layout.VolumeID))
	copy(h[56:72], id[:])
	binary.LittleEndian.PutUint64(h[72:], uint64(array))
	binary.LittleEndian.PutUint32(h[80:], gptEntries)
	binary.LittleEndian.PutUint32(h[84:], gptEntrySize)
	binary.LittleEndian.PutUint32(h[88:], crc32.ChecksumIEEE(entries))
	binary.LittleEndian.PutUint32(h[16:], crc32.ChecksumIEEE(h[:gptHeaderSize]))
	return h
}
