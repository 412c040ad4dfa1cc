// Package layout reads partition tables, and the file systems in partitions, of disks and images. It writes nothing.
package layout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"unicode/utf16"
)

// Partition types that matter here, as text.
const (
	TypeESP      = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B" // EFI system partition
	TypeBIOSBoot = "21686148-6449-6E6F-744E-656564454649"
	TypePReP     = "9E1A2D38-C612-4316-AA26-8B49521E5A8B" // boot loader of ppc64le
)

// ErrNoTable is the error of a disk or an image without a valid partition table.
var ErrNoTable = errors.New("it has no valid GUID partition table")

// GUID has the bytes as they stand on the disk: the first three fields are little-endian.
type GUID [16]byte

// String is such as C12A7328-F81F-11D2-BA4B-00A0C93EC93B.
func (g GUID) String() string {
	return fmt.Sprintf("%08X-%04X-%04X-%04X-%012X", binary.LittleEndian.Uint32(g[0:]), binary.LittleEndian.Uint16(g[4:]),
		binary.LittleEndian.Uint16(g[6:]), g[8:10], g[10:16])
}

// Partition is an entry of a partition table.
type Partition struct {
	Number int    // from 1; it is not the position on the disk
	Type   string // the type's GUID
	GUID   GUID
	Label  string // the partition's label, not that of its file system
	Offset int64  // in bytes
	Bytes  int64
	Sector int64 // the size of a sector in bytes, in which the table counts
}

// Table is a GUID partition table.
type Table struct {
	Disk       GUID
	Sector     int64 // the size of a sector in bytes, in which the table counts
	Size       int64 // how many bytes the disk must have: the other header is in its last sector
	Partitions []Partition
}

const (
	headerSize    = 92
	entrySize     = 128
	mostEntries   = 1024
	signature     = "EFI PART"
	protective    = 0xee // the type of the only partition in the MBR of a disk with GPT
	mbrEntries    = 446
	mbrEntrySize  = 16
	mbrTypeOffset = 4
	mbrSectorSize = 512
)

// Read reads the primary table of a disk or an image. A sector size of 0 means that it is not known: the table tells it. The
// error wraps ErrNoTable if there is no valid table.
func Read(r io.ReaderAt, sector int64) (Table, error) {
	mbr := make([]byte, mbrSectorSize)
	if _, err := r.ReadAt(mbr, 0); err != nil {
		return Table{}, fmt.Errorf("read the first sector: %w", err)
	}
	if !protects(mbr) {
		return Table{}, fmt.Errorf("%w: its first sector does not say so", ErrNoTable)
	}
	sectors := []int64{sector}
	if sector == 0 {
		sectors = []int64{512, 4096}
	}
	var errs []error
	for _, size := range sectors {
		table, err := at(r, size, 1)
		if err == nil {
			return table, nil
		}
		errs = append(errs, err)
	}
	return Table{}, errors.Join(errs...)
}

// ReadBackup reads the second table of a disk that has size bytes, from its last sector. Firmware uses it if the first is damaged.
func ReadBackup(r io.ReaderAt, sector, size int64) (Table, error) {
	if sector <= 0 || size < 3*sector {
		return Table{}, fmt.Errorf("%w: it is too small", ErrNoTable)
	}
	return at(r, sector, size/sector-1)
}

// protects reports whether an MBR is that of a disk with GPT.
func protects(mbr []byte) bool {
	if mbr[510] != 0x55 || mbr[511] != 0xaa {
		return false
	}
	for i := range 4 {
		if mbr[mbrEntries+i*mbrEntrySize+mbrTypeOffset] == protective {
			return true
		}
	}
	return false
}

