package isowriter

import (
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	descriptorBoot       = 0
	descriptorPrimary    = 1
	descriptorSupplement = 2
	descriptorTerminator = 255
)

func (l *layout) volumeDescriptors() [][]byte {
	descriptors := [][]byte{l.volumeDescriptor(primaryTree)}
	if l.catalog != nil {
		boot := descriptor(descriptorBoot)
		copy(boot[7:], "EL TORITO SPECIFICATION")
		binary.LittleEndian.PutUint32(boot[71:], l.catalog.lba)
		descriptors = append(descriptors, boot)
	}
	if l.Joliet {
		descriptors = append(descriptors, l.volumeDescriptor(jolietTree))
	}
	return append(descriptors, descriptor(descriptorTerminator))
}

func descriptor(kind byte) []byte {
	d := make([]byte, SectorSize)
	d[0], d[6] = kind, 1
	copy(d[1:], "CD001")
	return d
}

func (l *layout) volumeDescriptor(tree int) []byte {
	kind := byte(descriptorPrimary)
	text := func(s string, n int) []byte { return []byte(s + strings.Repeat(" ", n-len(s))) }
	if tree == jolietTree {
		kind = descriptorSupplement
		text = func(s string, n int) []byte {
			s = s[:min(len(s), n/2)]
			return append(ucs2(s+strings.Repeat(" ", n/2-len(s))), make([]byte, n%2)...)
		}
	}
	d := descriptor(kind)
	copy(d[8:], text("LINUX", 32))
	copy(d[40:], text(l.ID, 32))
	putBoth32(d[80:], uint32(l.sectors))
	if tree == jolietTree {
		copy(d[88:], "%/E")
	}
	putBoth16(d[120:], 1)
	putBoth16(d[124:], 1)
	putBoth16(d[128:], SectorSize)
	putBoth32(d[132:], uint32(len(l.pathTable(tree, false))))
	binary.LittleEndian.PutUint32(d[140:], uint32(l.pathTables[tree]))
	binary.BigEndian.PutUint32(d[148:], uint32(l.pathTables[tree]+1))

	root := l.root.dirs[tree]
	r := &dirEncoder{}
	r.add([]byte{0}, root.lba, int64(root.size), flagDirectory, nil)
	copy(d[156:], r.records)

	copy(d[190:], text(l.ID, 128))
	copy(d[318:], text("", 128))
	copy(d[446:], text("", 128))
	copy(d[574:], text(l.Application, 128))
	copy(d[702:], text("", 37))
	copy(d[739:], text("", 37))
	copy(d[776:], text("", 37))
	copy(d[813:], "2023070100000000\x00")
	copy(d[830:], "2023070100000000\x00")
	copy(d[847:], "0000000000000000\x00")
	copy(d[864:], "0000000000000000\x00")
	d[881] = 1
	return d
}

// The platforms of El Torito (Bootable CD-ROM Format Specification 1.0).
const (
	PlatformBIOS = 0x00
	PlatformUEFI = 0xEF
)

// BootFile is a file that firmware loads.
type BootFile struct {
	Path     string
	Platform byte
	Load     int // 512-byte blocks that firmware loads; 0 means the whole file
}

// fillCatalog lists what can be booted: the first entry is the default, each
// further one has a section of its own platform.
func (l *layout) fillCatalog() error {
	if len(l.Boot) == 0 {
		return nil
	}
	l.catalog = l.root.find(l.Catalog)
	c := make([]byte, 32, SectorSize)
	c[0], c[1], c[30], c[31] = 1, l.Boot[0].Platform, 0x55, 0xAA
	var sum uint16
	for i := 0; i < 32; i += 2 {
		sum += binary.LittleEndian.Uint16(c[i:])
	}
	binary.LittleEndian.PutUint16(c[28:], -sum)
	for i, b := range l.Boot {
		if i > 0 {
			header := make([]byte, 32)
			header[0], header[1], header[2] = 0x90, b.Platform, 1
			if i == len(l.Boot)-1 {
				header[0] = 0x91
			}
			c = append(c, header...)
		}
		entry, err := l.bootEntry(b)
		if err != nil {
			return err
		}
		c = append(c, entry...)
	}
	l.catalog.file.Data.Put(0, c[:SectorSize])
	return nil
}

func (l *layout) bootEntry(b BootFile) ([]byte, error) {
	n := l.root.find(b.Path)
	if n == nil {
		return nil, fmt.Errorf("%s is to be booted and is not there", b.Path)
	}
	load := b.Load
	if load == 0 {
		load = int(min((n.file.Data.Size()+511)/512, 0xFFFF))
	}
	e := make([]byte, 32)
	e[0] = 0x88
	binary.LittleEndian.PutUint16(e[6:], uint16(load))
	binary.LittleEndian.PutUint32(e[8:], n.lba)
	return e, nil
}
