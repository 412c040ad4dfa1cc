package isotest

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/oaictl/oaictl/internal/isowriter"
)

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

// contents are the files of a layout, but for the boot catalog.
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
	for _, b := range bootFiles(l.Arch) {
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
		members = append(members, directory("etc/coreos"), member("etc/coreos/features.json", 0o644, []byte(features)))
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
