package isotest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/ulikunitz/xz"

	"github.com/oaictl/oaictl/internal/shared/isowriter"
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

type image struct {
	*isowriter.Image
	layout  Layout
	sectors int64 // the volume space
}

func build(l Layout, files []file) (*image, error) {
	v := isowriter.Volume{
		ID: l.VolumeID, Application: "ISOTEST", RockRidge: l.RockRidge, Joliet: l.Joliet,
		Boot: l.machine().boot, Catalog: l.machine().catalog,
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

// machine is what the images of an architecture have in common: boot menus with an area for kernel arguments, boot
// files, and the boot catalog.
type machine struct {
	menus   []string
	boot    []isowriter.BootFile
	catalog string
}

func (l Layout) machine() machine {
	uefi := isowriter.BootFile{Path: efibootPath, Platform: isowriter.PlatformUEFI}
	bios := isowriter.BootFile{Path: isolinuxPath, Platform: isowriter.PlatformBIOS, Load: 4}
	zseries := isowriter.BootFile{Path: cdbootPath, Platform: isowriter.PlatformBIOS}
	return map[string]machine{
		"x86_64":  {[]string{"EFI/redhat/grub.cfg", "isolinux/isolinux.cfg"}, []isowriter.BootFile{bios, uefi}, "isolinux/boot.cat"},
		"aarch64": {[]string{"EFI/redhat/grub.cfg"}, []isowriter.BootFile{uefi}, "boot.cat"},
		"ppc64le": {[]string{"boot/grub/grub.cfg"}, nil, ""},
		"s390x":   {nil, []isowriter.BootFile{zseries}, "boot.cat"},
	}[l.Arch]
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

func (im *image) sector(path string) uint32 { return uint32(im.Place(path) / sectorSize) }

// content is a file of the layout as the image has it.
func (im *image) content(f file) []byte {
	data := make([]byte, len(f.data))
	_, _ = im.ReadAt(data, im.Place(f.path)) // memory
	return data
}

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
	copy(m, "\x33\xed\x90\x90the place of code that loads isolinux.bin")
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

// miniso.dat is how coreos-installer derives the minimal ISO from the full one: a table of the files that both have, and
// every other byte of the minimal one, packed. Its encoding is bincode's with variable integers.

// SharedFile is one entry of the table: where a file begins in both images, in sectors, and its length in bytes.
type SharedFile struct {
	Minimal, Full uint32
	Length        int64
}

func buildMinimal(l Layout) (*image, error) { return build(l, minimalContents(l)) }

func minimalContents(l Layout) []file {
	return slices.DeleteFunc(contents(l), func(f file) bool {
		return f.path == rootfsPath || f.path == minisoPath || f.data == nil
	})
}

func (im *image) fillMiniISO() error {
	minimal, err := buildMinimal(im.layout)
	if err != nil {
		return err
	}
	b, err := PackMiniISO(minimal.Bytes(), "0.24.0", sharedFiles(im, minimal))
	if err != nil {
		return err
	}
	if len(b) > miniSlotSize {
		return fmt.Errorf("the %d bytes of miniso.dat do not fit into its %d", len(b), miniSlotSize)
	}
	im.Put(im.Place(minisoPath), b)
	return nil
}

// PackMiniISO is the content of a miniso.dat that leads to a minimal image, as this version of coreos-installer packs
// it. The files are those that the full image has too, in the order of the minimal one.
func PackMiniISO(minimal []byte, version string, shared []SharedFile) ([]byte, error) {
	packed, err := xzipped(withoutShared(minimal, shared))
	if err != nil {
		return nil, err
	}
	b := append([]byte("MINISO\x00\x00"), 1)
	b = append(appendVarint(b, len(version)), version...)
	b = appendVarint(b, len(shared))
	for _, s := range shared {
		b = appendVarint(b, int(s.Minimal))
		b = appendVarint(b, int(s.Full))
		b = appendVarint(b, int(s.Length))
	}
	digest := sha256.Sum256(minimal)
	b = append(b, digest[:]...)
	return append(appendVarint(b, len(packed)), packed...), nil
}

// sharedFiles lists the files whose content both images have, by their place in the minimal one. Boot files that hold
// places of their image differ between the two.
func sharedFiles(full, minimal *image) []SharedFile {
	var shared []SharedFile
	for _, f := range minimalContents(full.layout) {
		if len(f.data) > 0 && bytes.Equal(full.content(f), minimal.content(f)) {
			shared = append(shared, SharedFile{minimal.sector(f.path), full.sector(f.path), int64(len(f.data))})
		}
	}
	slices.SortFunc(shared, func(a, b SharedFile) int { return cmp.Compare(a.Minimal, b.Minimal) })
	return shared
}

func withoutShared(image []byte, shared []SharedFile) []byte {
	var rest []byte
	at := int64(0)
	for _, s := range shared {
		start := int64(s.Minimal) * sectorSize
		rest = append(rest, image[at:start]...)
		at = start + s.Length
	}
	return append(rest, image[at:]...)
}

func appendVarint(b []byte, n int) []byte {
	switch {
	case n < 251:
		return append(b, byte(n))
	case n < 1<<16:
		return binary.LittleEndian.AppendUint16(append(b, 0xfb), uint16(n))
	}
	return binary.LittleEndian.AppendUint32(append(b, 0xfc), uint32(n))
}

func xzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := xz.WriterConfig{DictCap: 1 << 20}.NewWriter(&b)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}
