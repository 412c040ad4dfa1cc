//go:build linux

package diskspeed

import (
	"slices"
)

// signature is how a disk says what it holds.
type signature struct {
	name string
	// at are the places of the magic in bytes from the start of the disk, or from its end if negative.
	at    []int64
	magic string
}

const (
	mdMagic  = "\xfc\x4e\x2b\xa9"
	zfsMagic = "\x0c\xb1\xba\x00\x00\x00\x00\x00"
)

var known = []signature{
	{"a partition table (GPT)", []int64{512, 4096, -512, -4096}, "EFI PART"},
	{"a boot sector or a partition table (MBR)", []int64{510}, "\x55\xaa"},
	{"an LVM physical volume", []int64{0, 512, 1024, 1536}, "LABELONE"},
	{"a member of a RAID (md 1.1 or 1.2)", []int64{0, 4096}, mdMagic},
	{"an ext file system", []int64{1080}, "\x53\xef"},
	{"an XFS file system", []int64{0}, "XFSB"},
	{"a Btrfs file system", []int64{64<<10 + 64}, "_BHRfS_M"},
	{"an encrypted volume (LUKS)", []int64{0}, "LUKS\xba\xbe"},
	{"an encrypted volume (LUKS)", []int64{0x4000, 0x8000, 0x10000, 0x20000, 0x40000, 0x80000}, "SKUL\xba\xbe"},
	{"a swap area", []int64{4086, 65526}, "SWAPSPACE2"},
	{"a file system of a CD (ISO 9660)", []int64{32769}, "CD001"},
}

// ending is where a disk's content is, of which only both ends were read.
type ending struct {
	first, last []byte
	size        int64
}

// has reports whether the disk has a magic at a place, from the end if it is negative.
func (e ending) has(at int64, magic string) bool {
	if at < 0 {
		at += e.size
	}
	for _, part := range []struct {
		content []byte
		start   int64
	}{{e.first, 0}, {e.last, e.size - int64(len(e.last))}} {
		from := at - part.start
		if from >= 0 && from+int64(len(magic)) <= int64(len(part.content)) && string(part.content[from:from+int64(len(magic))]) == magic {
			return true
		}
	}
	return false
}

// signatures says what a disk holds by the signatures in its first and last bytes. It is empty if none is known.
func signatures(first, last []byte, size int64) []string {
	disk := ending{first, last, size}
	var found []string
	for _, s := range known {
		if slices.ContainsFunc(s.at, func(at int64) bool { return disk.has(at, s.magic) }) {
			found = append(found, s.name)
		}
	}
	if disk.isRAID() {
		found = append(found, "a member of a RAID (md 0.90 or 1.0)")
	}
	if disk.isZFS() {
		found = append(found, "a member of a ZFS pool")
	}
	return slices.Compact(found)
}

// isRAID reports whether the end of a disk has a superblock of md, at places that depend on the size.
func (e ending) isRAID() bool {
	const reserved, sector, old = 64 << 10, 512, 8 << 10
	version090 := e.size&^(reserved-1) - reserved
	version10 := (e.size/sector*sector - old) &^ (4096 - 1)
	backwards := string(reversed(mdMagic)) // of a machine of the other byte order
	return e.has(version090, mdMagic) || e.has(version090, backwards) || e.has(version10, mdMagic)
}

// isZFS reports whether one of the labels of ZFS, two at either end, has an uberblock.
func (e ending) isZFS() bool {
	const label, blocks, step = 256 << 10, 128 << 10, 1 << 10
	end := e.size &^ (label - 1)
	backwards := string(reversed(zfsMagic))
	for _, start := range []int64{0, label, end - 2*label, end - label} {
		for at := start + blocks; at < start+label; at += step {
			if e.has(at, zfsMagic) || e.has(at, backwards) {
				return true
			}
		}
	}
	return false
}

func reversed(magic string) []byte {
	content := []byte(magic)
	slices.Reverse(content)
	return content
}
