//go:build !linux

package extent

import (
	"errors"
	"io/fs"
	"os"
)

// openUnnamed is what only Linux can do; elsewhere files have private names.
func openUnnamed(string, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

func linkUnnamed(*os.File, string) error { return errors.ErrUnsupported }

// renameNew renames a file to a name that is free.
func renameNew(from, to string) error { return linkNew(from, to) }
