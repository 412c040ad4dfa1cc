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

// logicalSector is the size of a logical sector in bytes.
func (t tree) logicalSector() (int64, error) {
	size, err := strconv.ParseInt(t.first("queue/logical_block_size"), 10, 64)
	if err != nil || size < sectorSize || size > alignment || size&(size-1) != 0 {
		return 0, fmt.Errorf("its logical sectors have a size that oaictl-host does not know: %q", t.first("queue/logical_block_size"))
	}
	return size, nil
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
	loops, err := d.loops()
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
		pending = append(pending, loops[number]...)
	}
	return known, nil
}

// loops has the loop devices on block devices, by the number of what they stand on. The kernel does not list them as holders.
func (d Disks) loops() (map[string][]tree, error) {
	entries, err := os.ReadDir(d.at("sys/block"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	loops := map[string][]tree{}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "loop") {
			continue
		}
		folder, err := filepath.EvalSymlinks(d.at("sys/block/" + entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		loop := tree{folder}
		if number := d.fileNumber(loop.first("loop/backing_file")); number != "" {
			loops[number] = append(loops[number], loop)
		}
	}
	return loops, nil
}

// fileNumber is the number of the block device of a path in /dev, "" if it is none. Tests have no block devices: there a
// name in /dev means the device of that name in sysfs.
func (d Disks) fileNumber(path string) string {
	name, in := strings.CutPrefix(path, "/dev/")
	if !in || filepath.Clean(path) != path {
		return ""
	}
	if d.Root == "" {
		return deviceNumber(path)
	}
	if link, err := filepath.EvalSymlinks(d.at(path)); err == nil {
		name = filepath.Base(link)
	}
	for _, pattern := range []string{"sys/block/" + name, "sys/block/*/" + name} {
		found, err := filepath.Glob(filepath.Join(d.at(pattern), "dev"))
		if err == nil && len(found) == 1 {
			return tree{filepath.Dir(found[0])}.first("dev")
		}
	}
	return ""
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
