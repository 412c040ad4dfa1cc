package isotest

import (
	"encoding/binary"
	"strings"
)

const (
	descriptorBoot       = 0
	descriptorPrimary    = 1
	descriptorSupplement = 2
	descriptorTerminator = 255
)

func (im *image) volumeDescriptors() [][]byte {
	descriptors := [][]byte{im.volumeDescriptor(primaryTree)}
	if im.catalog != nil {
		boot := descriptor(descriptorBoot)
		copy(boot[7:], "EL TORITO SPECIFICATION")
		binary.LittleEndian.PutUint32(boot[71:], im.catalog.lba)
		descriptors = append(descriptors, boot)
	}
	if im.layout.Joliet {
		descriptors = append(descriptors, im.volumeDescriptor(jolietTree))
	}
	return append(descriptors, descriptor(descriptorTerminator))
}

func descriptor(kind byte) []byte {
	d := make([]byte, sectorSize)
	d[0], d[6] = kind, 1
	copy(d[1:], "CD001")
	return d
}

func (im *image) volumeDescriptor(tree int) []byte {
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
	copy(d[40:], text(im.layout.VolumeID, 32))
	putBoth32(d[80:], uint32(im.sectors))
	if tree == jolietTree {
		copy(d[88:], "%/E")
	}
	putBoth16(d[120:], 1)
	putBoth16(d[124:], 1)
	putBoth16(d[128:], sectorSize)
	putBoth32(d[132:], uint32(len(im.pathTable(tree, false))))
	binary.LittleEndian.PutUint32(d[140:], uint32(im.pathTables[tree]))
	binary.BigEndian.PutUint32(d[148:], uint32(im.pathTables[tree]+1))

	root := im.root.dirs[tree]
	r := &dirEncoder{}
	r.add([]byte{0}, root.lba, int64(root.size), flagDirectory, nil)
	copy(d[156:], r.records)

	copy(d[190:], text(im.layout.VolumeID, 128))
	copy(d[318:], text("", 128))
	copy(d[446:], text("", 128))
	copy(d[574:], text("ISOTEST", 128))
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
