//go:build linux

package inventory

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Values of SMBIOS (DSP0134, 7.18): the structure of a memory module.
const (
	dmiHeader = 4 // type, length, handle
	dmiMemory = 17
	dmiEnd    = 127

	// Offsets in a memory module.
	dmiSize         = 0x0c
	dmiExtendedSize = 0x1c

	dmiSizeUnknown  = 0xffff
	dmiSizeExtended = 0x7fff
	dmiKilobytes    = 0x8000 // the size is in KiB instead of MiB
)

// memoryModules adds the sizes of the memory modules in a table of DMI structures, in bytes.
func memoryModules(table []byte) (int64, error) {
	var total int64
	for len(table) >= dmiHeader {
		length := int(table[1])
		if length < dmiHeader || length > len(table) {
			return 0, fmt.Errorf("a DMI structure of type %d is %d bytes long, and %d bytes of the table are left", table[0], length, len(table))
		}
		structure := table[:length]
		switch structure[0] {
		case dmiMemory:
			total += moduleSize(structure)
		case dmiEnd:
			return total, nil
		}
		// Strings follow, up to two zero bytes.
		end := bytes.Index(table[length:], []byte{0, 0})
		if end < 0 {
			return 0, errors.New("the strings of a DMI structure do not end")
		}
		table = table[length+end+2:]
	}
	return total, nil
}

// moduleSize is the size of a memory module in bytes. It is zero if the socket is empty, or if the firmware does not know.
func moduleSize(structure []byte) int64 {
	if len(structure) < dmiSize+2 {
		return 0
	}
	const kib, mib = 1 << 10, 1 << 20
	switch size := binary.LittleEndian.Uint16(structure[dmiSize:]); {
	case size == dmiSizeUnknown:
		return 0
	case size == dmiSizeExtended && len(structure) >= dmiExtendedSize+4:
		const reserved = 1 << 31
		return int64(binary.LittleEndian.Uint32(structure[dmiExtendedSize:])&^uint32(reserved)) * mib
	case size&dmiKilobytes != 0:
		return int64(size&^dmiKilobytes) * kib
	default:
		return int64(size) * mib
	}
}
