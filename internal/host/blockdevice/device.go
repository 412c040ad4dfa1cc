//go:build linux

package blockdevice

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Device is a disk that is open for reading and writing. No other program can open it exclusively meanwhile.
type Device struct {
	*os.File
	id Identity
	// sector is the size of a logical sector in bytes. The kernel writes no less with O_DIRECT.
	sector int64
}

// Open opens a disk after all checks. The kernel refuses if a mount, a swap area or a holder has the disk.
func (d Disks) Open(id Identity) (*Device, error) {
	if err := d.Check(id); err != nil {
		return nil, err
	}
	flags := unix.O_RDWR | unix.O_CLOEXEC | unix.O_NOFOLLOW
	if !id.File {
		flags |= unix.O_EXCL
	}
	fd, err := unix.Open(id.Path, flags, 0)
	if errors.Is(err, unix.EBUSY) {
		return nil, &Refused{
			Path: id.Path, Reason: "the kernel says that it is in use", Next: "look at `lsblk " + id.Path + "` and stop what uses it",
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the disk %q: %w", id.Path, err)
	}
	device := &Device{File: os.NewFile(uintptr(fd), id.Path), id: id}
	if err := device.opened(d); err != nil {
		return nil, errors.Join(err, device.Close())
	}
	if device.sector, err = d.SectorSize(id); err != nil {
		return nil, errors.Join(err, device.Close())
	}
	// udev leaves a locked disk alone until it is closed. It is no error if udev is looking at it just now.
	_ = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	return device, nil
}

// SectorSize is the size of a logical sector in bytes: 512 or 4096. It is 512 for a file.
func (d Disks) SectorSize(id Identity) (int64, error) {
	if id.File {
		return sectorSize, nil
	}
	tree, err := d.tree(id.Number)
	if err != nil {
		return 0, fmt.Errorf("inspect the disk %q: %w", id.Path, err)
	}
	size, err := tree.logicalSector()
	if err != nil {
		return 0, fmt.Errorf("inspect the disk %q: %w", id.Path, err)
	}
	return size, nil
}

// opened checks that the open file is the disk that was inspected: its name may have moved between the checks and Open.
func (d *Device) opened(disks Disks) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(d.Fd()), &stat); err != nil {
		return fmt.Errorf("inspect the disk %q: %w", d.id.Path, err)
	}
	got := number(stat.Rdev)
	if d.id.File {
		got = number(stat.Dev) + ":" + fmt.Sprint(stat.Ino)
	}
	if got != d.id.Number || (stat.Mode&unix.S_IFMT == unix.S_IFREG) != d.id.File {
		return &Refused{Path: d.id.Path, Reason: "its name meant another disk when it was opened"}
	}
	return disks.unchanged(d.id)
}

// Identity says which disk this is.
func (d *Device) Identity() Identity { return d.id }

// Mapped reports whether the disk is one of the device mapper, such as a multipath device. The kernel has no partitions of it:
// the program kpartx makes devices of them.
func (id Identity) Mapped() bool { return strings.HasPrefix(filepath.Base(id.Path), "dm-") }

// ReadPartitions makes the kernel read the partition table again. It does nothing for a file and for a mapped disk.
func (d *Device) ReadPartitions() error {
	if d.id.File || d.id.Mapped() {
		return nil
	}
	if err := unix.IoctlSetInt(int(d.Fd()), unix.BLKRRPART, 0); err != nil {
		return fmt.Errorf("read the partition table of %q again: %w", d.id.Path, err)
	}
	return nil
}

// SectorSize is the size of a logical sector in bytes: 512 or 4096. It is 512 for a file.
func (d *Device) SectorSize() int64 { return d.sector }

// Size is the size of the disk in bytes.
func (d *Device) Size() int64 { return d.id.Size }

// SetDirect turns on or off that data bypass the kernel's cache. Offsets and sizes must be multiples of SectorSize while it
// is on, and buffers must come from AlignedBuffer. It returns an error if the disk or the file system cannot do so.
func (d *Device) SetDirect(on bool) error {
	flags, err := unix.FcntlInt(d.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return fmt.Errorf("read the flags of %q: %w", d.id.Path, err)
	}
	if flags &^= unix.O_DIRECT; on {
		flags |= unix.O_DIRECT
	}
	if _, err := unix.FcntlInt(d.Fd(), unix.F_SETFL, flags); err != nil {
		return fmt.Errorf("change the flags of %q: %w", d.id.Path, err)
	}
	return nil
}

// alignment suits O_DIRECT on any disk: no logical sector is larger.
const alignment = 4096

// AlignedBuffer is memory that O_DIRECT accepts.
func AlignedBuffer(size int) []byte {
	buffer := make([]byte, size+alignment)
	skip := 0
	if over := int(uintptr(unsafe.Pointer(unsafe.SliceData(buffer))) % alignment); over != 0 {
		skip = alignment - over
	}
	return buffer[skip : skip+size : skip+size]
}

// Zero makes a range read as zeros: the disk does it by itself where it can, otherwise the kernel writes zeros. Both must be
// multiples of SectorSize. A hole is made in a file. Size must be small enough that a cancelled installation need not wait:
// the kernel does not return before all is done.
func (d *Device) Zero(offset, size int64) error {
	if size == 0 {
		return nil
	}
	if offset < 0 || size < 0 || offset > d.id.Size || size > d.id.Size-offset {
		return fmt.Errorf("zero %d bytes at %d of %q: it has %d bytes", size, offset, d.id.Path, d.id.Size)
	}
	err := d.zero(offset, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) {
		err = d.writeZeros(offset, size)
	}
	if err != nil {
		return fmt.Errorf("zero %d bytes at %d of %q: %w", size, offset, d.id.Path, err)
	}
	return nil
}

func (d *Device) zero(offset, size int64) error {
	if d.id.File {
		return unix.Fallocate(int(d.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, size)
	}
	// BLKZEROOUT promises zeros, which BLKDISCARD does not.
	limits := [2]uint64{uint64(offset), uint64(size)}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, d.Fd(), unix.BLKZEROOUT, uintptr(unsafe.Pointer(&limits)))
	if errno != 0 {
		return errno
	}
	return nil
}

func (d *Device) writeZeros(offset, size int64) error {
	const most = 1 << 20
	zeros := AlignedBuffer(int(min(size, most)))
	for size > 0 {
		n := min(size, most)
		if _, err := d.WriteAt(zeros[:n], offset); err != nil {
			return err
		}
		offset, size = offset+n, size-n
	}
	return nil
}

// edge is how much Clear zeroes at both ends: it holds partition tables, boot loaders and the marks of LVM, md and ZFS.
const edge = 1 << 20

// Clear zeroes the first and the last MiB, and waits until the disk has them. A disk without them boots nothing.
func (d *Device) Clear() error {
	size := min(edge, d.id.Size)
	direct := d.SetDirect(false)
	err := errors.Join(d.writeZeros(0, size), d.writeZeros(d.id.Size-size, size), d.Sync())
	if err = errors.Join(direct, err); err != nil {
		return fmt.Errorf("clear the first and the last MiB of %q: %w", d.id.Path, err)
	}
	return nil
}
