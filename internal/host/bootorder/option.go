package bootorder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/oaictl/oaictl/internal/host/disk/layout"
)

// option is a load option (EFI_LOAD_OPTION of the UEFI specification): the content of a variable Boot####.
type option struct {
	attributes uint32
	label      string
	path       []byte // the device path, with its end
	data       []byte // for the loader
}

const (
	active = 1 // the attribute of an option that the firmware tries

	fixedSize = 6 // attributes, and the size of the device path

	mediaType       = 4
	hardDrive       = 1
	hardDriveSize   = 42
	filePath        = 4
	nodeHeader      = 4
	formatGPT       = 2
	signatureGUID   = 2
	endOfPath       = "\x7f\xff\x04\x00"
	endType         = 0x7f
	mostOfAVariable = 1 << 16
)

// location is what a device path names: a file on a partition.
type location struct {
	partition layout.GUID
	number    uint32
	start     uint64 // in sectors
	sectors   uint64
	file      string // with backslashes, such as \EFI\redhat\shimx64.efi
}

// same reports whether two locations name the same file. FAT does not distinguish letters by case.
func (l location) same(other location) bool {
	return l.partition == other.partition && l.start == other.start && strings.EqualFold(l.file, other.file)
}

// parseOption reads the content of a variable Boot####.
func parseOption(content []byte) (option, error) {
	if len(content) < fixedSize || len(content) > mostOfAVariable {
		return option{}, fmt.Errorf("it has %d bytes", len(content))
	}
	o := option{attributes: binary.LittleEndian.Uint32(content)}
	size := int(binary.LittleEndian.Uint16(content[4:]))
	rest := content[fixedSize:]
	label, used, ended := text(rest)
	if !ended {
		return option{}, errors.New("its label has no end")
	}
	rest = rest[used:]
	if size > len(rest) {
		return option{}, fmt.Errorf("its device path of %d bytes is cut off", size)
	}
	o.label, o.path, o.data = label, rest[:size], rest[size:]
	return o, nil
}

// text reads UTF-16 up to a zero. Used is how many bytes it has, with the zero.
func text(content []byte) (decoded string, used int, ended bool) {
	var units []uint16
	for used+1 < len(content) {
		unit := binary.LittleEndian.Uint16(content[used:])
		used += 2
		if unit == 0 {
			return string(utf16.Decode(units)), used, true
		}
		units = append(units, unit)
	}
	return "", 0, false
}

func encode(decoded string) []byte {
	var out []byte
	for _, unit := range append(utf16.Encode([]rune(decoded)), 0) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return out
}

// bytes is the content of the variable.
func (o option) bytes() []byte {
	out := binary.LittleEndian.AppendUint32(nil, o.attributes)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(o.path)))
	out = append(out, encode(o.label)...)
	return append(append(out, o.path...), o.data...)
}

// location reads the device path. It is false for a path that does not begin with a GPT partition, such as the network's.
func (o option) location() (location, bool) {
	var l location
	found := false
	path := o.path
	for len(path) >= nodeHeader {
		kind, subtype, size := path[0], path[1], int(binary.LittleEndian.Uint16(path[2:]))
		if size < nodeHeader || size > len(path) {
			return location{}, false
		}
		node := path[:size]
		path = path[size:]
		switch {
		case kind == endType:
			return l, found && l.file != ""
		case kind == mediaType && subtype == hardDrive && size == hardDriveSize:
			if node[40] != formatGPT || node[41] != signatureGUID {
				return location{}, false
			}
			l.number = binary.LittleEndian.Uint32(node[4:])
			l.start, l.sectors = binary.LittleEndian.Uint64(node[8:]), binary.LittleEndian.Uint64(node[16:])
			l.partition = layout.GUID(node[24:40])
			found = true
		case kind == mediaType && subtype == filePath:
			part, _, _ := text(append(bytes.Clone(node[nodeHeader:]), 0, 0)) // some firmware leaves out the zero
			l.file += part
		}
	}
	return location{}, false
}

// devicePath is the short form of a device path, from the partition on: the firmware finds the disk that has it.
func (l location) devicePath() []byte {
	order := binary.LittleEndian
	path := []byte{mediaType, hardDrive}
	path = order.AppendUint16(path, hardDriveSize)
	path = order.AppendUint32(path, l.number)
	path = order.AppendUint64(path, l.start)
	path = order.AppendUint64(path, l.sectors)
	path = append(path, l.partition[:]...)
	path = append(path, formatGPT, signatureGUID)
	file := encode(l.file)
	path = append(path, mediaType, filePath)
	path = order.AppendUint16(path, uint16(nodeHeader+len(file)))
	path = append(path, file...)
	return append(path, endOfPath...)
}

// numbers reads the variable BootOrder.
func numbers(content []byte) []uint16 {
	var list []uint16
	for ; len(content) >= 2; content = content[2:] {
		list = append(list, binary.LittleEndian.Uint16(content))
	}
	return list
}

func orderBytes(list []uint16) []byte {
	var out []byte
	for _, number := range list {
		out = binary.LittleEndian.AppendUint16(out, number)
	}
	return out
}
