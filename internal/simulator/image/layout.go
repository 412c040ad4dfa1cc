package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/isowriter"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// What stands where in a live image, as the operating system's build puts it.
const (
	kernelPath   = "images/pxeboot/vmlinuz"
	initrdPath   = "images/pxeboot/initrd.img"
	rootfsPath   = "images/pxeboot/rootfs.img"
	ignitionPath = "images/ignition.img"
	extraPath    = "images/assisted_installer_custom.img"
	efiPath      = "images/efiboot.img"
	biosPath     = "isolinux/isolinux.bin"
	zBootPath    = "images/cdboot.img"
	insPath      = "generic.ins"
	addrsizePath = "images/initrd.addrsize"
	catalogPath  = "boot.cat"
)

const (
	// ignitionSize is the length of the Ignition embed area.
	ignitionSize = 256 << 10
	// extraSize is the length of a minimal image's area for a further initrd.
	extraSize = 1 << 20
	// kargsRoom is how many # follow the kernel arguments in a boot menu.
	kargsRoom  = 1024
	rootfsSize = 2 << 20
)

type area struct{ at, length int64 }

// kernelArguments says where the kernel arguments stand and what ends them.
type kernelArguments struct {
	areas    []area
	original string
	end, pad byte
}

// live is one live image without configuration, shared by all requests and never changed.
type live struct {
	iso      *isowriter.Sparse
	ignition area
	extra    area // zero length where there is none
	kargs    kernelArguments
	// minimal images leave the root file system out and fetch it by URL.
	minimal                           bool
	kernel, initrd, rootfs            *isowriter.Sparse
	instructions, initrdAddressLength []byte // only of s390x
}

type kargsFile struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Pad    string `json:"pad"`
	End    string `json:"end"`
}

func newLive(os versions.OSImage, minimal bool) (*live, error) {
	volume := "rhcos-" + os.Version
	l := &live{minimal: minimal, kernel: kernelFor(os), rootfs: rootfsFor(os)}
	l.initrd = initrdFor(os, l.rootfs)
	l.kargs = kernelArguments{
		original: "coreos.liveiso=" + volume + " ignition.firstboot ignition.platform.id=metal",
		end:      '\n', pad: '#',
	}
	if minimal {
		l.kargs.original = "ignition.firstboot ignition.platform.id=metal"
	}
	files := []isowriter.File{
		{Path: kernelPath, Data: l.kernel}, {Path: initrdPath, Data: l.initrd},
		{Path: "coreos/features.json", Data: jsonFile(map[string]any{
			"installer-config": true, "live-initrd-network": true,
		})},
	}
	if !minimal {
		files = append(files, isowriter.File{Path: rootfsPath, Data: l.rootfs})
	}
	var err error
	if os.CPUArchitecture == versions.Z {
		err = l.layOutMainframe(volume, files)
	} else {
		err = l.layOut(os.CPUArchitecture, volume, files)
	}
	if err != nil {
		return nil, fmt.Errorf("making the live image of %s for %s: %w", os.OpenshiftVersion, os.CPUArchitecture, err)
	}
	return l, nil
}

func (l *live) layOut(arch, volume string, files []isowriter.File) error {
	initrds := []string{"/" + initrdPath, "/" + ignitionPath}
	files = append(files, isowriter.File{Path: ignitionPath, Data: isowriter.Zeros(ignitionSize)})
	if l.minimal {
		initrds = append(initrds, "/"+extraPath)
		files = append(files, isowriter.File{Path: extraPath, Data: isowriter.Zeros(extraSize)})
	}
	grub := grubMenu(l.kargs.original, initrds)
	menus := []isowriter.File{{Path: "EFI/redhat/grub.cfg", Data: isowriter.BytesOf(grub)}}
	boot := []isowriter.BootFile{{Path: efiPath, Platform: isowriter.PlatformUEFI}}
	switch arch {
	case versions.X86:
		menus = append(menus, isowriter.File{Path: "isolinux/isolinux.cfg", Data: isowriter.BytesOf(isolinuxMenu(l.kargs.original, initrds))})
		files = append(
			files, isowriter.File{Path: biosPath, Data: isowriter.BytesOf(bootSector())},
			isowriter.File{Path: efiPath, Data: isowriter.BytesOf(emptyFAT("EFI-SYSTEM"))},
		)
		boot = append([]isowriter.BootFile{{Path: biosPath, Platform: isowriter.PlatformBIOS, Load: 4}}, boot...)
	case versions.ARM:
		files = append(files, isowriter.File{Path: efiPath, Data: isowriter.BytesOf(emptyFAT("EFI-SYSTEM"))})
	case versions.Power:
		menus[0].Path, boot = "boot/grub/grub.cfg", nil // its firmware reads the menu by name
	}
	kargsJSON := map[string]any{"default": l.kargs.original}
	var entries []kargsFile
	var size int64
	for _, menu := range menus {
		text := menu.Data.Bytes()
		at := int64(bytes.Index(text, []byte(l.kargs.original)))
		size = int64(bytes.Index(text, []byte(kargsMarker))) - at
		entries = append(entries, kargsFile{Path: menu.Path, Offset: at, Pad: string(l.kargs.pad), End: string(l.kargs.end)})
	}
	kargsJSON["files"], kargsJSON["size"] = entries, size
	files = append(files, menus...)
	files = append(files,
		isowriter.File{Path: "coreos/igninfo.json", Data: jsonFile(map[string]any{"file": ignitionPath})},
		isowriter.File{Path: "coreos/kargs.json", Data: jsonFile(kargsJSON)})
	written, err := writeISO(volume, files, boot)
	if err != nil {
		return err
	}
	l.iso = written.Sparse
	l.ignition = area{written.Place(ignitionPath), ignitionSize}
	if l.minimal {
		l.extra = area{written.Place(extraPath), extraSize}
	}
	for _, entry := range entries {
		l.kargs.areas = append(l.kargs.areas, area{written.Place(entry.Path) + entry.Offset, size})
	}
	return nil
}

