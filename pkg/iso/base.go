// Package iso takes a CoreOS live image and gives every machine its own: its Ignition config, its network files, its
// kernel arguments; as an ISO, as a minimal ISO, or as files to boot from the network. It also reports what is inside
// of an image that any tool made.
//
// A [Base] is an image that was read once. What is made of it is an [overlay.Image]: the few bytes
// that differ, in memory, and extents of the base for all the rest. Nothing is rebuilt or copied, so
// the base boots in every way that it did before, and making one image takes milliseconds.
//
//	base, err := iso.Open("rhcos-live.iso")
//	image, result, err := base.Customize(iso.Customization{Ignition: config})
//	method, err := image.WriteFile(ctx, "node-0.iso", overlay.WriteOptions{})
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
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode"

	"github.com/oaictl/oaictl/pkg/iso/ignition"
	"github.com/oaictl/oaictl/pkg/iso/internal/embedarea"
	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
	"github.com/oaictl/oaictl/pkg/iso/internal/kargs"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// IsNotLive reports whether an error is of what is no live image at all, and not of a damaged one.
func IsNotLive(err error) bool {
	return errors.Is(err, iso9660.ErrNotISO) || errors.Is(err, ErrNoArea)
}

// CheckStart says what is wrong with the first bytes of an image, at least the 34 KiB up to the end of its first volume
// descriptor, if they are not those of an ISO.
func CheckStart(start []byte) error { return iso9660.CheckStart(start) }

// maxDescription bounds the JSON files that describe an image. Real ones have less than one KiB.
const maxDescription = 64 << 10

// Base is a live image that was read, and that customised images are made of. It is never written
// to. All its methods are safe for concurrent use.
type Base struct {
	name     string // in errors: the path, or the name that OpenReader got
	identity string
	image    *overlay.Image
	volume   *iso9660.Volume
	area     area        // of the Ignition config
	kargs    *kargs.Area // nil where the image has no areas for kernel arguments
	info     Info
	close    func() error
	packer   embedarea.Packer
	checker  ignition.Checker

	contents func() (contents, error)       // what the Ignition area holds, read once
	kernel   func() (*overlay.Image, error) // as a network boot needs it, unpacked once
	minimal  minimal
}

// Info says what an image is.
type Info struct {
	VolumeID string // the label, by which the live system finds its own medium
	Size     int64  // bytes
	Arch     string // x86_64, aarch64, ppc64le, s390x; empty where nothing shows it
	OS       string // fedora-coreos, rhcos, scos, …: the label up to its version
	Version  string // the rest of the label
	Boot     Boot
	// Features is coreos/features.json: what the live system can do. It is nil before 2022.
	Features map[string]any
	// AreaBytes is how much room the Ignition area has, in bytes.
	AreaBytes int64
	// Growable reports whether that room can be made larger: on all but s390x.
	Growable bool
	// KargsLimit is how long the kernel arguments may become, in bytes; 0 where they cannot be changed.
	KargsLimit int
	// Minimal reports whether the image carries the recipe of its minimal ISO.
	Minimal bool
}

// Boot says in which ways a machine can boot from an image.
type Boot struct {
	BIOSCD   bool `json:"biosCd"`
	BIOSDisk bool `json:"biosDisk"` // as from a USB stick: needs boot code in the MBR
	UEFICD   bool `json:"uefiCd"`
	UEFIDisk bool `json:"uefiDisk"`
}

// Open reads the live image at path. The file is held open until Close.
func Open(path string) (*Base, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the image: %w", err)
	}
	base, err := openFile(path, file)
	if err != nil {
		_ = file.Close() // what was wrong with the image is worth more
		return nil, err
	}
	return base, nil
}

func openFile(path string, file *os.File) (*Base, error) {
	about, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening the image: %w", err)
	}
	size, err := SizeOf(file)
	if err != nil {
		return nil, err
	}
	base, err := read(path, overlay.New(file, size))
	if err != nil {
		return nil, err
	}
	base.identity = identityOf(path, about)
	base.close = file.Close
	return base, nil
}

// SizeOf is the size of what an image may lie on: a file, or a disk that it was written to.
func SizeOf(file *os.File) (int64, error) {
	about, err := file.Stat()
	if err != nil {
		return 0, err
	}
	size, err := sizeOf(file, about.Mode(), about.Size())
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return size, nil
}

