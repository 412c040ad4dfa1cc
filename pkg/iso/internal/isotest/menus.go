package isotest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
)

const (
	kargsPath        = "coreos/kargs.json"
	defaultKargsPath = "coreos/kargs.default"
	areaMarker       = "# COREOS_KARG_EMBED_AREA"

	// legacyHeadersOffset is where the system area describes the embed areas: 72 bytes for kernel arguments, 24 for
	// Ignition, up to its end.
	legacyHeadersOffset = 32<<10 - 72 - 24
)

type kargsFile struct {
	Path   string  `json:"path"`
	Offset int     `json:"offset"`
	Pad    *string `json:"pad,omitempty"`
	End    *string `json:"end,omitempty"`
}

type kargsInfo struct {
	Default string      `json:"default"`
	Files   []kargsFile `json:"files"`
	Size    int         `json:"size"`
}

// menuPaths are the boot menus of an architecture with an area for kernel arguments.
func menuPaths(arch string) []string {
	switch arch {
	case "x86_64":
		return []string{"EFI/redhat/grub.cfg", "isolinux/isolinux.cfg"}
	case "aarch64":
		return []string{"EFI/redhat/grub.cfg"}
	case "ppc64le":
		return []string{"boot/grub/grub.cfg"}
	}
	return nil
}

// menuFiles are the boot menus and what describes their areas.
func menuFiles(l Layout) []file {
	var files []file
	info := kargsInfo{Default: l.DefaultKargs()}
	for _, path := range menuPaths(l.Arch) {
		data := menu(l, path)
		files = append(files, file{path: path, data: data})
		if !l.hasKargs() {
			continue
		}
		entry := kargsFile{Path: path}
		entry.Offset, info.Size = areaIn(l, data)
		if l.KargsPadEnd {
			pad, end := "#", "\n"
			entry.Pad, entry.End = &pad, &end
		}
		info.Files = append(info.Files, entry)
	}
	if l.hasKargs() && l.KargsJSON {
		files = append(files, file{path: kargsPath, data: indented(info)})
	}
	if l.hasKargs() && l.LegacyHeaders {
		area := l.DefaultKargs() + "\n"
		area += strings.Repeat("#", info.Size-len(area))
		files = append(files, file{path: defaultKargsPath, data: []byte(area)})
	}
	return files
}

// menu is a grub or isolinux configuration. The area is the arguments, the end of their line and the comment after it.
func menu(l Layout, path string) []byte {
	area := l.DefaultKargs() + "\n"
	if l.hasKargs() {
		area += strings.Repeat("#", 1023) + areaMarker + "\n"
	}
	if strings.HasPrefix(path, "isolinux/") {
		return []byte("serial 0\ndefault vesamenu.c32\ntimeout 50\n\nlabel linux\n  menu label ^RHEL CoreOS (Live)\n  menu default\n" +
			"  kernel /images/pxeboot/vmlinuz\n  append initrd=/images/pxeboot/initrd.img,/images/ignition.img " + area)
	}
	return []byte("set default=\"1\"\nset timeout=5\n\nmenuentry 'RHEL CoreOS (Live)' --class fedora --class gnu-linux {\n" +
		"\tlinux /images/pxeboot/vmlinuz " + area +
		"\tinitrd /images/pxeboot/initrd.img /images/ignition.img\n}\n")
}

// areaIn finds the area in a menu: from the arguments up to the last '#' before the marker's text.
func areaIn(l Layout, menu []byte) (offset, size int) {
	offset = bytes.Index(menu, []byte(l.DefaultKargs()))
	return offset, bytes.Index(menu, []byte(areaMarker)) - offset
}

func indented(v any) []byte {
	data, err := json.MarshalIndent(v, "", "    ")
	if err != nil {
		panic(err) // the types here have nothing that JSON cannot say
	}
	return append(data, '\n')
}

// legacyHeaders describe the embed areas by their offsets in the ISO, as it was done before kargs.json and igninfo.json.
func (im *image) legacyHeaders() []byte {
	h := make([]byte, 72+24)
	ignition := im.Place(ignitionPath)
	for _, f := range contents(im.layout) {
		switch i := slices.Index(menuPaths(im.layout.Arch), f.path); {
		case f.path == defaultKargsPath:
			copy(h, "coreKarg")
			binary.LittleEndian.PutUint64(h[8:], uint64(len(f.data)))
			binary.LittleEndian.PutUint64(h[16:], uint64(im.Place(f.path)))
		case i >= 0 && im.layout.hasKargs():
			offset, _ := areaIn(im.layout, f.data)
			binary.LittleEndian.PutUint64(h[24+8*i:], uint64(im.Place(f.path)+int64(offset)))
		case f.path == cdbootPath: // on s390x, the area ends the boot file
			ignition = im.Place(f.path) + int64(len(f.data)) - IgnitionAreaSize
		}
	}
	copy(h[72:], "coreiso+")
	binary.LittleEndian.PutUint64(h[80:], uint64(ignition))
	binary.LittleEndian.PutUint64(h[88:], IgnitionAreaSize)
	return h
}