// Where a mainframe's boot file keeps things (facts of the s390x image build).
const (
	zInitrdPointer = 66568 // u64, big-endian: where the initrd starts
	zKargsAt       = 66688
	zKargsSize     = 896
	zInitrdAt      = 1 << 20
	zInitrdAddress = 0x02000000
)

// layOutMainframe writes the image of s390x, which boots one file of kernel, arguments, initrd, embed area.
func (l *live) layOutMainframe(volume string, files []isowriter.File) error {
	l.kargs.end, l.kargs.pad = 0, 0
	boot := &isowriter.Sparse{}
	boot.PutAll(0, l.kernel)
	boot.Put(zInitrdPointer, binary.BigEndian.AppendUint64(nil, zInitrdAt))
	boot.Put(zInitrdPointer+8, binary.BigEndian.AppendUint64(nil, uint64(l.initrd.Size())))
	boot.Put(zKargsAt, []byte(l.kargs.original))
	boot.PutAll(zInitrdAt, l.initrd)
	ignitionAt := boot.Size()
	boot.Grow(ignitionSize)
	l.initrdAddressLength = addressLength(l.initrd.Size())
	l.instructions = []byte("* generated by the simulator\n" + kernelPath + " 0x00000000\n" + initrdPath +
		" 0x02000000\nimages/genericdvd.prm 0x00010480\n" + addrsizePath + " 0x00010408\n")
	files = append(files,
		isowriter.File{Path: zBootPath, Data: boot}, isowriter.File{Path: insPath, Data: isowriter.BytesOf(l.instructions)},
		isowriter.File{Path: addrsizePath, Data: isowriter.BytesOf(l.initrdAddressLength)},
		isowriter.File{Path: "images/genericdvd.prm", Data: isowriter.BytesOf([]byte(l.kargs.original + "\n"))},
		isowriter.File{Path: "coreos/igninfo.json", Data: jsonFile(map[string]any{
			"file": zBootPath, "offset": ignitionAt, "length": ignitionSize,
		})},
		isowriter.File{Path: "coreos/kargs.json", Data: jsonFile(map[string]any{
			"default": l.kargs.original, "size": zKargsSize,
			"files": []kargsFile{{Path: zBootPath, Offset: zKargsAt, Pad: "\x00", End: "\x00"}},
		})})
	written, err := writeISO(volume, files, []isowriter.BootFile{{Path: zBootPath, Platform: isowriter.PlatformBIOS}})
	if err != nil {
		return err
	}
	start := written.Place(zBootPath)
	l.iso = written.Sparse
	l.ignition = area{start + ignitionAt, ignitionSize}
	l.kargs.areas = []area{{start + zKargsAt, zKargsSize}}
	return nil
}

// writeISO writes the file system. Rock Ridge has the real names of its files.
func writeISO(volume string, files []isowriter.File, boot []isowriter.BootFile) (*isowriter.Image, error) {
	return isowriter.Volume{
		ID: volume, Application: "OAICTL SIMULATOR", RockRidge: true, Files: files, Boot: boot, Catalog: catalogPath,
	}.Write()
}

// addressLength tells a mainframe's loader of an initrd: 16 bytes, big-endian, address and length.
func addressLength(length int64) []byte {
	out := make([]byte, 16)
	binary.BigEndian.PutUint32(out[4:], zInitrdAddress)
	binary.BigEndian.PutUint32(out[12:], uint32(length))
	return out
}

func jsonFile(value any) *isowriter.Sparse {
	text, _ := json.MarshalIndent(value, "", "  ") // maps and structs of plain values encode
	return isowriter.BytesOf(append(text, '\n'))
}

// kargsMarker ends the room for kernel arguments in a boot menu.
const kargsMarker = "# COREOS_KARG_EMBED_AREA"

func room() string { return strings.Repeat("#", kargsRoom) + " COREOS_KARG_EMBED_AREA\n" }

