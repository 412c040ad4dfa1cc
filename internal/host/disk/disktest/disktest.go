// Package disktest makes small images of disks for tests.
package disktest

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"unicode/utf16"

	"github.com/oaictl/oaictl/internal/host/disk/layout"
)

// Part is a partition of an image.
type Part struct {
	Number  int
	Type    layout.GUID
	GUID    layout.GUID
	Label   string
	Offset  int64 // in bytes
	Bytes   int64
	Boot    bool // its file system is ext4 with the label boot
	NonZero bool // its content is random
}

// ESP is the type of an EFI system partition as it stands on the disk.
func ESP() layout.GUID {
	return layout.GUID{0x28, 0x73, 0x2a, 0xc1, 0x1f, 0xf8, 0xd2, 0x11, 0xba, 0x4b, 0x00, 0xa0, 0xc9, 0x3e, 0xc9, 0x3b}
}

const (
	entries   = 128
	entrySize = 128
)

// Image is a disk of size bytes with a GUID partition table at both ends. Sector is 512 or 4096.
func Image(sector, size int64, parts ...Part) []byte {
	image := make([]byte, size)
	last := size/sector - 1
	image[446+4] = 0xee
	binary.LittleEndian.PutUint32(image[446+8:], 1) // Linux takes no other start
	binary.LittleEndian.PutUint32(image[446+12:], uint32(last))
	image[510], image[511] = 0x55, 0xaa
	table := make([]byte, entries*entrySize)
	for _, p := range parts {
		put(table[(p.Number-1)*entrySize:], p, sector)
		fill(image[p.Offset:p.Offset+p.Bytes], p)
	}
	length := int64(len(table)) / sector
	copy(image[2*sector:], table)
	copy(image[sector:], header(1, last, 2, length, table))
	copy(image[(last-length)*sector:], table)
	copy(image[last*sector:], header(last, 1, last-length, length, table))
	return image
}

// RHCOS is an image with the four partitions of CoreOS, of 8 MiB in all. Boot is the third partition, and stands last.
func RHCOS() []byte {
	const mib = 1 << 20
	return Image(512, 8*mib,
		Part{Number: 1, Type: layout.GUID{1}, GUID: layout.GUID{0x11}, Label: "BIOS-BOOT", Offset: mib, Bytes: mib, NonZero: true},
		Part{Number: 2, Type: ESP(), GUID: layout.GUID{0x22}, Label: "EFI-SYSTEM", Offset: 2 * mib, Bytes: mib},
		Part{Number: 3, Type: layout.GUID{3}, GUID: layout.GUID{0x33}, Label: "boot", Offset: 6 * mib, Bytes: mib, Boot: true},
		Part{Number: 4, Type: layout.GUID{4}, GUID: layout.GUID{0x44}, Label: "root", Offset: 3 * mib, Bytes: 3 * mib, NonZero: true},
	)
}

func put(entry []byte, p Part, sector int64) {
	if p.Type == (layout.GUID{}) {
		p.Type[0] = 1
	}
	copy(entry, p.Type[:])
	copy(entry[16:], p.GUID[:])
	binary.LittleEndian.PutUint64(entry[32:], uint64(p.Offset/sector))
	binary.LittleEndian.PutUint64(entry[40:], uint64((p.Offset+p.Bytes)/sector-1))
	for i, unit := range utf16.Encode([]rune(p.Label)) {
		binary.LittleEndian.PutUint16(entry[56+2*i:], unit)
	}
}

func fill(content []byte, p Part) {
	if p.NonZero {
		random := rand.NewChaCha8([32]byte{byte(p.Number)})
		_, _ = random.Read(content) // never fails
	}
	if p.Boot {
		binary.LittleEndian.PutUint16(content[0x438:], 0xef53)
		copy(content[0x478:], "boot")
	}
}

func header(self, other, start, length int64, table []byte) []byte {
	h := make([]byte, 92)
	copy(h, "EFI PART")
	order := binary.LittleEndian
	order.PutUint32(h[8:], 0x10000)
	order.PutUint32(h[12:], 92)
	order.PutUint64(h[24:], uint64(self))
	order.PutUint64(h[32:], uint64(other))
	order.PutUint64(h[40:], uint64(2+length))
	order.PutUint64(h[48:], uint64(max(self, other)-length-1))
	order.PutUint64(h[72:], uint64(start))
	order.PutUint32(h[80:], entries)
	order.PutUint32(h[84:], entrySize)
	order.PutUint32(h[88:], crc32.ChecksumIEEE(table))
	order.PutUint32(h[16:], crc32.ChecksumIEEE(h))
	return h
}
