package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

const (
	legacyArea = "images/ignition.img"
	configName = "config.ign"
	baseConfig = "usr/lib/ignition/base.d/"
	mostArea   = 64 << 20
)

// ErrNoIgnition is an image that boots, and then does nothing.
var ErrNoIgnition = errors.New("it carries no Ignition config")

// Ignition is an image's config as the live system finds it: the system's first, the user's last.
func Ignition(image io.ReaderAt, size int64) ([][]byte, error) {
	at, err := area(image, size)
	if err != nil {
		return nil, err
	}
	content := make([]byte, at.size)
	if _, err := image.ReadAt(content, at.offset); err != nil {
		return nil, fmt.Errorf("read the Ignition area at %d: %w", at.offset, err)
	}
	files, err := unpack(content)
	if err != nil {
		return nil, fmt.Errorf("unpack the Ignition area at %d: %w", at.offset, err)
	}
	var configs [][]byte
	names := []string{}
	for name := range files {
		if strings.HasPrefix(name, baseConfig) && strings.HasSuffix(name, ".ign") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		configs = append(configs, files[name])
	}
	if config, ok := files[configName]; ok {
		configs = append(configs, config)
	}
	if len(configs) == 0 {
		return nil, ErrNoIgnition
	}
	return configs, nil
}

// area is where coreos/igninfo.json says that Ignition stands; older images have a file of a fixed name.
func area(image io.ReaderAt, size int64) (place, error) {
	info := struct {
		File           string
		Offset, Length int64
	}{File: legacyArea}
	at, err := find(image, size, "coreos/igninfo.json")
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return place{}, err
	case at.size > sector:
		return place{}, fmt.Errorf("coreos/igninfo.json has %d bytes", at.size)
	default:
		text := make([]byte, at.size)
		if _, err := image.ReadAt(text, at.offset); err != nil {
			return place{}, fmt.Errorf("read coreos/igninfo.json: %w", err)
		}
		if err := json.Unmarshal(text, &info); err != nil {
			return place{}, fmt.Errorf("read coreos/igninfo.json: %w", err)
		}
	}
	file, err := find(image, size, info.File)
	if err != nil {
		return place{}, err
	}
	if info.Length == 0 {
		info.Length = file.size - info.Offset
	}
	if info.Offset < 0 || info.Length < 0 || info.Length > mostArea || info.Offset+info.Length > file.size {
		return place{}, fmt.Errorf("the Ignition area, %d bytes at %d of %s, is not in that file of %d bytes", info.Length, info.Offset, info.File, file.size)
	}
	return place{offset: file.offset + info.Offset, size: info.Length}, nil
}
