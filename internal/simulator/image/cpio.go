package image

import (
	"bytes"
	"compress/gzip"
	"fmt"
)

// archiveFile is one member of an initrd archive.
type archiveFile struct {
	name string
	mode uint32
	data *sparse
}

const (
	cpioFile    = 0o100644
	cpioSecret  = 0o100600
	cpioTrailer = "TRAILER!!!"
)

// cpio makes an uncompressed newc archive, which is what the kernel unpacks into
// its root. Everything about it is fixed by the members: no times, no owners.
func cpio(files ...archiveFile) *sparse {
	archive := &sparse{}
	member := func(inode int, f archiveFile) {
		links := 1
		header := fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
			inode, f.mode, 0, 0, links, 0, f.data.size, 0, 0, 0, 0, len(f.name)+1, 0)
		archive.append([]byte(header + f.name + "\x00"))
		archive.pad(4)
		archive.putAll(archive.size, f.data)
		archive.pad(4)
	}
	for i, f := range files {
		member(i+1, f)
	}
	member(0, archiveFile{name: cpioTrailer, data: zeros(0)})
	return archive
}

// compressed is data as gzip makes it, the same for the same data.
func compressed(data []byte) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, _ = zip.Write(data) // writes memory
	_ = zip.Close()
	return out.Bytes()
}

// ignitionArchive is what goes into the embed area: a compressed archive whose
// one member is the config.
func ignitionArchive(config []byte) []byte {
	return compressed(cpio(archiveFile{name: "config.ign", mode: cpioFile, data: bytesOf(config)}).bytes())
}
