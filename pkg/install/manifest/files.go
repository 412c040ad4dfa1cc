package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file of a format that consists of several.
type File struct {
	// Path is relative to the folder, with slashes.
	Path string
	// Content of the file.
	Content []byte
	// Secret says that the file is for its owner's eyes only.
	Secret bool
}

// WriteOptions say how a format is written.
type WriteOptions struct {
	// Secrets says that secrets are written; otherwise each is listed as a Loss.
	Secrets bool
}

// WriteFiles writes files below dir, which is made if need be. Each file is
// there whole or not at all; one with secrets can be read by its owner alone. A
// dir that holds anything is refused, for a file that was left there would be
// taken for a part of the whole. Where one cannot be written, none of them is left.
func WriteFiles(dir string, files []File) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look into the folder %s: %w", dir, err)
	case len(entries) > 0:
		return fmt.Errorf("the folder %s is not empty: name another one, or empty it", dir)
	}
	for i, file := range files {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(file.Path)), file); err != nil {
			for _, written := range files[:i] { // a part would be taken for the whole
				_ = os.Remove(filepath.Join(dir, filepath.FromSlash(written.Path)))
			}
			return fmt.Errorf("write %s: %w", filepath.Join(dir, file.Path), err)
		}
	}
	return nil
}

// writeFile writes a temporary file beside the path, and renames it when it is
// whole.
func writeFile(path string, file File) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(file.Content)
	if err == nil && !file.Secret { // made with 0600
		err = temporary.Chmod(0o644)
	}
	if err == nil {
		err = temporary.Sync()
	}
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
