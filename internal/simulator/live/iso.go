// Package live is what a machine finds in the discovery image that it boots: the
// Ignition config in the bytes of an ISO, and the agent that this config runs.
// It is written apart from what makes such images, so that the one can be held
// against the other, and reads no more than firmware and boot loader would: the
// primary names of ISO 9660 (ECMA-119).
package live

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

const (
	sector        = 2048
	descriptorAt  = 16 * sector
	mostDirectory = 4 << 20
)

// place is where something stands in an image.
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
	const mostInfo, mostArguments = 64 << 10, 8 << 10
	at, err := find(image, size, "coreos/kargs.json")
	if err != nil {
		return "", err
	}
	if at.size > mostInfo {
		return "", fmt.Errorf("coreos/kargs.json has %d bytes", at.size)
	}
	text := make([]byte, at.size)
	if _, err := image.ReadAt(text, at.offset); err != nil {
		return "", fmt.Errorf("read coreos/kargs.json: %w", err)
	}
	var info struct {
		Size  int64
		Files []struct {
			Path   string
			Offset int64
		}
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return "", fmt.Errorf("read coreos/kargs.json: %w", err)
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
