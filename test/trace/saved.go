package trace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Saved are the names of the credentials that runs have left in a folder. One that is
// empty, or that others may read, is an error.
func Saved(dir string) ([]string, error) {
	matches, err := filepath.Glob(filepath.Join(dir, "*", "auth", "*"))
	if err != nil {
		return nil, err
	}
	var names []string
	var wrong []error
	for _, path := range matches {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case info.Mode().Perm() != 0o600 || info.Size() == 0:
			wrong = append(wrong, fmt.Errorf("%s: %s, %d bytes", path, info.Mode(), info.Size()))
		}
		names = append(names, filepath.Base(path))
	}
	return names, errors.Join(wrong...)
}
