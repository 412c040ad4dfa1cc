package isowriter

import (
	"encoding/binary"
	"fmt"
)

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
