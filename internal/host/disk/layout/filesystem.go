package layout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
)

// FileSystem is what the superblock of a partition says.
type FileSystem struct {
	Type  string // as mount(8) names it: ext4, xfs, vfat; "" if it is none of these
	Label string
}

// probed is how much of a partition tells its file system.
const probed = 4096

// Probe reads which file system a partition has.
func Probe(r io.ReaderAt) (FileSystem, error) {
	head := make([]byte, probed)
	if n, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return FileSystem{}, err
	} else if n < probed {
		return FileSystem{}, nil
	}
	switch {
	case binary.LittleEndian.Uint16(head[0x438:]) == 0xef53:
		return FileSystem{Type: "ext4", Label: padded(head[0x478:0x488])}, nil // the driver of ext4 reads ext2 and ext3, too
	case bytes.HasPrefix(head, []byte("XFSB")):
		return FileSystem{Type: "xfs", Label: padded(head[108:120])}, nil
	case head[510] == 0x55 && head[511] == 0xaa && bytes.HasPrefix(head[0x52:], []byte("FAT32")):
		return FileSystem{Type: "vfat", Label: padded(head[0x47:0x52])}, nil
	case head[510] == 0x55 && head[511] == 0xaa && bytes.HasPrefix(head[0x36:], []byte("FAT1")):
		return FileSystem{Type: "vfat", Label: padded(head[0x2b:0x36])}, nil
	}
	return FileSystem{}, nil
}

// padded is a text that ends with zeros or spaces.
func padded(field []byte) string {
	if end := bytes.IndexByte(field, 0); end >= 0 {
		field = field[:end]
	}
	return strings.TrimRight(string(field), " ")
}
