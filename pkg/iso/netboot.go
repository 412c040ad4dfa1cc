package iso

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/iso/internal/iso9660"
	"github.com/oaictl/oaictl/pkg/iso/internal/kargs"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

const (
	// plainKargs are the arguments of live images that do not say their own.
	plainKargs = "ignition.firstboot ignition.platform.id=metal"

	// maxKernel bounds an unpacked kernel, in bytes. Those of aarch64 have about 50 MB.
	maxKernel = 256 << 20

	// initrdAddress is where firmware of s390x loads the initrd to, as generic.ins says.
	initrdAddress = 0x02000000
)

// Netboot is what a machine boots from the network.
type Netboot struct {
	Kernel *overlay.Image
	// Initrd is the base's initrd and behind it the machine's archive.
	Initrd *overlay.Image
	// Rootfs is the same for all machines of a base; nil where the base is a minimal ISO.
	Rootfs *overlay.Image
	// Kargs are the kernel arguments in one line, without what says where the root filesystem is.
	Kargs string
	// AddrSize is s390x's initrd.addrsize: where the initrd goes and how large it is. Nil elsewhere.
	AddrSize []byte
	// Ins is s390x's generic.ins, which has firmware load kernel, initrd, generic.prm (a file with
	// Kargs) and initrd.addrsize from beside it. Empty elsewhere.
	Ins string
	// Result says how the archive was made.
	Result Result
}

// Netboot makes the files by which a machine boots from the network. NoGrow means nothing here. Except
// on s390x, a kernel argument in which iPXE would expand one of its settings is an error.
func (b *Base) Netboot(c Customization) (*Netboot, error) {
	n, err := b.netboot(c)
	if err != nil {
		return nil, fmt.Errorf("%s: files for network boot: %w", b.name, err)
	}
	return n, nil
}

func (b *Base) netboot(c Customization) (*Netboot, error) {
	n := &Netboot{}
	archive, err := b.archive(c, &n.Result)
	if err != nil {
		return nil, err
	}
	if n.Kargs, err = b.netbootKargs(c.Kargs, &n.Result); err != nil {
		return nil, err
	}
	if n.Kernel, err = b.kernel(); err != nil {
		return nil, err
	}
	if n.Initrd, err = b.file(initrdPath); err != nil {
		return nil, err
	}
	n.Initrd.Truncate(alignUp(n.Initrd.Size(), 4)) // where the kernel looks for the next archive
	n.Initrd.Overlay(n.Initrd.Size(), archive)
	if n.Rootfs, err = b.file(rootfsPath); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if b.info.Arch == zseries {
		return n, n.describeZ()
	}
	return n, checkIPXE(n.Kargs)
}

// archive packs what the machine's initrd is to have in addition to the base's.
func (b *Base) archive(c Customization, result *Result) ([]byte, error) {
	held, err := b.held(c.Existing)
	if err != nil {
		return nil, err
	}
	members, err := b.members(held, c, result)
	if err != nil {
		return nil, err
	}
	archive, compression, err := b.packer.Pack(members, 0)
	if err != nil {
		return nil, fmt.Errorf("packing the archive: %w", err)
	}
	result.Compression, result.IgnitionBytes, result.AreaBytes = compression, int64(len(archive)), int64(len(archive))
	return archive, nil
}

// netbootKargs are the medium's arguments without those that look for the medium.
func (b *Base) netbootKargs(edit KargEdit, result *Result) (string, error) {
	if b.kargs == nil {
		if len(edit.Delete) > 0 || len(edit.Replace) > 0 {
			return "", kargs.ErrNone
		}
		return strings.Join(append([]string{plainKargs}, edit.Append...), " "), nil
	}
	args, _, warned, err := b.kargs.Apply(edit)
	if err != nil {
		return "", err
	}
	result.Warnings = append(result.Warnings, warned...)
	words := slices.DeleteFunc(strings.Fields(args), func(a string) bool {
		return isLive(a) || strings.HasPrefix(a, rootfsArgument+"=")
	})
	return strings.Join(words, " "), nil
}

func (b *Base) file(path string) (*overlay.Image, error) {
	f, err := b.volume.Find(path)
	if err != nil {
		return nil, err
	}
	return b.slice(f), nil
}

