//go:build linux

package blockdevice

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// sectorSize is the unit of sizes in sysfs, for disks of any sector size.
const sectorSize = 512

// tree is the folder of a block device in sysfs.
type tree struct{ folder string }

// tree finds the folder of a device number.
func (d Disks) tree(number string) (tree, error) {
	folder, err := filepath.EvalSymlinks(d.at("sys/dev/block/" + number))
	if err != nil {
		return tree{}, fmt.Errorf("the kernel does not describe the block device %s: %w", number, err)
	}
	return tree{folder}, nil
}

func (t tree) has(name string) bool {
	_, err := os.Lstat(filepath.Join(t.folder, name))
	return err == nil
}

// first is the content of the first file that exists and is not empty.
func (t tree) first(names ...string) string {
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(t.folder, name))
		if text := strings.TrimSpace(string(content)); err == nil && text != "" {
			return text
		}
	}
	return ""
}

func (t tree) size() (int64, error) {
	sectors, err := strconv.ParseInt(t.first("size"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("its size: %w", err)
	}
	return sectors * sectorSize, nil
}

// number is the device number.
func (t tree) number() (string, error) {
	number := t.first("dev")
	if number == "" {
		return "", fmt.Errorf("%s has no device number", t.folder)
	}
	return number, nil
}

// list has the folders of devices below a folder such as holders.
func (t tree) list(name string) ([]tree, error) {
	entries, err := os.ReadDir(filepath.Join(t.folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var trees []tree
	for _, entry := range entries {
		folder, err := filepath.EvalSymlinks(filepath.Join(t.folder, name, entry.Name()))
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree{folder})
	}
	return trees, nil
}

// partitions has the partitions of a disk.
func (t tree) partitions() ([]tree, error) {
	entries, err := os.ReadDir(t.folder)
	if err != nil {
		return nil, err
	}
	var trees []tree
	for _, entry := range entries {
		part := tree{filepath.Join(t.folder, entry.Name())}
		if entry.IsDir() && part.has("partition") {
			trees = append(trees, part)
		}
	}
	return trees, nil
}

// family has a device, its partitions, its holders (LVM, md, multipath), their partitions and holders and so on, and what
// the device is made of. The keys are device numbers.
func (d Disks) family(number string) (map[string]tree, error) {
	known := map[string]tree{}
	start, err := d.tree(number)
	if err != nil {
		return nil, err
	}
	below, err := start.madeOf()
	if err != nil {
		return nil, err
	}
	pending := append([]tree{start}, below...)
	for len(pending) > 0 {
		next := pending[0]
		pending = pending[1:]
		number, err := next.number()
		if err != nil {
			return nil, err
		}
		if _, seen := known[number]; seen {
			continue
		}
		known[number] = next
		for _, more := range []func() ([]tree, error){next.partitions, func() ([]tree, error) { return next.list("holders") }} {
			found, err := more()
			if err != nil {
				return nil, err
			}
			pending = append(pending, found...)
		}
	}
	return known, nil
}

// madeOf has the devices below a device, such as the paths of a multipath device.
func (t tree) madeOf() ([]tree, error) {
	slaves, err := t.list("slaves")
	if err != nil {
		return nil, err
	}
	all := slaves
	for _, slave := range slaves {
		deeper, err := slave.madeOf()
		if err != nil {
			return nil, err
		}
		all = append(all, deeper...)
	}
	return all, nil
}
