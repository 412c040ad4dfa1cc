package overlay

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// clone makes an empty file share all blocks of another.
func clone(out, base *os.File) error {
	return withDescriptor(base, func(fd int) error {
		return unix.IoctlFileClone(int(out.Fd()), fd)
	})
}

func punch(out *os.File, off, n int64) error {
	return unix.Fallocate(int(out.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

func kernelCopy(out *os.File, off int64, base *os.File, baseOff, n int64) (int64, error) {
	var copied int
	err := withDescriptor(base, func(fd int) (err error) {
		copied, err = unix.CopyFileRange(fd, &baseOff, int(out.Fd()), &off, int(n), 0)
		return err
	})
	return int64(max(copied, 0)), err
}

// withDescriptor lends a file's descriptor, which stays open meanwhile even
// where the file's owner closes it.
func withDescriptor(file *os.File, use func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	controlErr := raw.Control(func(fd uintptr) { err = use(int(fd)) })
	if controlErr != nil {
		return controlErr
	}
	return err
}

// nextData finds the data at or behind off: where it starts and where it ends.
// It moves the file's position. Where there is none it is an io.EOF.
func nextData(file *os.File, off int64) (from, to int64, err error) {
	from, err = file.Seek(off, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return 0, 0, io.EOF
	}
	if err == nil {
		to, err = file.Seek(from, unix.SEEK_HOLE)
	}
	return from, to, err
}

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

// reopenDescriptor opens what file has open through the kernel's own link to
// it, which names the file itself and not the path that it once had.
func reopenDescriptor(file *os.File) (again *os.File, err error) {
	err = withDescriptor(file, func(fd int) (err error) {
		again, err = os.Open("/proc/self/fd/" + strconv.Itoa(fd))
		return err
	})
	return again, err
}
