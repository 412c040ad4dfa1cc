package extent

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openUnnamed opens a file that is in no folder, on dir's filesystem. It
// vanishes with the process unless linkUnnamed names it.
func openUnnamed(dir string, mode fs.FileMode) (*os.File, error) {
	if _, err := os.Lstat("/proc/self/fd"); err != nil {
		return nil, err // linkUnnamed has no way without
	}
	return os.OpenFile(dir, unix.O_TMPFILE|unix.O_RDWR, mode)
}

// linkUnnamed gives a file of openUnnamed a name that is free.
func linkUnnamed(file *os.File, name string) error {
	own := "/proc/self/fd/" + strconv.Itoa(int(file.Fd()))
	err := unix.Linkat(unix.AT_FDCWD, own, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return fs.ErrExist
	}
	return &os.LinkError{Op: "linkat", Old: own, New: name, Err: err}
}

// renameNew renames a file to a name that is free.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	case err != nil:
		return linkNew(from, to)
	}
	return nil
}
