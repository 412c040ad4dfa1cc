//go:build !linux

package extent

import (
	"errors"
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