// at reads the table whose header is in a sector.
func at(r io.ReaderAt, sector, lba int64) (Table, error) {
	header := make([]byte, headerSize)
	if _, err := r.ReadAt(header, lba*sector); err != nil {
		return Table{}, fmt.Errorf("%w: cannot read sector %d: %w", ErrNoTable, lba, err)
	}
	if !bytes.HasPrefix(header, []byte(signature)) {
		return Table{}, fmt.Errorf("%w: sector %d of %d bytes has no header", ErrNoTable, lba, sector)
	}
	if err := checkHeader(header, lba); err != nil {
		return Table{}, fmt.Errorf("%w: %w", ErrNoTable, err)
	}
	order := binary.LittleEndian
	count, size := int64(order.Uint32(header[80:])), int64(order.Uint32(header[84:]))
	if size < entrySize || size > 4096 || size%entrySize != 0 || count == 0 || count > mostEntries {
		return Table{}, fmt.Errorf("%w: it has %d entries of %d bytes", ErrNoTable, count, size)
	}
	start := order.Uint64(header[72:])
	if start > maxLBA {
		return Table{}, fmt.Errorf("%w: its entries are at sector %d", ErrNoTable, start)
	}
	entries := make([]byte, count*size)
	if _, err := r.ReadAt(entries, int64(start)*sector); err != nil {
		return Table{}, fmt.Errorf("%w: cannot read its entries: %w", ErrNoTable, err)
	}
	if crc32.ChecksumIEEE(entries) != order.Uint32(header[88:]) {
		return Table{}, fmt.Errorf("%w: the checksum of its entries differs", ErrNoTable)
	}
	other := max(order.Uint64(header[32:]), uint64(lba))
	if other > maxLBA {
		return Table{}, fmt.Errorf("%w: its other header is at sector %d", ErrNoTable, other)
	}
	table := Table{Disk: GUID(header[56:72]), Sector: sector, Size: (int64(other) + 1) * sector}
	for i := range count {
		part, used, err := entry(entries[i*size:(i+1)*size], sector)
		if err != nil {
			return Table{}, fmt.Errorf("%w: entry %d: %w", ErrNoTable, i+1, err)
		}
		if used {
			part.Number = int(i) + 1
			table.Partitions = append(table.Partitions, part)
		}
	}
	return table, nil
}

// maxLBA keeps all offsets in bytes within 63 bits.
const maxLBA = 1 << 50

func checkHeader(header []byte, lba int64) error {
	order := binary.LittleEndian
	if size := order.Uint32(header[12:]); size != headerSize {
		return fmt.Errorf("its header has %d bytes", size)
	}
	sum := order.Uint32(header[16:])
	copied := bytes.Clone(header)
	clear(copied[16:20])
	if crc32.ChecksumIEEE(copied) != sum {
		return errors.New("the checksum of its header differs")
	}
	if self := order.Uint64(header[24:]); self != uint64(lba) {
		return fmt.Errorf("its header at sector %d says that it is at %d", lba, self)
	}
	return nil
}

func entry(data []byte, sector int64) (Partition, bool, error) {
	kind := GUID(data[0:16])
	if kind == (GUID{}) {
		return Partition{}, false, nil
	}
	first, last := binary.LittleEndian.Uint64(data[32:]), binary.LittleEndian.Uint64(data[40:])
	if first > last || last > maxLBA {
		return Partition{}, false, fmt.Errorf("it is from sector %d to %d", first, last)
	}
	units := make([]uint16, 0, 36)
	for i := 56; i < entrySize; i += 2 {
		unit := binary.LittleEndian.Uint16(data[i:])
		if unit == 0 {
			break
		}
		units = append(units, unit)
	}
	return Partition{
		Type: kind.String(), GUID: GUID(data[16:32]), Label: string(utf16.Decode(units)),
		Offset: int64(first) * sector, Bytes: int64(last-first+1) * sector, Sector: sector,
	}, true, nil
}

// Labelled is the only partition whose file system has a label. A disk may have partitions in any order: no number is fixed.
func (t Table) Labelled(r io.ReaderAt, label string) (Partition, FileSystem, error) {
	var part Partition
	var system FileSystem
	var seen []string
	found := 0
	for _, p := range t.Partitions {
		fs, err := Probe(io.NewSectionReader(r, p.Offset, p.Bytes))
		if err != nil {
			return Partition{}, FileSystem{}, fmt.Errorf("read partition %d: %w", p.Number, err)
		}
		if fs.Label == label {
			part, system = p, fs
			found++
		}
		seen = append(seen, fmt.Sprintf("%d: %q", p.Number, fs.Label))
	}
	switch found {
	case 0:
		return Partition{}, FileSystem{}, fmt.Errorf("no partition has a file system with the label %q; labels are %s",
			label, strings.Join(seen, ", "))
	case 1:
		return part, system, nil
	}
	return Partition{}, FileSystem{}, fmt.Errorf("%d partitions have a file system with the label %q", found, label)
}

// OfType is the first partition of a type.
func (t Table) OfType(kind string) (Partition, bool) {
	for _, p := range t.Partitions {
		if p.Type == kind {
			return p, true
		}
	}
	return Partition{}, false
}
