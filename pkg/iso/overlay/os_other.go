//go:build !linux

package overlay

import (
	"errors"
	"io/fs"
	"os"
)

// What follows is what the kernel does for us on Linux alone. Elsewhere all
// bytes are read and written.

func clone(*os.File, *os.File) error { return errors.ErrUnsupported }

func punch(*os.File, int64, int64) error { return errors.ErrUnsupported }

func kernelCopy(*os.File, int64, *os.File, int64, int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

func nextData(*os.File, int64) (from, to int64, err error) { return 0, 0, errors.ErrUnsupported }

// openUnnamed is what only Linux can do; elsewhere files have private names.
func openUnnamed(string, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

func linkUnnamed(*os.File, string) error { return errors.ErrUnsupported }

func renameNew(from, to string) error { return linkNew(from, to) }

// reopenDescriptor is what only Linux can do; elsewhere a file is opened again
// by its name.
func reopenDescriptor(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }
