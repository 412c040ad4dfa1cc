// Package live is what a machine finds in the discovery image that it boots: the
// Ignition config in the bytes of an ISO, and the agent that this config runs.
// It is written apart from what makes such images, so that the one can be held
// against the other, and reads no more than firmware and boot loader would: the
// primary names of ISO 9660 (ECMA-119).
package live

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

const (
	sector        = 2048
	descriptorAt  = 16 * sector
	mostDirectory = 4 << 20
)

type place struct {
	offset, size int64
	directory    bool
}

var errNoISO = errors.New("it is no ISO 9660 image")

// find is where a file stands in an image, by its path; the error is fs.ErrNotExist without one.
func find(image io.ReaderAt, size int64, path string) (place, error) {
	descriptor := make([]byte, sector)
	if _, err := image.ReadAt(descriptor, descriptorAt); err != nil {
		return place{}, fmt.Errorf("read the volume descriptor: %w", err)
	}
	if descriptor[0] != 1 || string(descriptor[1:6]) != "CD001" {
		return place{}, errNoISO
	}
	at, err := readRecord(descriptor[156:190], size)
	if err != nil {
		return place{}, fmt.Errorf("read the root directory's record: %w", err)
	}
	for name := range strings.SplitSeq(path, "/") {
		if !at.directory {
			return place{}, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
		}
		if at, err = lookUp(image, size, at, primaryName(name)); err != nil {
			return place{}, fmt.Errorf("look for %s: %w", path, err)
		}
	}
	return at, nil
}

// primaryName is a name as level 1 of ISO 9660 has it, without its version.
func primaryName(name string) string {
	base, extension, dotted := strings.Cut(strings.ToUpper(name), ".")
	base = base[:min(len(base), 8)]
	if !dotted {
		return base
	}
	return base + "." + extension[:min(len(extension), 3)]
}

func lookUp(image io.ReaderAt, size int64, dir place, name string) (place, error) {
	if dir.size > mostDirectory {
		return place{}, fmt.Errorf("a directory of %d bytes is too large", dir.size)
	}
	content := make([]byte, dir.size)
	if _, err := image.ReadAt(content, dir.offset); err != nil {
		return place{}, fmt.Errorf("read the directory at %d: %w", dir.offset, err)
	}
	for at := 0; at < len(content); {
		length := int(content[at])
		if length == 0 { // records do not cross sectors
			at = (at/sector + 1) * sector
			continue
		}
		if length < 34 || at+length > len(content) {
			return place{}, fmt.Errorf("the directory at %d has a bad record at %d", dir.offset, at)
		}
		record := content[at : at+length]
		at += length
		nameEnd := 33 + int(record[32])
		if nameEnd > length {
			return place{}, fmt.Errorf("the directory at %d has a bad name at %d", dir.offset, at-length)
		}
		found, _, _ := strings.Cut(string(record[33:nameEnd]), ";")
		if strings.TrimSuffix(found, ".") == name {
			return readRecord(record, size)
		}
	}
	return place{}, fs.ErrNotExist
}

func readRecord(record []byte, size int64) (place, error) {
	p := place{
		offset:    int64(binary.LittleEndian.Uint32(record[2:])) * sector,
		size:      int64(binary.LittleEndian.Uint32(record[10:])),
		directory: record[25]&2 != 0,
	}
	if p.offset+p.size > size {
		return place{}, fmt.Errorf("it ends at byte %d, behind the image's end at %d", p.offset+p.size, size)
	}
	return p, nil
}

// readJSON reads a file that says where something stands in an image.
func readJSON(image io.ReaderAt, size int64, path string, into any) error {
	const most = 64 << 10
	at, err := find(image, size, path)
	if err != nil {
		return err
	}
	if at.size > most {
		return fmt.Errorf("%s has %d bytes", path, at.size)
	}
	text := make([]byte, at.size)
	_, err = image.ReadAt(text, at.offset)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// ErrNoRoot is an image whose kernel starts, and then finds no system to run.
var ErrNoRoot = errors.New("its kernel arguments lead to no root file system")

// Root is where the live system of an image has its root file system: the URL
// that its kernel arguments name, or "" where it is in the image itself. An image
// from before coreos/kargs.json is taken to have it.
func Root(image io.ReaderAt, size int64) (url string, err error) {
	arguments, err := kernelArguments(image, size)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	volume := ""
	for _, word := range strings.Fields(arguments) {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "coreos.live.rootfs_url":
			return strings.Trim(value, `"`), nil
		case "coreos.liveiso":
			volume = value
		}
	}
	label := make([]byte, 32)
	if _, err := image.ReadAt(label, descriptorAt+40); err != nil {
		return "", fmt.Errorf("read the volume's name: %w", err)
	}
	if name := strings.TrimRight(string(label), " "); volume != name {
		return "", fmt.Errorf("%w: coreos.liveiso is %q, and the volume %q", ErrNoRoot, volume, name)
	}
	if _, err := find(image, size, "images/pxeboot/rootfs.img"); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoRoot, err)
	}
	return "", nil
}

