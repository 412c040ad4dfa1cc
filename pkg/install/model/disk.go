package model

import "slices"

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
