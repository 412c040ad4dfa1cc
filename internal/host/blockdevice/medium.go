//go:build linux

package blockdevice

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// mediumFolder is where a live CoreOS mounts its medium.
	mediumFolder = "/run/media/iso"
	// mediumArgument is the kernel argument with the label of the medium.
	mediumArgument = "coreos.liveiso"
)

// notMedium returns an error if the disk is the medium that the live system runs from. The medium need not be mounted any
// more, for example if the system was copied to memory: then the label of its volume tells it. Users are those of the disk.
func (d Disks) notMedium(id Identity, users []string) error {
	refused := &Refused{
		Path: id.Path, Reason: "it is the medium that the live system runs from", Next: "choose another disk as the installation disk",
	}
	if slices.ContainsFunc(users, func(user string) bool { return strings.HasSuffix(user, " is mounted on "+mediumFolder) }) {
		return refused
	}
	label, err := d.mediumLabel()
	if err != nil {
		return fmt.Errorf("find out which medium the live system runs from: %w", err)
	}
	if label == "" {
		return nil
	}
	volume, err := volumeLabel(d.devicePath(id))
	if err != nil {
		return fmt.Errorf("find out whether %q is the live medium: %w", id.Path, err)
	}
	if volume == label {
		return refused
	}
	return nil
}

// devicePath is where a disk is opened. Tests have files in place of block devices.
func (d Disks) devicePath(id Identity) string {
	if id.File {
		return id.Path
	}
	return filepath.Join("/", d.Root, id.Path)
}

// mediumLabel is the label of the medium that the live system runs from, "" if it does not run from one.
func (d Disks) mediumLabel() (string, error) {
	content, err := os.ReadFile(d.at("proc/cmdline"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for argument := range strings.FieldsSeq(string(content)) {
		if label, found := strings.CutPrefix(argument, mediumArgument+"="); found {
			return label, nil
		}
	}
	return "", nil
}

const (
	// volumeAt is where ISO 9660 has its primary volume descriptor.
	volumeAt = 16 * 2048
	// labelAt and labelSize say where the descriptor has the label, padded with spaces.
	labelAt, labelSize = 40, 32
)

// volumeLabel is the label of an ISO 9660 volume on a disk, "" if the disk has none.
func volumeLabel(path string) (string, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // a test without such a disk; Open fails later
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	descriptor := make([]byte, labelAt+labelSize)
	if _, err := file.ReadAt(descriptor, volumeAt); err != nil {
		return "", nil // too small for a volume, or not readable: then it is not what the system runs from
	}
	if !bytes.HasPrefix(descriptor, []byte("\x01CD001")) {
		return "", nil
	}
	return strings.TrimRight(string(descriptor[labelAt:]), " \x00"), nil
}
