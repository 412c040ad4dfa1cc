//go:build !linux

package extent

import (
	"errors"
	"os"
)

// reopenDescriptor is what only Linux can do; elsewhere a file is opened again
// by its name.
func reopenDescriptor(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }
