package isotest

import "encoding/binary"

// El Torito (Bootable CD-ROM Format Specification 1.0) and the boot-info-table that isolinux wants inside itself.

const (
	platformBIOS = 0x00
	platformUEFI = 0xEF

	isolinuxPath = "isolinux/isolinux.bin"
	efibootPath  = "images/efiboot.img"
	cdbootPath   = "images/cdboot.img"
)

type bootImage struct {
	path     string
	platform byte
	load     int // 512-byte blocks that firmware loads; 0 means the whole file
}

func bootImages(arch string) []bootImage {
	switch arch {
	case "x86_64":
		return []bootImage{{isolinuxPath, platformBIOS, 4}, {efibootPath, platformUEFI, 0}}
	case "aarch64":
		return []bootImage{{efibootPath, platformUEFI, 0}}
	case "s390x":
		return []bootImage{{cdbootPath, platformBIOS, 0}}
	}
	return nil
}

func catalogPath(l Layout) string {
	switch l.Arch {
	case "x86_64":
		return "isolinux/boot.cat"
	case "ppc64le":
		return ""
	}
	return "boot.cat"
}

// fillBootFiles writes into the boot files what they know of places in the image.
func (im *image) fillBootFiles() {
	if im.catalog != nil {
		im.catalog.file.data = im.bootCatalog()
	}
	isolinux := im.root.find(isolinuxPath)
	if isolinux == nil {
		return
	}
	data := isolinux.file.data
	var sum uint32
	for i := 64; i+4 <= len(data); i += 4 {
		sum += binary.LittleEndian.Uint32(data[i:])
	}
	binary.LittleEndian.PutUint32(data[8:], systemAreaSectors)
	binary.LittleEndian.PutUint32(data[12:], isolinux.lba)
	binary.LittleEndian.PutUint32(data[16:], uint32(len(data)))
	binary.LittleEndian.PutUint32(data[20:], sum)
}

func (im *image) bootCatalog() []byte {
	images := bootImages(im.layout.Arch)
	c := make([]byte, 64, sectorSize)
	c[0], c[1], c[30], c[31] = 1, images[0].platform, 0x55, 0xAA
	var sum uint16
	for i := 0; i < 32; i += 2 {
		sum += binary.LittleEndian.Uint16(c[i:])
	}
	binary.LittleEndian.PutUint16(c[28:], -sum)
	copy(c[32:], im.bootEntry(images[0]))
	for i, b := range images[1:] {
		header := make([]byte, 32)
		header[0], header[1], header[2] = 0x90, b.platform, 1
		if i == len(images)-2 {
			header[0] = 0x91
		}
		c = append(append(c, header...), im.bootEntry(b)...)
	}
	return c[:sectorSize]
}

func (im *image) bootEntry(b bootImage) []byte {
	n := im.root.find(b.path)
	load := b.load
	if load == 0 {
		load = min(int((n.length()+511)/512), 0xFFFF)
	}
	e := make([]byte, 32)
	e[0] = 0x88
	binary.LittleEndian.PutUint16(e[6:], uint16(load))
	binary.LittleEndian.PutUint32(e[8:], n.lba)
	return e
}
