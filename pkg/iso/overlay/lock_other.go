//go:build !unix

package overlay

import (
	"errors"
	"io/fs"
	"os"
)

// lock is nothing here: Windows removes no file that is open.
func lock(*os.File) error { return nil }

// removeAbandoned removes a file of a private name, unless it is open.
func removeAbandoned(private string) error {
	err := os.Remove(private)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return ErrBusy
}

// syncDir is nothing here: a folder cannot be synced by itself.
func syncDir(string) error { return nil }

// closeToRename closes the file: Windows renames none that is open.
func (s *staged) closeToRename() error { return s.Close() }
