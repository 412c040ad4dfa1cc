package hostfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/oaictl/oaictl/internal/host/guard"
)

// Scratch is a new folder for temporary files. An installed system may have one, too: nothing outside of it is written.
type Scratch struct {
	path string
	root *os.Root
}

// NewScratch makes a folder that only this user can read, below the machine's folder for temporary files, which is
// os.TempDir(). In a test the parent is t.TempDir().
func NewScratch(parent, prefix string) (*Scratch, error) {
	if err := temporary(parent); err != nil {
		return nil, fmt.Errorf("make a temporary folder in %q: %w", parent, err)
	}
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &Scratch{path: path, root: root}, nil
}

// temporary returns an error if a path is not the folder for temporary files.
func temporary(path string) error {
	if guard.Testing() {
		return guard.TempFile(filepath.Join(path, "scratch"))
	}
	if filepath.Clean(path) != filepath.Clean(os.TempDir()) {
		return fmt.Errorf("the folder for temporary files is %q", os.TempDir())
	}
	return nil
}

// Path is where a file of the folder is found, for a program that reads or writes it.
func (s *Scratch) Path(name string) string { return filepath.Join(s.path, name) }

// Write writes a file that only this user can read.
func (s *Scratch) Write(name string, content []byte) error {
	file, err := s.Create(name)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// Create opens a new file, or empties the one that is there. Only this user can read it.
func (s *Scratch) Create(name string) (io.WriteCloser, error) {
	return s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

// FS has the files of the folder. Links that lead out of it are not followed.
func (s *Scratch) FS() fs.FS { return s.root.FS() }

// Remove removes the folder and all that is in it.
func (s *Scratch) Remove() error { return errors.Join(s.root.Close(), os.RemoveAll(s.path)) }