// slice is a file's content. A damaged image may have an empty file lie beyond its end.
func (b *Base) slice(f iso9660.File) *overlay.Image {
	if f.Size == 0 {
		return overlay.Bytes(nil)
	}
	return b.image.Slice(f.Offset, f.Size)
}

// bootKernel returns the kernel as network boot wants it. On aarch64 the medium has it as a gzip
// stream, which only GRUB unpacks.
func (b *Base) bootKernel() (*overlay.Image, error) {
	image, err := b.file(kernelPath)
	if errors.Is(err, fs.ErrNotExist) {
		return b.file(kernelPathZ)
	}
	if err != nil || b.info.Arch != arm {
		return image, err
	}
	magic := make([]byte, len(gzipMagic))
	if n, _ := image.ReadAt(magic, 0); n < len(magic) || !bytes.Equal(magic, gzipMagic) {
		return image, nil // it is no gzip stream, of any kind
	}
	zipped, err := gzip.NewReader(image.Reader())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kernelPath, err)
	}
	zipped.Multistream(false)
	unpacked, err := io.ReadAll(io.LimitReader(zipped, maxKernel+1))
	if err != nil {
		return nil, fmt.Errorf("%s: unpacking: %w", kernelPath, err)
	}
	if len(unpacked) > maxKernel {
		return nil, fmt.Errorf("%s: unpacks to more than %d bytes", kernelPath, maxKernel)
	}
	return overlay.Bytes(unpacked), nil
}

// describeZ adds the two files by which an LPAR finds the others. Numbers are big endian, 64 bits.
func (n *Netboot) describeZ() error {
	if n.Initrd.Size() > math.MaxUint32 {
		return fmt.Errorf("the initrd of %d bytes is too large for s390x", n.Initrd.Size())
	}
	n.AddrSize = binary.BigEndian.AppendUint64(nil, initrdAddress)
	n.AddrSize = binary.BigEndian.AppendUint64(n.AddrSize, uint64(n.Initrd.Size()))
	n.Ins = fmt.Sprintf("* made by oaictl\nkernel 0x00000000\ninitrd 0x%08x\ngeneric.prm 0x00010480\ninitrd.addrsize 0x00010408\n",
		initrdAddress)
	return nil
}

// unset is an iPXE setting that is never set: iPXE puts nothing in its place, but only after it has looked for the
// words that have a meaning for it.
const unset = "${none}"

// Script is the iPXE script that boots the machine from these URLs, in which iPXE's own settings
// (${cwduri}) keep their meaning. Kernel arguments reach the kernel as they are; those that name a
// setting of iPXE were refused by Netboot.
func (n *Netboot) Script(kernelURL, initrdURL, rootfsURL string) string {
	args := []string{"initrd=initrd"}
	if rootfsURL != "" {
		args = append(args, rootfsArgument+"="+rootfsURL)
	}
	for word := range strings.FieldsSeq(n.Kargs) {
		args = append(args, ipxeWord(word))
	}
	// The name given to the initrd is what the EFI stub of the kernel finds it by.
	return "#!ipxe\n" +
		"initrd --name initrd " + initrdURL + "\n" +
		"kernel " + kernelURL + " " + strings.Join(args, " ") + "\n" +
		"boot\n"
}

// ipxeWord writes a word so that iPXE, which has no quotes, hands it on: alone, these end a command, a
// "#" begins a comment, and a backslash at the end of the line joins it to the next one. It looks at
// words before it puts in settings (core/exec.c, image/script.c).
func ipxeWord(word string) string {
	if word == "&&" || word == "||" || word == ";" || strings.HasPrefix(word, "#") {
		word = unset + word
	}
	if strings.HasSuffix(word, `\`) {
		word += unset
	}
	return word
}

// checkIPXE refuses arguments in which iPXE would put a setting of its own: it expands again what it has put in, and
// cannot be kept from it. The error has only the name: the value may be a secret.
func checkIPXE(args string) error {
	for word := range strings.FieldsSeq(args) {
		if _, rest, found := strings.Cut(word, "${"); found && strings.Contains(rest, "}") {
			name, _, _ := strings.Cut(word, "=")
			return fmt.Errorf("kernel argument %s holds ${…}, which iPXE replaces by one of its settings", name)
		}
	}
	return nil
}
