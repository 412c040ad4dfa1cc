//go:build linux

package inventory

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// tree reads small files below a folder. All paths are relative to the folder.
type tree struct{ root string }

// fileLimit is how many bytes of a file are read. The largest are the table of DMI structures and the mounts of a machine
// with thousands of containers.
const fileLimit = 8 << 20

func (t tree) at(path string) string { return filepath.Join("/", t.root, path) }

// text is the content of a file.
func (t tree) text(path string) (string, error) {
	file, err := os.Open(t.at(path))
	if err != nil {
		return "", err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, fileLimit))
	return string(content), err
}

// word is the content of a file without white space around it, "" if it cannot be read.
func (t tree) word(path string) string {
	content, err := t.text(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(content)
}

func (t tree) exists(path string) bool {
	_, err := os.Stat(t.at(path))
	return err == nil
}

// names are the names in a folder, sorted. There are none if it cannot be read.
func (t tree) names(folder string) []string {
	entries, err := os.ReadDir(t.at(folder))
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// resolve follows the links of a path. The result starts with "/", and is without the tree's folder.
func (t tree) resolve(path string) (string, error) {
	root, err := filepath.EvalSymlinks(t.at("/"))
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(t.at(path))
	if err != nil {
		return "", err
	}
	if root == "/" {
		return real, nil
	}
	rest, within := strings.CutPrefix(real, root)
	if !within {
		return "", fmt.Errorf("%q leads to %q, which is outside of %q", path, real, root)
	}
	if rest == "" {
		return "", errors.New("the path is the tree's folder")
	}
	return rest, nil
}
