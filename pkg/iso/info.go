package iso

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode"

	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
)

const (
	x86     = "x86_64"
	arm     = "aarch64"
	power   = "ppc64le"
	zseries = "s390x"
)

func (b *Base) readInfo() error {
	os, version := splitLabel(b.volume.ID)
	b.info = Info{
		VolumeID: b.volume.ID,
		Size:     b.image.Size(),
		OS:       os,
		Version:  version,
		Boot:     Boot(b.volume.Boot),
		Minimal:  b.has(minisoPath),
	}
	arch, err := b.architecture()
	if err != nil {
		return err
	}
	b.info.Arch = arch
	features, err := b.optional(featuresPath)
	if err != nil || features == nil {
		return err
	}
	if err := json.Unmarshal(features, &b.info.Features); err != nil {
		return fmt.Errorf("%s: %w", featuresPath, err)
	}
	return nil
}

// splitLabel divides "fedora-coreos-42.20250803.3.0" at the first dash before a digit. The label is
// cut to 32 bytes, so the version may lack its end.
func splitLabel(label string) (os, version string) {
	for i := 1; i < len(label)-1; i++ {
		if label[i] == '-' && unicode.IsDigit(rune(label[i+1])) {
			return label[:i], label[i+1:]
		}
	}
	return label, ""
}

// architecture asks the kernel what it is made for, and the boot files where it does not say.
func (b *Base) architecture() (string, error) {
	if b.has(cdbootPath) || b.has(kernelPathZ) {
		return zseries, nil
	}
	f, err := b.volume.Find(kernelPath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", err
	default:
		if arch := kernelArch(b.head(f)); arch != "" {
			return arch, nil
		}
	}
	switch {
	case b.has("isolinux/isolinux.bin"):
		return x86, nil
	case b.has("boot/grub/grub.cfg"):
		return power, nil
	}
	return "", nil
}

// head returns the first bytes of a kernel, unpacked where it is a gzip stream.
func (b *Base) head(f iso9660.File) []byte {
	content := io.NewSectionReader(b.image, f.Offset, f.Size)
	head := make([]byte, 4096)
	n, _ := io.ReadFull(content, head) // a short kernel is an unknown one
	head = head[:n]
	if !bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		return head
	}
	zipped, err := gzip.NewReader(io.NewSectionReader(b.image, f.Offset, f.Size))
	if err != nil {
		return nil
	}
	unpacked := make([]byte, 4096)
	n, _ = io.ReadFull(zipped, unpacked)
	return unpacked[:n]
}

// kernelArch tells the architecture by the magic of the boot protocols: x86's setup header, arm64's
// Image header, ELF, and the machine field of the PE header that EFI stubs have.
func kernelArch(head []byte) string {
	at := func(offset int, magic string) bool {
		return offset >= 0 && offset+len(magic) <= len(head) && string(head[offset:offset+len(magic)]) == magic
	}
	switch {
	case at(0x202, "HdrS"):
		return x86
	case at(56, "ARM\x64"):
		return arm
	case at(0, "\x7fELF\x02"):
		return elfArch(head)
	case at(0, "MZ") && len(head) >= 0x40:
		pe := int(int32(binary.LittleEndian.Uint32(head[0x3c:])))
		switch {
		case at(pe, "PE\x00\x00\x64\x86"):
			return x86
		case at(pe, "PE\x00\x00\x64\xaa"):
			return arm
		}
	}
	return ""
}

// elfArch reads e_machine. A stand-in may end before it; 64-bit ELF kernels are POWER's either way.
func elfArch(head []byte) string {
	if len(head) >= 20 && binary.LittleEndian.Uint16(head[18:]) == 62 {
		return x86
	}
	return power
}

// liveArgument is the kernel argument by which the live system finds its medium.
const liveArgument = "coreos.liveiso"

func isLive(argument string) bool {
	key, _, _ := strings.Cut(argument, "=")
	return key == liveArgument || strings.HasPrefix(key, liveArgument+".")
}

// Where the files of a live image stand, since 2020 in all generations that have them.
const (
	igninfoPath  = "coreos/igninfo.json"
	kargsPath    = "coreos/kargs.json"
	featuresPath = "coreos/features.json"
	minisoPath   = "coreos/miniso.dat"

	ignitionPath  = "images/ignition.img"
	initrdPath    = "images/pxeboot/initrd.img"
	rootfsPath    = "images/pxeboot/rootfs.img"
	kernelPath    = "images/pxeboot/vmlinuz"
	kernelPathZ   = "images/pxeboot/kernel.img" // s390x
	cdbootPath    = "images/cdboot.img"         // s390x: kernel, arguments, initrd and Ignition area in one
	customPath    = "images/assisted_installer_custom.img"
	nmstatectlImg = "images/nmstate.img"
)

// Where the live system looks in the archives that the kernel unpacked.
const (
	configMember   = "config.ign"
	keyfileDir     = "etc/coreos-firstboot-network/"
	initrdIDMember = "etc/coreos-live-initramfs"
	rootfsIDMember = "etc/coreos-live-rootfs"
	rootfsHashes   = "etc/coreos-live-want-rootfs"
)
