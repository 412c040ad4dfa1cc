package isowriter

import (
	"bytes"
	"compress/gzip"
	"fmt"
)

// Member is a file, directory or symbolic link of an archive. The content of a
// link is its target.
type Member struct {
	Name string
	Mode uint32 // kind and permissions, as stat(2) has them
	Data *Sparse
}

// The kinds of members, which are bits of their modes.
const (
	ModeDirectory = 0o040000
	ModeFile      = 0o100000
	ModeLink      = 0o120000
)

// Archive is an uncompressed cpio archive in the form newc, which the kernel
// unpacks into its root. It depends on its members alone: no times, no owners.
func Archive(members ...Member) *Sparse {
	archive := &Sparse{}
	for i, m := range append(members, Member{Name: "TRAILER!!!", Data: Zeros(0)}) {
		archive.Append(fmt.Appendf(nil, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
			i+1, m.Mode, 0, 0, 1, 0, m.Data.Size(), 0, 0, 0, 0, len(m.Name)+1, 0, m.Name))
		archive.Pad(4)
		archive.PutAll(archive.Size(), m.Data)
		archive.Pad(4)
	}
	return archive
}

// Gzip compresses data, always to the same bytes.
func Gzip(data []byte) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, _ = zip.Write(data) // memory
	_ = zip.Close()
	return out.Bytes()
}
