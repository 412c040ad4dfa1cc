package isotest

import (
	"encoding/binary"

	"github.com/oaictl/oaictl/internal/isowriter"
)

const (
	sectorSize = isowriter.SectorSize
	mebibyte   = 1 << 20

	isolinuxPath = "isolinux/isolinux.bin"
	efibootPath  = "images/efiboot.img"
	cdbootPath   = "images/cdboot.img"
)

// file is one file of a fixture. Without data it is a hole of size bytes.
type file struct {
	path   string
	data   []byte
	size   int64
	placed bool // its bytes depend on where it lies
}

// image is a fixture that is written.
type image struct {
	*isowriter.Image
	layout  Layout
	sectors int64 // the volume space
}

// build writes an ISO with these files.
func build(l Layout, files []file) (*image, error) {
	v := isowriter.Volume{
		ID: l.VolumeID, Application: "ISOTEST", RockRidge: l.RockRidge, Joliet: l.Joliet,
		Boot: bootFiles(l.Arch), Catalog: catalogPath(l),
	}
	for _, f := range files {
		data := isowriter.Zeros(f.size)
		data.Append(f.data)
		v.Files = append(v.Files, isowriter.File{Path: f.path, Data: data})
	}
	written, err := v.Write()
	if err != nil {
		return nil, err
	}
	im := &image{written, l, written.Size() / sectorSize}
	if l.Arch == "x86_64" {
		im.fillBootInfo()
	}
	if l.Hybrid {
		im.Grow(backupGPTSize)
		im.Pad(mebibyte)
		im.writePartitions()
	}
	if l.LegacyHeaders {
		im.Put(legacyHeadersOffset, im.legacyHeaders())
	}
	return im, nil
}

func bootFiles(arch string) []isowriter.BootFile {
	switch arch {
	case "x86_64":
		return []isowriter.BootFile{
			{Path: isolinuxPath, Platform: isowriter.PlatformBIOS, Load: 4}, {Path: efibootPath, Platform: isowriter.PlatformUEFI},
		}
	case "aarch64":
		return []isowriter.BootFile{{Path: efibootPath, Platform: isowriter.PlatformUEFI}}
	case "s390x":
		return []isowriter.BootFile{{Path: cdbootPath, Platform: isowriter.PlatformBIOS}}
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

// fillBootInfo writes the boot-info-table that isolinux wants inside itself.
func (im *image) fillBootInfo() {
	data := isolinux()
	var sum uint32
	for i := 64; i+4 <= len(data); i += 4 {
		sum += binary.LittleEndian.Uint32(data[i:])
	}
	table := make([]byte, 16)
	binary.LittleEndian.PutUint32(table, isowriter.SystemArea/sectorSize)
	binary.LittleEndian.PutUint32(table[4:], im.sector(isolinuxPath))
	binary.LittleEndian.PutUint32(table[8:], uint32(len(data)))
	binary.LittleEndian.PutUint32(table[12:], sum)
	im.Put(im.Place(isolinuxPath)+8, table)
}

// sector is where a file starts.
func (im *image) sector(path string) uint32 { return uint32(im.Place(path) / sectorSize) }

// content is a file of the layout as the image has it.
func (im *image) content(f file) []byte {
	data := make([]byte, len(f.data))
	_, _ = im.ReadAt(data, im.Place(f.path)) // memory
	return data
}
