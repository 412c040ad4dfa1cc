package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

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
