package convert

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

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

// Env is base with the files of c as if they stood beside the document, which is
// called name. With it spec.Parse takes the document before anything is written.
func (c *Converted) Env(name string, base spec.Env) spec.Env {
	overlay := base
	dir := filepath.Dir(name)
	overlay.ReadFile = func(file string) ([]byte, error) {
		if data, ok := c.Files[source.Relative(dir, file)]; ok {
			return data, nil
		}
		if base.ReadFile == nil {
			return nil, &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist}
		}
		return base.ReadFile(file)
	}
	overlay.ReadDir = func(folder string) ([]fs.DirEntry, error) {
		if entries := listed(c.Files, source.Relative(dir, folder)); len(entries) > 0 {
			return entries, nil
		}
		if base.ReadDir == nil {
			return nil, &fs.PathError{Op: "open", Path: folder, Err: fs.ErrNotExist}
		}
		return base.ReadDir(folder)
	}
	return overlay
}

func listed(files map[string][]byte, folder string) []fs.DirEntry {
	var entries []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Dir(name) == folder {
			entries = append(entries, listedFile{path.Base(name)})
		}
	}
	return entries
}

type listedFile struct{ name string }

func (f listedFile) Name() string { return f.name }

func (f listedFile) IsDir() bool { return false }

func (f listedFile) Type() fs.FileMode { return 0 }

func (f listedFile) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }
