//go:build unix

package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/oaictl/oaictl/internal/shared/filelock"
)

// lock makes the file this process's own for as long as it is open. On a
// filesystem without locks it does nothing, and removeAbandoned removes nothing.
func lock(file *os.File) error {
	if mine, err := filelock.Try(file, true); err == nil && !mine {
		return ErrBusy
	}
	return nil
}

// removeAbandoned removes a file of a private name that no living process
// holds. One that is held is an ErrBusy.
func removeAbandoned(private string) error {
	file, err := os.OpenFile(private, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at what an earlier run left: %w", err)
	}
	defer file.Close()
	locked, err := filelock.Try(file, true)
	if err != nil {
		return fmt.Errorf("%s is in the way, and the filesystem cannot say whether it is in use: %w", private, err)
	}
	if !locked {
		return ErrBusy
	}
	// Between opening and locking, another process may have done the same and
	// gone on to a new file of this name.
	mine, err := file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(private)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !os.SameFile(mine, named) {
		return ErrBusy
	}
	return os.Remove(private)
}

// syncDir waits until the names in a folder are on the disk.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// closeToRename is nothing here: a file may be renamed while it is open, and
// its lock must outlast its private name.
func (s *staged) closeToRename() error { return nil }