// sizeOf looks for the end of a disk, which says no size of itself.
func sizeOf(file io.Seeker, mode fs.FileMode, size int64) (int64, error) {
	switch {
	case mode.IsRegular():
		return size, nil
	case mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		return file.Seek(0, io.SeekEnd)
	}
	return 0, fmt.Errorf("%w: it is neither a file nor a disk", iso9660.ErrNotISO)
}

// OpenReader reads a live image of size bytes from r, which is needed for as long as what is made of
// the base is used. name is what errors call it.
func OpenReader(name string, r io.ReaderAt, size int64) (*Base, error) {
	return read(name, overlay.New(r, size))
}

// identityOf identifies a file without reading it.
func identityOf(path string, about fs.FileInfo) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return fmt.Sprintf("%s %d %d", path, about.Size(), about.ModTime().UnixNano())
}

// read takes in the structures of an image: some hundred KiB, however large it is.
func read(name string, image *overlay.Image) (*Base, error) {
	volume, err := iso9660.Read(image, image.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b := &Base{
		name: name, identity: fmt.Sprintf("%s %d", name, image.Size()), image: image, volume: volume,
		close: func() error { return nil },
	}
	for _, step := range []func() error{b.readInfo, b.readArea, b.readKargs, b.checkPosition} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	b.contents = sync.OnceValues(b.readContents)
	b.kernel = sync.OnceValues(b.bootKernel)
	return b, nil
}

// named puts the base's name before an error.
func (b *Base) named(err *error) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", b.name, *err)
	}
}

// Close gives the file back. Images made of the base can not be read any more.
func (b *Base) Close() error { return b.close() }

// Name is how errors call the base: its path, as Open was given it.
func (b *Base) Name() string { return b.name }

// Info says what the image is.
func (b *Base) Info() Info { return b.info }

// Identity names the content of the base, for [overlay.Image.Tag].
func (b *Base) Identity() string { return b.identity }

// Image is the base itself, unchanged. It must not be changed; Clone makes a copy that may be.
func (b *Base) Image() *overlay.Image { return b.image }

// readKargs finds the areas of the kernel arguments. An image may well have none.
func (b *Base) readKargs() error {
	description, err := b.optional(kargsPath)
	if err != nil {
		return err
	}
	found, err := kargs.Read(b.image, func(path string) (off, size int64, err error) {
		f, err := b.volume.Find(path)
		return f.Offset, f.Size, err
	}, description)
	if errors.Is(err, kargs.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	b.kargs, b.info.KargsLimit = found, found.Limit
	return nil
}

// optional reads a small file that not every generation of images has; nil where there is none.
func (b *Base) optional(path string) ([]byte, error) {
	data, err := b.volume.ReadFile(path, maxDescription)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// HasRootfs says whether the image itself carries the root file system of its live system. A minimal ISO does not.
func (b *Base) HasRootfs() bool { return b.has(rootfsPath) }

func (b *Base) has(path string) bool {
	_, err := b.volume.Find(path)
	return err == nil
}

const (
	x86     = "x86_64"
	arm     = "aarch64"
	power   = "ppc64le"
	zseries = "s390x"
)

func (b *Base) readInfo() error {
	b.info = Info{VolumeID: b.volume.ID, Size: b.image.Size(), Boot: Boot(b.volume.Boot), Minimal: b.has(minisoPath)}
	b.info.OS, b.info.Version = splitLabel(b.volume.ID)
	var err error
	if b.info.Arch, err = b.architecture(); err != nil {
		return err
	}
	features, err := b.optional(featuresPath)
	if err != nil || features == nil {
		return err
	}
	if err := json.Unmarshal(features, &b.info.Features); err != nil {
		return fmt.Errorf("%s: %w", featuresPath, err)
	}
	return nil
}

// gzipMagic is what a gzip stream begins with.
var gzipMagic = []byte{0x1f, 0x8b}

// splitLabel divides "fedora-coreos-42.20250803.3.0" at the first dash before a digit. A label has at
// most 32 bytes, so that the version may lack its end.
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

// head returns the first bytes of a kernel, unpacked where it is a gzip stream. A short kernel is an
// unknown one.
func (b *Base) head(f iso9660.File) []byte {
	content := b.slice(f)
	head := make([]byte, 4096)
	n, _ := io.ReadFull(content.Reader(), head)
	if bytes.HasPrefix(head, gzipMagic) {
		zipped, err := gzip.NewReader(content.Reader())
		if err != nil {
			return nil
		}
		n, _ = io.ReadFull(zipped, head)
	}
	return head[:n]
}

// kernelArch recognises the architecture by the magic of the boot protocols: x86's setup header, arm64's Image header,
// ELF, and the machine field of the PE header that EFI stubs have.
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
