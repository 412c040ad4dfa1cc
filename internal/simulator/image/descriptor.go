package image

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// primaryDescriptor describes the volume (ECMA-119, 8.4).
func primaryDescriptor(volume string, sectors uint32, tableSize int, little, big uint32, root *isoNode) []byte {
	d := make([]byte, sector)
	text := func(at, length int, value string) {
		copy(d[at:at+length], value+strings.Repeat(" ", length))
	}
	copy(d, "\x01CD001\x01")
	text(8, 32, "LINUX")
	text(40, 32, volume)
	copy(d[80:], both32(sectors))
	copy(d[120:], both16(1))
	copy(d[124:], both16(1))
	copy(d[128:], both16(sector))
	copy(d[132:], both32(uint32(tableSize)))
	binary.LittleEndian.PutUint32(d[140:], little)
	binary.BigEndian.PutUint32(d[148:], big)
	copy(d[156:190], plainRecord(root))
	text(190, 128, volume)
	text(318, 128, "")
	text(446, 128, "")
	text(574, 128, "OAICTL SIMULATOR")
	text(702, 111, "")
	copy(d[813:], recordedLong+recordedLong+recordedNever+recordedNever)
	d[881] = 1
	return d
}

// plainRecord is the root's record in the descriptor: the one place where it
// stands without Rock Ridge, because its length there is fixed.
func plainRecord(root *isoNode) []byte {
	record := root.record("\x00", false)[:34]
	record[0] = 34
	return record
}

// pathTableSize is the length of either path table.
func pathTableSize(dirs []*isoNode) int { return len(pathTable(dirs, binary.LittleEndian)) }

// pathTable lists every directory (ECMA-119, 9.4).
func pathTable(dirs []*isoNode, order binary.AppendByteOrder) []byte {
	var out []byte
	for _, dir := range dirs {
		id, parent := dir.id, uint16(1)
		if dir.parent == nil {
			id = "\x00"
		} else {
			parent = dir.parent.number
		}
		out = append(out, byte(len(id)), 0)
		out = order.AppendUint32(out, dir.lba)
		out = order.AppendUint16(out, parent)
		out = append(out, id...)
		if len(id)%2 == 1 {
			out = append(out, 0)
		}
	}
	return out
}

// catalogPath is where the boot catalog stands as a file of its own.
const catalogPath = "boot.cat"

// The platforms of the El Torito specification.
const (
	platformBIOS = 0x00
	platformEFI  = 0xef
)

// bootEntry is a file that firmware loads.
type bootEntry struct {
	platform byte
	path     string
}

// bootRecord points firmware at the catalog (El Torito 1.0, figure 7).
func bootRecord(catalog uint32) []byte {
	d := make([]byte, sector)
	copy(d, "\x00CD001\x01EL TORITO SPECIFICATION")
	binary.LittleEndian.PutUint32(d[71:], catalog)
	return d
}

// bootCatalog lists what can be booted: the first entry is the default, each
// further one a section of its own platform.
func bootCatalog(boot []bootEntry, places map[string]int64, files []isoFile) ([]byte, error) {
	catalog := make([]byte, sector)
	catalog[0], catalog[1] = 1, boot[0].platform
	copy(catalog[4:28], "OAICTL SIMULATOR")
	catalog[30], catalog[31] = 0x55, 0xaa
	sum := uint16(0)
	for i := 0; i < 32; i += 2 {
		sum += binary.LittleEndian.Uint16(catalog[i:])
	}
	binary.LittleEndian.PutUint16(catalog[28:], -sum)
	at := 32
	for i, entry := range boot {
		file := slices.IndexFunc(files, func(f isoFile) bool { return f.path == entry.path })
		if file < 0 {
			return nil, fmt.Errorf("laying out the image: %s is to be booted and is not there", entry.path)
		}
		if i > 0 {
			header := byte(0x90)
			if i == len(boot)-1 {
				header = 0x91
			}
			catalog[at], catalog[at+1] = header, entry.platform
			binary.LittleEndian.PutUint16(catalog[at+2:], 1)
			at += 32
		}
		count := (files[file].data.size + 511) / 512
		if entry.platform == platformBIOS && strings.HasSuffix(entry.path, "isolinux.bin") {
			count = 4 // what a BIOS loads; the loader fetches the rest of itself
		}
		catalog[at] = 0x88
		binary.LittleEndian.PutUint16(catalog[at+6:], uint16(min(count, 0xffff)))
		binary.LittleEndian.PutUint32(catalog[at+8:], uint32(places[entry.path]/sector))
		at += 32
	}
	return catalog, nil
}
