// Package cpio reads and writes archives of the "new ASCII" form (newc), the
// form that the Linux kernel unpacks into its initial root file system. The
// fields and the padding are those of the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst.
//
// What is written depends on nothing but what is given: no times, no owners,
// no inode numbers of a real file system.
package cpio

// The sizes of the form: a header is six characters of magic and thirteen
// fields of eight hexadecimal digits; the name and the content after it are each
// padded to a multiple of four, counted from the start of the archive.
const (
	magicPlain = "070701"
	magicSum   = "070702" // with a checksum, which the kernel ignores
	headerSize = 110
	alignment  = 4
	trailer    = "TRAILER!!!"
)

// MostName is the length of the longest name that the kernel takes, without its
// closing zero: PATH_MAX counts that zero.
const MostName = 4095

// The kinds of members, which are bits of a mode, as stat(2) has them.
const (
	TypeMask      = 0o170000
	TypeDirectory = 0o040000
	TypeRegular   = 0o100000
	TypeSymlink   = 0o120000
)

// Header says what one member is.
type Header struct {
	// Name is the path below the root, as it stands in the archive.
	Name string
	// Mode holds kind and permissions, as stat(2) has them.
	Mode uint32
	UID  uint32
	GID  uint32
	// Size is the length of the content in bytes; of a symbolic link, that of its
	// target.
	Size int64
	// Links counts the names of the same file. Where it is above 1, the file's
	// content may stand with the last member of the same Inode, Device and Archive.
	Links  uint32
	Inode  uint32
	Device [2]uint32
	// Archive counts the archives that were read before this member's.
	Archive int
}

// Kind is the bits of the mode that say what the member is: TypeRegular and so on.
func (h Header) Kind() uint32 { return h.Mode & TypeMask }

// pad is the number of zeros that carry n on to the next multiple of four.
func pad(n int64) int64 { return (alignment - n%alignment) % alignment }
