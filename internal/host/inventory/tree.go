//go:build linux

package inventory

import (
	"fmt"
	"io"
	"io/fs"
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

// resolve follows the links of a path as a process does whose root is the tree's folder. The result starts with "/", and is
// without the tree's folder. filepath.EvalSymlinks would leave the folder: it takes /proc/1/root for a link to "/".
func (t tree) resolve(path string) (string, error) {
	const mostLinks = 40 // as the kernel
	rest := strings.Split(path, "/")
	done := "/"
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		next := filepath.Join(done, name) // ".." at the top stays there
		if next == "/" {
			done = next // the tree's folder may be such a link itself
			continue
		}
		info, err := os.Lstat(t.at(next))
		switch {
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			done = next
			continue
		}
		target, err := os.Readlink(t.at(next))
		if err != nil {
			return "", err
		}
		if links++; links > mostLinks {
			return "", fmt.Errorf("%q has more than %d links", path, mostLinks)
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return done, nil
}

// MachineRoot is the Root of a Collector in a container that shares the process ids of the machine: the root folder of the
// machine's first process. It is "" outside of a container.
func MachineRoot() string {
	const first = "/proc/1/root"
	machine, err := os.Stat(first + "/")
	if err != nil {
		return ""
	}
	own, err := os.Stat("/")
	if err != nil || os.SameFile(machine, own) {
		return ""
	}
	return first
}
