package isotest

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // features.json
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/isowriter"
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

func menuFiles(l Layout) []file {
	var files []file
	info := kargsInfo{Default: l.DefaultKargs()}
	for _, path := range l.machine().menus {
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
		switch i := slices.Index(im.layout.machine().menus, f.path); {
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
		{path: "generic.ins", data: fmt.Appendf(nil,
			"* minimal lpar ins file\nimages/pxeboot/kernel.img 0x00000000\nimages/pxeboot/initrd.img 0x%08x\n"+
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

const (
	// IgnitionAreaSize is the length of the Ignition embed area of every generation.
	IgnitionAreaSize = 256 << 10

	miniSlotSize = 16 << 10
	efibootSize  = 64 << 10

	igninfoPath  = "coreos/igninfo.json"
	featuresPath = "coreos/features.json"
	minisoPath   = "coreos/miniso.dat"
	ignitionPath = "images/ignition.img"
	initrdPath   = "images/pxeboot/initrd.img"
	rootfsPath   = "images/pxeboot/rootfs.img"
)

//go:embed features.json
var features []byte

// contents are the files of a layout, except the boot catalog.
func contents(l Layout) []file {
	rootfs := rootfsImage(l)
	initrd := initrdImage(l, rootfs)
	files := []file{
		{path: initrdPath, data: initrd},
		{path: rootfsPath, data: rootfs},
	}
	add := func(path string, data []byte) { files = append(files, file{path: path, data: data}) }
	if l.Arch == "s390x" {
		files = append(files, mainframeFiles(l, initrd)...)
	} else {
		add("images/pxeboot/vmlinuz", kernel(l))
		add(ignitionPath, make([]byte, IgnitionAreaSize))
		files = append(files, menuFiles(l)...)
		if l.IgnInfo {
			add(igninfoPath, []byte("{\n    \"file\": \"images/ignition.img\"\n}\n"))
		}
	}
	if l.Features {
		add(featuresPath, features)
	}
	if l.MiniISO {
		files = append(files, file{path: minisoPath, data: make([]byte, miniSlotSize), placed: true})
	}
	if l.Payload > 0 {
		files = append(files, file{path: "data/registry.tar", size: l.Payload})
	}
	for _, b := range l.machine().boot {
		switch b.Path {
		case isolinuxPath:
			files = append(files, file{path: b.Path, data: isolinux(), placed: true})
		case efibootPath:
			add(b.Path, efiboot())
		}
	}
	return files
}

// rootfsImage is an uncompressed archive whose first member is the squashfs, as the real one is.
func rootfsImage(l Layout) []byte {
	squashfs := append([]byte("hsqs"), stuff("rootfs", 300<<10)...)
	return isowriter.Archive(
		member("root.squashfs", 0o644, squashfs),
		directory("etc"),
		member("etc/coreos-live-rootfs", 0o644, []byte(l.VolumeID)),
	).Bytes()
}

// initrdImage is a gzip archive that knows which rootfs belongs to it, padded to whole words.
func initrdImage(l Layout, rootfs []byte) []byte {
	const chunk = 2 << 20
	want := fmt.Sprintf("stream-hash sha256 %d\n", chunk)
	for piece := range slices.Chunk(rootfs, chunk) {
		want += fmt.Sprintf("%x\n", sha256.Sum256(piece))
	}
	members := []isowriter.Member{
		member("init", 0o755, stuff("init", 40<<10)),
		directory("etc"),
		member("etc/coreos-live-initramfs", 0o644, []byte(l.VolumeID)),
		member("etc/coreos-live-want-rootfs", 0o644, []byte(want)),
	}
	if l.Features {
		members = append(members, directory("etc/coreos"), member("etc/coreos/features.json", 0o644, features))
	}
	initrd := isowriter.BytesOf(isowriter.Gzip(isowriter.Archive(members...).Bytes()))
	initrd.Pad(4)
	return initrd.Bytes()
}

func member(name string, permissions uint32, data []byte) isowriter.Member {
	return isowriter.Member{Name: name, Mode: isowriter.ModeFile | permissions, Data: isowriter.BytesOf(data)}
}

func directory(name string) isowriter.Member {
	return isowriter.Member{Name: name, Mode: isowriter.ModeDirectory | 0o755, Data: isowriter.Zeros(0)}
}

// kernel has the magic of its architecture where boot loaders look for it. On aarch64 it is compressed.
func kernel(l Layout) []byte {
	data := stuff("kernel", 96<<10)
	copy(data, "MZ")
	switch l.Arch {
	case "x86_64":
		copy(data[0x202:], "HdrS\x0f\x02")
	case "aarch64":
		copy(data[56:], "ARM\x64")
		return isowriter.Gzip(data)
	case "ppc64le":
		copy(data, "\x7fELF\x02\x01\x01")
	}
	return data
}

// isolinux packs well, for its place-dependent bytes have to fit into miniso.dat.
func isolinux() []byte {
	data := make([]byte, 24<<10)
	copy(data, stuff("isolinux", 2<<10))
	return data
}

func efiboot() []byte {
	data := stuff("efiboot", efibootSize)
	copy(data, "\xeb\x3c\x90mkfs.fat")
	copy(data[43:], "EFI-SYSTEM FAT16   ")
	data[510], data[511] = 0x55, 0xAA
	return data
}

// stuff is incompressible content that the name determines.
func stuff(name string, n int) []byte {
	data := make([]byte, n)
	random := rand.NewChaCha8(sha256.Sum256([]byte(name)))
	_, _ = random.Read(data) // documented never to fail
	return data
}
