//go:build linux

package blockdevice

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names are the serial numbers and World Wide Names that a machine knows a disk by: the kernel's, and those of udev, which
// writes them in another form. Some may be absent.
type Names struct {
	Serials, WWNs []string
}

// Names reads the names of a disk. They are empty for a file.
func (d Disks) Names(id Identity) (Names, error) {
	if id.File {
		return Names{}, nil
	}
	tree, err := d.tree(id.Number)
	if err != nil {
		return Names{}, fmt.Errorf("read the names of the disk %q: %w", id.Path, err)
	}
	serials, wwns := []string{id.Serial, tree.serialPage()}, []string{id.WWN}
	if mapped, is := strings.CutPrefix(tree.first("dm/uuid"), "mpath-3"); is {
		wwns = append(wwns, mapped) // "3" is the type NAA
	}
	for line := range strings.Lines(d.udev(id)) {
		name, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "E:")), "=")
		switch name {
		case "ID_SERIAL", "ID_SERIAL_SHORT", "ID_SCSI_SERIAL", "DM_SERIAL":
			serials = append(serials, value)
		case "ID_WWN", "ID_WWN_WITH_EXTENSION", "DM_WWN":
			wwns = append(wwns, value)
		}
	}
	empty := func(name string) bool { return name == "" }
	return Names{Serials: slices.DeleteFunc(serials, empty), WWNs: slices.DeleteFunc(wwns, empty)}, nil
}

// udev is what udev knows of a disk. It is empty in a container that does not show the database of udev.
func (d Disks) udev(id Identity) string {
	content, err := os.ReadFile(d.at("run/udev/data/b" + id.Number))
	if err != nil {
		return ""
	}
	return string(content)
}

// serialPage is the serial number in the vital product data of a SCSI or SATA disk, page 0x80.
func (t tree) serialPage() string {
	page, err := os.ReadFile(filepath.Join(t.folder, "device/vpd_pg80"))
	const header = 4
	if err != nil || len(page) < header || page[1] != 0x80 {
		return ""
	}
	size := int(page[2])<<8 | int(page[3])
	return strings.TrimSpace(strings.Trim(string(page[header:min(len(page), header+size)]), "\x00"))
}
