// Package embed packs and unpacks what stands in an Ignition embed area: cpio
// archives, compressed or not, behind each other, with zeros between and after
// them, as the Linux kernel takes them for an initial root file system. It knows
// bytes, not where in an image they stand.
package embed

import "github.com/oaictl/oaictl/pkg/iso/internal/cpio"

// The compressions that the kernel of a live system unpacks and this package
// reads. Only None, Gzip and XZ are ever written: a kernel before RHEL 9 does not
// know the others.
const (
	None = "none"
	Gzip = "gzip"
	XZ   = "xz"
	Zstd = "zstd"
)

// Member is one file of the initial root file system.
type Member struct {
	// Name is a clean path relative to the root, such as "config.ign".
	Name string
	// Mode holds the permissions. Of anything but a regular file it holds the kind
	// too, as stat(2) has it; a directory has no Data, a symbolic link's Data is its
	// target.
	Mode uint32
	Data []byte
}

// kind is the bits of Mode that say what the member is; none means a regular file.
func (m Member) kind() uint32 {
	if k := m.Mode & cpio.TypeMask; k != 0 {
		return k
	}
	return cpio.TypeRegular
}
