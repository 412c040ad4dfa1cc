package isotest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
)

const (
	// IgnitionAreaSize is the length of the Ignition embed area of every generation.
	IgnitionAreaSize = 256 << 10

	miniSlotSize = 16 << 10

	igninfoPath  = "coreos/igninfo.json"
	featuresPath = "coreos/features.json"
	minisoPath   = "coreos/miniso.dat"
	ignitionPath = "images/ignition.img"
	initrdPath   = "images/pxeboot/initrd.img"
	rootfsPath   = "images/pxeboot/rootfs.img"
)

const features = `{
    "installer-config": true,
    "installer-config-directives": {
        "append-karg": true,
        "copy-network": true,
        "delete-karg": true,
        "dest-device": true,
        "ignition-url": true
    },
    "live-initrd-network": true
}
`

// contents are the files of a layout, sorted by path.
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
		add(featuresPath, []byte(features))
	}
	if l.MiniISO {
		files = append(files, file{path: minisoPath, data: make([]byte, miniSlotSize), placed: true})
	}
	if l.Payload > 0 {
		files = append(files, file{path: "data/registry.tar", size: l.Payload})
	}
	for _, b := range bootImages(l.Arch) {
		switch b.path {
		case isolinuxPath:
			files = append(files, file{path: b.path, data: isolinux(), placed: true})
		case efibootPath:
			add(b.path, efiboot())
		}
	}
	if path := catalogPath(l); path != "" {
		files = append(files, file{path: path, data: make([]byte, sectorSize), placed: true})
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	return files
}

// rootfsImage is an uncompressed archive whose first member is the squashfs, as the real one is.
func rootfsImage(l Layout) []byte {
	squashfs := append([]byte("hsqs"), stuff("rootfs", 300<<10)...)
	return archive(
		member{"root.squashfs", 0o100644, squashfs},
		member{"etc", 0o040755, nil},
		member{"etc/coreos-live-rootfs", 0o100644, []byte(l.VolumeID)},
	)
}

// initrdImage is a gzip archive that knows which rootfs belongs to it, padded to whole words.
func initrdImage(l Layout, rootfs []byte) []byte {
	const chunk = 2 << 20
	want := fmt.Sprintf("stream-hash sha256 %d\n", chunk)
	for piece := range slices.Chunk(rootfs, chunk) {
		want += fmt.Sprintf("%x\n", sha256.Sum256(piece))
	}
	members := []member{
		{"init", 0o100755, stuff("init", 40<<10)},
		{"etc", 0o040755, nil},
		{"etc/coreos-live-initramfs", 0o100644, []byte(l.VolumeID)},
		{"etc/coreos-live-want-rootfs", 0o100644, []byte(want)},
	}
	if l.Features {
		members = append(members, member{"etc/coreos", 0o040755, nil}, member{"etc/coreos/features.json", 0o100644, []byte(features)})
	}
	data := gzipped(archive(members...))
	return append(data, make([]byte, alignUp(int64(len(data)), 4)-int64(len(data)))...)
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
		return gzipped(data)
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

// efiboot starts as a FAT boot sector does.
func efiboot() []byte {
	data := stuff("efiboot", 64<<10)
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

type member struct {
	name string
	mode uint32
	data []byte
}

// archive is a newc archive (cpio(5)) of the members.
func archive(members ...member) []byte {
	var b bytes.Buffer
	pad := func() { b.Write(make([]byte, alignUp(int64(b.Len()), 4)-int64(b.Len()))) }
	for i, m := range append(members, member{name: "TRAILER!!!"}) {
		fmt.Fprintf(&b, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
			i+1, m.mode, 0, 0, 1, 0, len(m.data), 0, 0, 0, 0, len(m.name)+1, 0)
		b.WriteString(m.name + "\x00")
		pad()
		b.Write(m.data)
		pad()
	}
	return b.Bytes()
}
