package model

import (
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Fits says whether a disk has all that root device hints ask for, as metal3
// reads them: model and vendor may be a part, everything else is exact. Whether it
// can be installed on is another question: see Eligible.
func (d *Disk) Fits(hints spec.DiskHints) bool {
	part := func(want, have string) bool {
		return want == "" || strings.Contains(strings.ToLower(have), strings.ToLower(want))
	}
	exact := func(want, have string) bool { return want == "" || strings.EqualFold(want, have) }
	wwn := strings.TrimPrefix(strings.ToLower(d.WWN), "0x")
	wwnIs := func(want string) bool {
		want = strings.TrimPrefix(strings.ToLower(want), "0x")
		return want == "" || wwn == want
	}
	const gib = 1 << 30
	return (hints.DeviceName == "" || d.IsNamed(hints.DeviceName)) &&
		exact(hints.HCTL, d.HCTL) &&
		part(hints.Model, d.Model) &&
		part(hints.Vendor, d.Vendor) &&
		exact(hints.SerialNumber, d.Serial) &&
		d.SizeBytes >= int64(hints.MinSizeGigabytes)*gib &&
		(hints.WWN == "" || wwnIs(hints.WWN) || strings.HasPrefix(wwn, strings.TrimPrefix(strings.ToLower(hints.WWN), "0x")) && hints.WWNVendorExtension != "") &&
		wwnIs(hints.WWNWithExtension) &&
		(hints.WWNVendorExtension == "" || strings.HasSuffix(wwn, strings.TrimPrefix(strings.ToLower(hints.WWNVendorExtension), "0x"))) &&
		(hints.Rotational == nil || *hints.Rotational == (d.Type == "HDD"))
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