func grubMenu(kargs string, initrds []string) []byte {
	return []byte("set default=\"0\"\nset timeout=5\n\nmenuentry 'RHEL CoreOS (Live)' --class fedora --class gnu-linux {\n" +
		"\tlinux /" + kernelPath + " " + kargs + "\n" + room() +
		"\tinitrd " + strings.Join(initrds, " ") + "\n}\n")
}

func isolinuxMenu(kargs string, initrds []string) []byte {
	return []byte("serial 0\ndefault vesamenu.c32\ntimeout 50\n\nlabel linux\n  menu label ^RHEL CoreOS (Live)\n" +
		"  kernel /" + kernelPath + "\n" +
		"  append initrd=" + strings.Join(initrds, ",") + " " + kargs + "\n" + room())
}

// bootSector is a loader's first bytes: it halts, since nothing is to be run.
func bootSector() []byte {
	code := make([]byte, isowriter.SectorSize)
	copy(code, "\xfa\xf4\xeb\xfd") // cli; hlt; jmp to hlt
	code[510], code[511] = 0x55, 0xaa
	return code
}

// emptyFAT is a FAT12 file system of 64 KiB with nothing in it but its label.
func emptyFAT(label string) []byte {
	disk := make([]byte, 64<<10)
	copy(disk, "\xeb\x3c\x90OAICTL  ")
	le := binary.LittleEndian
	le.PutUint16(disk[11:], 512)                           // bytes a sector
	disk[13] = 1                                           // sectors a cluster
	le.PutUint16(disk[14:], 1)                             // reserved
	disk[16] = 2                                           // tables
	le.PutUint16(disk[17:], 16)                            // root entries
	le.PutUint16(disk[19:], 128)                           // sectors
	disk[21] = 0xf8                                        // fixed disk
	le.PutUint16(disk[22:], 1)                             // sectors a table
	le.PutUint16(disk[24:], 32)                            // sectors a track
	le.PutUint16(disk[26:], 2)                             // heads
	disk[36], disk[38] = 0x80, 0x29                        // drive, extended fields follow
	copy(disk[43:62], fmt.Sprintf("%-11sFAT12   ", label)) // label and type
	disk[510], disk[511] = 0x55, 0xaa
	for table := 1; table <= 2; table++ {
		copy(disk[table*512:], "\xf8\xff\xff")
	}
	copy(disk[3*512:], fmt.Sprintf("%-11s\x08", label))
	return disk
}

// kernelFor is something with a kernel's signature for its architecture.
func kernelFor(os versions.OSImage) *isowriter.Sparse {
	image := isowriter.Zeros(64 << 10)
	name := os.Version + " (simulated) " + os.CPUArchitecture
	switch os.CPUArchitecture {
	case versions.X86:
		image.Put(0, []byte("MZ"))
		image.Put(510, []byte("\x55\xaa"))
		image.Put(514, []byte("HdrS\x0f\x02"))
		image.Put(526, []byte{0x00, 0x04}) // where the name stands, from 0x200
		image.Put(0x600, []byte(name+"\x00"))
	case versions.ARM:
		plain := make([]byte, 64<<10)
		copy(plain, "MZ")
		copy(plain[56:], "ARM\x64")
		copy(plain[0x600:], name)
		return isowriter.BytesOf(isowriter.Gzip(plain))
	default:
		image.Put(0, []byte("\x7fELF"))
		image.Put(0x600, []byte(name+"\x00"))
	}
	return image
}

// rootfsFor is the archive that the live system mounts: the file system's content starts at byte 124.
func rootfsFor(os versions.OSImage) *isowriter.Sparse {
	squash := isowriter.Zeros(rootfsSize)
	squash.Put(0, []byte("hsqs"))
	return isowriter.Archive(member("root.squashfs", squash), member("etc/coreos-live-rootfs", isowriter.BytesOf([]byte(os.Version+"\n"))))
}

// initrdFor is the first initrd, which knows the hashes of its root file system in chunks of 2 MiB.
func initrdFor(os versions.OSImage, rootfs *isowriter.Sparse) *isowriter.Sparse {
	const chunk = 2 << 20
	var want strings.Builder
	fmt.Fprintf(&want, "stream-hash sha256 %d\n", chunk)
	for all := rootfs.Bytes(); len(all) > 0; all = all[min(chunk, len(all)):] {
		fmt.Fprintf(&want, "%x\n", sha256.Sum256(all[:min(chunk, len(all))]))
	}
	archive := isowriter.Archive(
		member("etc/coreos-live-initramfs", isowriter.BytesOf([]byte(os.Version+"\n"))),
		member("etc/coreos-live-want-rootfs", isowriter.BytesOf([]byte(want.String()))),
	)
	initrd := isowriter.BytesOf(isowriter.Gzip(archive.Bytes()))
	initrd.Pad(4)
	return initrd
}

func member(name string, data *isowriter.Sparse) isowriter.Member {
	return isowriter.Member{Name: name, Mode: isowriter.ModeFile | 0o644, Data: data}
}