// kernelArguments are those of the first boot menu that coreos/kargs.json names.
func kernelArguments(image io.ReaderAt, size int64) (string, error) {
	const mostArguments = 8 << 10
	var info struct {
		Size  int64
		Files []struct {
			Path   string
			Offset int64
		}
	}
	if err := readJSON(image, size, "coreos/kargs.json", &info); err != nil {
		return "", err
	}
	if len(info.Files) == 0 {
		return "", errors.New("coreos/kargs.json names no file")
	}
	menu := info.Files[0]
	file, err := find(image, size, menu.Path)
	if err != nil {
		// Not an image from before kargs.json, but one that lacks what that names.
		return "", errors.New("find the kernel arguments: " + err.Error())
	}
	if menu.Offset < 0 || info.Size < 0 || info.Size > mostArguments || menu.Offset+info.Size > file.size {
		return "", fmt.Errorf("the kernel arguments, %d bytes at %d of %s, are not in that file of %d bytes", info.Size, menu.Offset, menu.Path, file.size)
	}
	area := make([]byte, info.Size)
	if _, err := image.ReadAt(area, file.offset+menu.Offset); err != nil {
		return "", fmt.Errorf("read the kernel arguments: %w", err)
	}
	if end := bytes.IndexAny(area, "\n\x00"); end >= 0 {
		area = area[:end]
	}
	return strings.TrimRight(string(area), "#"), nil
}

// mostUnpacked bounds what an archive may unpack to.
const mostUnpacked = 64 << 20

// unpack reads initrd archives one behind another, as the kernel does: the last file of a name counts.
func unpack(area []byte) (map[string][]byte, error) {
	files := map[string][]byte{}
	for {
		area = bytes.TrimLeft(area, "\x00")
		if len(area) == 0 {
			return files, nil
		}
		archive, rest, err := decompress(area)
		if err != nil {
			return nil, err
		}
		if archive == nil { // it stands there uncompressed
			if rest, err = members(area, files); err != nil {
				return nil, err
			}
		} else if err := all(archive, files); err != nil {
			return nil, err
		}
		area = rest
	}
}

