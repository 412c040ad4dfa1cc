package isotest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
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

// s390x has no boot menu: firmware loads images/cdboot.img, which is kernel, arguments, initrd and Ignition area in one.
const (
	cdbootInitrdField = 66568 // u64, big-endian: where the initrd starts in cdboot.img; its size follows
	cdbootKargs       = 66688
	cdbootKargsSize   = 896
	cdbootInitrd      = 128 << 10
	initrdAddress     = 0x02000000 // where an LPAR or z/VM puts the initrd in memory
)

func mainframeFiles(l Layout, initrd []byte) []file {
	kernel := stuff("kernel", 100<<10)
	kargs := l.DefaultKargs()
	files := []file{
		{path: "images/pxeboot/kernel.img", data: kernel},
		{path: cdbootPath, data: cdboot(kernel, kargs, initrd)},
		{path: "images/initrd.addrsize", data: addrsize(len(initrd))},
		{path: "images/redhat.exec", data: []byte("/* */\n'CL RDR'\n'PURGE RDR ALL'\n'SPOOL PUNCH * RDR'\n")},
		{path: "images/cdboot.prm", data: []byte(kargs + "\n")},
		{path: "images/genericdvd.prm", data: []byte("rd.neednet=0 " + kargs + "\n")},
		{path: "images/generic.prm", data: []byte("rd.neednet=1 ignition.firstboot ignition.platform.id=metal\n")},
		{path: "generic.ins", data: fmt.Appendf(nil, "* minimal lpar ins file\nimages/pxeboot/kernel.img 0x00000000\nimages/pxeboot/initrd.img 0x%08x\n"+
			"images/genericdvd.prm 0x00010480\nimages/initrd.addrsize 0x00010408\n", initrdAddress)},
	}
	if l.IgnInfo {
		files = append(files, file{path: igninfoPath, data: indented(struct {
			File   string `json:"file"`
			Length int    `json:"length"`
			Offset int    `json:"offset"`
		}{cdbootPath, IgnitionAreaSize, cdbootInitrd + len(initrd)})})
	}
	if l.hasKargs() {
		entry := kargsFile{Path: cdbootPath, Offset: cdbootKargs}
		if l.KargsPadEnd {
			nul := "\x00"
			entry.Pad, entry.End = &nul, &nul
		}
		files = append(files, file{path: kargsPath, data: indented(kargsInfo{Default: kargs, Files: []kargsFile{entry}, Size: cdbootKargsSize})})
	}
	return files
}

func cdboot(kernel []byte, kargs string, initrd []byte) []byte {
	data := make([]byte, cdbootInitrd+len(initrd)+IgnitionAreaSize)
	copy(data, kernel)
	clear(data[cdbootKargs : cdbootKargs+cdbootKargsSize])
	copy(data[cdbootKargs:], kargs)
	binary.BigEndian.PutUint64(data[cdbootInitrdField:], cdbootInitrd)
	binary.BigEndian.PutUint64(data[cdbootInitrdField+8:], uint64(len(initrd)))
	copy(data[cdbootInitrd:], initrd)
	return data
}

func addrsize(initrd int) []byte {
	b := make([]byte, 16)
	binary.BigEndian.PutUint32(b[4:], initrdAddress)
	binary.BigEndian.PutUint32(b[12:], uint32(initrd))
	return b
}
