package diskhints

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/bytesize"
)

// Disk is a block device of a machine.
type Disk struct {
	ID           string
	Path, ByID   string
	ByPath, HCTL string
	Name         string
	Model        string
	Vendor       string
	Serial       string
	WWN          string
	Type         string // HDD, SSD, ...
	SizeBytes    int64
	Holders      []string // names of the devices that are made of it; a hub does not say them
	Removable    bool
	Media        bool // holds the discovery image
	Eligible     bool
	Reasons      []string // why it is not eligible
}

// IsNamed says whether path is one of the names of the device.
func (d *Disk) IsNamed(path string) bool {
	return slices.Contains([]string{d.Path, d.ByID, d.ByPath, d.ID, "/dev/" + d.Name}, path)
}

// Label is what a person recognises a disk by.
func (d *Disk) Label() string {
	if d.ByID != "" && d.ByID != d.Path {
		return d.Path + " (" + d.ByID + ")"
	}
	return d.Path
}

// DeviceOf is the multipath device that a disk is a path of, nil where it is none.
func DeviceOf(d *Disk, disks []Disk) *Disk {
	if d.multipath() {
		return nil
	}
	for i := range disks {
		device := &disks[i]
		// Where the holders are not known, one world-wide name is one disk.
		if device.multipath() && (slices.Contains(d.Holders, device.Name) || len(d.Holders) == 0 && d.WWN != "" && d.WWN == device.WWN) {
			return device
		}
	}
	return nil
}

// Whole are a disk, the multipath device that it is a path of, or is, and the paths of that: one disk.
func Whole(d *Disk, disks []Disk) (all []*Disk) {
	device := DeviceOf(d, disks)
	if device == nil {
		device = d
	}
	for i := range disks {
		if one := &disks[i]; one == d || one == device || DeviceOf(one, disks) == device {
			all = append(all, one)
		}
	}
	return all
}

func (d *Disk) multipath() bool { return strings.EqualFold(d.Type, "Multipath") }

// List names disks by all that hints may say, for a person who writes some.
func List(disks []Disk) string {
	var texts []string
	for i := range disks {
		d := &disks[i]
		if d.Media {
			continue
		}
		links := slices.DeleteFunc([]string{d.ByID, d.ByPath}, func(link string) bool { return link == "" || link == d.Path })
		if device := DeviceOf(d, disks); device != nil {
			links = append(links, "a path of "+device.Path)
		}
		text := d.Path
		if len(links) > 0 {
			text += " (" + strings.Join(links, ", ") + ")"
		}
		texts = append(texts, fmt.Sprintf("%s %s", text, bytesize.Rough(d.SizeBytes)))
	}
	if len(texts) == 0 {
		return "no disks"
	}
	return strings.Join(texts, "; ")
}

// Reasons are why disks cannot be installed on, of each that cannot.
func Reasons(disks []Disk) (texts []string) {
	for i := range disks {
		if d := &disks[i]; !d.Media && len(d.Reasons) > 0 {
			texts = append(texts, d.Path+": "+strings.Join(d.Reasons, ", "))
		}
	}
	return texts
}