// decompress is the first archive of an area (nil if not compressed) and what stands behind it.
func decompress(area []byte) (archive, rest []byte, err error) {
	switch {
	case bytes.HasPrefix(area, []byte("0707")):
		return nil, nil, nil
	case bytes.HasPrefix(area, []byte{0x1f, 0x8b}):
		return ungzip(area)
	case bytes.HasPrefix(area, []byte("\xfd7zXZ\x00")):
		return unxz(area)
	case bytes.HasPrefix(area, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return unzstd(area)
	}
	return nil, nil, fmt.Errorf("bytes that begin with % x are no archive", area[:min(len(area), 6)])
}

func ungzip(area []byte) (archive, rest []byte, err error) {
	source := bytes.NewReader(area)
	zip, err := gzip.NewReader(source)
	if err != nil {
		return nil, nil, fmt.Errorf("open the gzip archive: %w", err)
	}
	zip.Multistream(false)
	archive, err = bounded(zip)
	return archive, area[len(area)-source.Len():], err
}

func unxz(area []byte) (archive, rest []byte, err error) {
	end := streamEnd(area)
	if size := dictionary(area[:end]); size > mostUnpacked {
		return nil, nil, fmt.Errorf("the xz archive asks for a dictionary of %d bytes", size)
	}
	// It takes what follows for damage, so it gets no more than is its own.
	plain, err := (xz.ReaderConfig{SingleStream: true}).NewReader(bytes.NewReader(area[:end]))
	if err != nil {
		return nil, nil, fmt.Errorf("open the xz archive: %w", err)
	}
	archive, err = bounded(plain)
	return archive, area[end:], err
}

// dictionary is how much memory the first block of an xz stream asks for (xz file
// format, 3.1 and 5.3.1): a header of 12 bytes, then the block's with two numbers
// that may be left out, and the filter LZMA2 with one byte. Zero if it says nothing.
func dictionary(stream []byte) int64 {
	const filterLZMA2, oneByte = 0x21, 1
	header := stream[min(len(stream), 12):]
	if len(header) < 2 || header[0] == 0 {
		return 0
	}
	header = header[:min(len(header), 4*(int(header[0])+1))]
	_, filters, found := bytes.Cut(header[2:], []byte{filterLZMA2, oneByte})
	if !found || len(filters) == 0 || filters[0] > 40 {
		return 0
	}
	bits := filters[0]
	return int64(2|bits&1) << (bits/2 + 11)
}

// unzstd takes what follows the archive for padding: the decoder does not say where it has stopped.
func unzstd(area []byte) (archive, rest []byte, err error) {
	plain, err := zstd.NewReader(bytes.NewReader(area), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostUnpacked))
	if err != nil {
		return nil, nil, fmt.Errorf("open the zstd archive: %w", err)
	}
	defer plain.Close()
	archive, err = bounded(plain)
	if errors.Is(err, zstd.ErrMagicMismatch) && len(archive) > 0 {
		err = nil
	}
	return archive, nil, err
}

func bounded(plain io.Reader) ([]byte, error) {
	archive, err := io.ReadAll(io.LimitReader(plain, mostUnpacked+1))
	if err != nil {
		return archive, fmt.Errorf("unpack the archive: %w", err)
	}
	if len(archive) > mostUnpacked {
		return nil, fmt.Errorf("the archive unpacks to more than %d bytes", mostUnpacked)
	}
	return archive, nil
}

// streamEnd is behind the first footer of an xz stream (xz file format, 2.1.2), else all of it.
func streamEnd(area []byte) int {
	for end := 12; end <= len(area); end += 4 {
		footer := area[end-12 : end]
		if string(footer[10:]) == "YZ" && binary.LittleEndian.Uint32(footer) == crc32.ChecksumIEEE(footer[4:10]) {
			return end
		}
	}
	return len(area)
}

func all(archive []byte, files map[string][]byte) (err error) {
	for archive = bytes.TrimLeft(archive, "\x00"); len(archive) > 0; archive = bytes.TrimLeft(archive, "\x00") {
		if archive, err = members(archive, files); err != nil {
			return err
		}
	}
	return nil
}

const (
	headerSize = 110
	trailer    = "TRAILER!!!"
)

var errCut = errors.New("the archive is cut short")

// members reads one newc archive up to its trailer and returns what follows.
func members(archive []byte, files map[string][]byte) ([]byte, error) {
	whole := archive
	for {
		if len(archive) < headerSize {
			return nil, errCut
		}
		if magic := string(archive[:6]); magic != "070701" && magic != "070702" {
			return nil, fmt.Errorf("the member at %d begins with %q", len(whole)-len(archive), magic)
		}
		size, err := field(archive, 6)
		if err != nil {
			return nil, err
		}
		nameSize, err := field(archive, 11)
		if err != nil {
			return nil, err
		}
		data := aligned(headerSize + nameSize)
		if nameSize == 0 || data+size > len(archive) {
			return nil, errCut
		}
		name := strings.TrimRight(string(archive[headerSize:headerSize+nameSize]), "\x00")
		content := archive[data : data+size]
		archive = archive[min(len(archive), aligned(data+size)):]
		if name == trailer {
			return archive, nil
		}
		files[strings.TrimPrefix(strings.TrimPrefix(name, "."), "/")] = content
	}
}

// field is the n-th of a header's numbers, each of eight hexadecimal digits.
func field(header []byte, n int) (int, error) {
	text := string(header[6+8*n : 14+8*n])
	value, err := strconv.ParseUint(text, 16, 31)
	if err != nil {
		return 0, fmt.Errorf("read the number %q of a member: %w", text, err)
	}
	return int(value), nil
}

func aligned(n int) int { return (n + 3) &^ 3 }
