//go:build linux

package blockdevice

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/mountinfo"
)

// Users says what uses a disk through its partitions and holders: mounts in any mount namespace, and swap areas. It is
// empty if nothing does.
func (d Disks) Users(id Identity) ([]string, error) {
	family, err := d.family(id.Number)
	if err != nil {
		return nil, err
	}
	mounts, err := d.mounts()
	if err != nil {
		return nil, err
	}
	swaps, err := d.swaps()
	if err != nil {
		return nil, err
	}
	var users []string
	for _, use := range append(mounts, swaps...) {
		if member, found := family[use.number]; found {
			users = append(users, fmt.Sprintf("%s is %s", filepath.Base(member.folder), use.as))
		}
	}
	slices.Sort(users)
	return slices.Compact(users), nil
}

// use is a device number, and how the device is used.
type use struct{ number, as string }

// mounts reads the mounts of every mount namespace that has a process.
func (d Disks) mounts() ([]use, error) {
	entries, err := os.ReadDir(d.at("proc"))
	if err != nil {
		return nil, err
	}
	namespaces := map[string]bool{}
	found := map[use]bool{}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue // not a process
		}
		folder := d.at("proc/" + entry.Name())
		// The name of a namespace only saves reading its mounts again. A container may not read it of all processes.
		namespace, nameless := os.Readlink(filepath.Join(folder, "ns/mnt"))
		if nameless == nil && namespaces[namespace] {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, "mountinfo"))
		if ended(err) || err == nil && len(content) == 0 {
			continue // the process ends; another process of the namespace may follow
		}
		if err != nil {
			return nil, fmt.Errorf("the mounts of process %s: %w", entry.Name(), err)
		}
		namespaces[namespace] = nameless == nil
		for _, u := range d.mountUses(string(content)) {
			found[u] = true
		}
	}
	if len(namespaces) == 0 {
		return nil, errors.New("no process shows its mounts")
	}
	return slices.Collect(maps.Keys(found)), nil
}

// ended reports whether a process has ended meanwhile.
func ended(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL)
}

// mountUses says which devices the lines of a file mountinfo use, and how.
func (d Disks) mountUses(content string) []use {
	var found []use
	for _, mount := range mountinfo.Parse(content) {
		as := "mounted on " + mount.Point
		found = append(found, use{mount.Number, as})
		// btrfs has a number that is not the device's.
		if number := d.fileNumber(mount.Source); number != "" && number != mount.Number {
			found = append(found, use{number, as})
		}
	}
	return found
}

// deviceNumber is the number of a block device, "" if path is none.
func deviceNumber(path string) string {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFBLK {
		return ""
	}
	return number(stat.Rdev)
}

// swaps reads the swap areas.
func (d Disks) swaps() ([]use, error) {
	content, err := os.ReadFile(d.at("proc/swaps"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a kernel without swap
	}
	if err != nil {
		return nil, err
	}
	var found []use
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[1] != "partition" {
			continue
		}
		path := strings.TrimSuffix(mountinfo.Unescape(fields[0]), " (deleted)")
		if number := d.fileNumber(path); number != "" {
			found = append(found, use{number, "swap"})
		}
	}
	return found, nil
}
