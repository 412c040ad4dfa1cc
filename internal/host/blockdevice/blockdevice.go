//go:build linux

// Package blockdevice opens disks for writing. No other package does. It refuses a disk that is in use, one that
// changed after it was inspected, and every disk of a machine that does not run from an installation medium.
package blockdevice

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/guard"
)

// Identity says which disk a path named when the disk was inspected.
type Identity struct {
	Path   string // an absolute path without links, such as /dev/sda
	Number string // the device number "major:minor"; for a file "file system:inode"
	Size   int64  // in bytes
	Serial string // "" if the disk has none
	WWN    string // "" if the disk has none
	File   bool   // a regular file that holds the image of a disk
	// Sequence is the kernel's number of the disk. No other disk has it until the machine boots again, also not one of the
	// same size in the same slot. "" for a file, and if the kernel has none.
	Sequence string
}

// Refused says why a disk may not be written to.
type Refused struct {
	Path, Reason, Next string
}

func (r *Refused) Error() string {
	text := fmt.Sprintf("refuse to write to %q: %s", r.Path, r.Reason)
	if r.Next != "" {
		text += "; " + r.Next
	}
	return text
}

// Disks are the disks of a machine. The zero value has those of the machine that this process runs on.
type Disks struct {
	// Root is the folder that has proc and sys. It is "" except in tests.
	Root string
}

func (d Disks) at(path string) string { return filepath.Join("/", d.Root, path) }

// Inspect follows the links of path, and reads which disk that is. It opens nothing for writing.
func (d Disks) Inspect(path string) (Identity, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Identity{}, fmt.Errorf("find the disk %q: %w", path, err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return Identity{}, err
	}
	var stat unix.Stat_t
	if err := unix.Stat(real, &stat); err != nil {
		return Identity{}, fmt.Errorf("find the disk %q: %w", path, err)
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return Identity{Path: real, Number: number(stat.Dev) + ":" + fmt.Sprint(stat.Ino), Size: stat.Size, File: true}, nil
	case unix.S_IFBLK:
		return d.block(real, number(stat.Rdev))
	}
	return Identity{}, &Refused{Path: real, Reason: "it is not a disk"}
}

func number(dev uint64) string { return fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev)) }

// block reads what the kernel knows of a block device.
func (d Disks) block(path, number string) (Identity, error) {
	tree, err := d.tree(number)
	if err != nil {
		return Identity{}, fmt.Errorf("inspect the disk %q: %w", path, err)
	}
	if tree.has("partition") {
		disk := filepath.Base(filepath.Dir(tree.folder))
		return Identity{}, &Refused{Path: path, Reason: "it is a partition, not a whole disk", Next: "name the disk " + disk}
	}
	size, err := tree.size()
	if err != nil {
		return Identity{}, fmt.Errorf("inspect the disk %q: %w", path, err)
	}
	return Identity{
		Path: path, Number: number, Size: size,
		Serial: tree.first("serial", "device/serial"),
		WWN:    tree.first("wwid", "device/wwid"), Sequence: tree.first("diskseq"),
	}, nil
}

// Check returns an error if the disk may not be written to. It opens nothing for writing.
func (d Disks) Check(id Identity) error {
	if err := allowed(id, d); err != nil {
		return err
	}
	return d.unchanged(id)
}

// unchanged returns an error if path names another disk now, or if the disk is in use.
func (d Disks) unchanged(id Identity) error {
	now, err := d.Inspect(id.Path)
	if err != nil {
		return err
	}
	if now != id {
		return &Refused{Path: id.Path, Reason: "it is another disk than the one that was inspected: " + difference(id, now)}
	}
	if id.File {
		return d.notMedium(id, nil)
	}
	if err := d.writable(id); err != nil {
		return err
	}
	users, err := d.Users(id)
	if err != nil {
		return fmt.Errorf("find out who uses the disk %q: %w", id.Path, err)
	}
	if err := d.notMedium(id, users); err != nil {
		return err
	}
	if len(users) > 0 {
		return &Refused{Path: id.Path, Reason: "it is in use: " + strings.Join(users, "; "), Next: "unmount it, or choose another disk"}
	}
	return nil
}

// writable returns an error if the kernel knows that the disk takes no data: it is read-only, or its drive is empty.
func (d Disks) writable(id Identity) error {
	tree, err := d.tree(id.Number)
	if err != nil {
		return fmt.Errorf("inspect the disk %q: %w", id.Path, err)
	}
	switch {
	case id.Size == 0:
		return &Refused{Path: id.Path, Reason: "its size is zero: the drive may have no medium", Next: "choose another disk"}
	case tree.first("ro") == "1":
		return &Refused{
			Path: id.Path, Reason: "the kernel says that it is read-only", Next: "remove its write protection, or choose another disk",
		}
	}
	return nil
}

func difference(was, is Identity) string {
	for _, field := range []struct{ name, was, is string }{
		{"path", was.Path, is.Path},
		{"device number", was.Number, is.Number},
		{"size", fmt.Sprint(was.Size), fmt.Sprint(is.Size)},
		{"serial number", was.Serial, is.Serial},
		{"WWN", was.WWN, is.WWN},
		{"sequence number", was.Sequence, is.Sequence},
	} {
		if field.was != field.is {
			return fmt.Sprintf("its %s was %q, and is %q", field.name, field.was, field.is)
		}
	}
	return "it was a file, or is one now"
}

// allowed returns an error if this process may not write to a disk at all.
func allowed(id Identity, d Disks) error {
	err := guard.Live()
	if errors.Is(err, guard.ErrTest) {
		return allowedInTest(id, d)
	}
	if err != nil {
		return &Refused{Path: id.Path, Reason: err.Error()}
	}
	if id.File && !guard.Rack() {
		// A path comes from outside: it could name any file of the live system.
		return &Refused{Path: id.Path, Reason: "it is a file, not a disk", Next: "name a disk such as /dev/sda"}
	}
	return nil
}

// allowedInTest lets a test write to the files of its t.TempDir(), and to loop devices on such files.
func allowedInTest(id Identity, d Disks) error {
	file := id.Path
	if !id.File {
		tree, err := d.tree(id.Number)
		if err != nil {
			return err
		}
		if file = tree.first("loop/backing_file"); file == "" {
			return &Refused{Path: id.Path, Reason: guard.ErrTest.Error()}
		}
	}
	if err := guard.TempFile(file); err != nil {
		return &Refused{Path: id.Path, Reason: err.Error()}
	}
	return nil
}
