package diskhints

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// DeviceOf is the multipath device that a disk is a path of, nil if it is not a path.
func DeviceOf(d *model.Disk, disks []model.Disk) *model.Disk {
	if multipath(d) {
		return nil
	}
	for i := range disks {
		device := &disks[i]
		// Where the holders are not known, one world-wide name is one disk.
		if multipath(device) && (slices.Contains(d.Holders, device.Name) || len(d.Holders) == 0 && d.WWN != "" && d.WWN == device.WWN) {
			return device
		}
	}
	return nil
}

// Whole are a disk, the multipath device that it is a path of, or is, and the paths of that: one disk.
func Whole(d *model.Disk, disks []model.Disk) (all []*model.Disk) {
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

// multipath reports whether a disk is a multipath device.
func multipath(d *model.Disk) bool { return strings.EqualFold(d.Type, "Multipath") }

// List names disks by all that hints may say, for a person who writes some.
func List(disks []model.Disk) string {
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
func Reasons(disks []model.Disk) (texts []string) {
	for i := range disks {
		if d := &disks[i]; !d.Media && len(d.Reasons) > 0 {
			texts = append(texts, d.Path+": "+strings.Join(d.Reasons, ", "))
		}
	}
	return texts
}
