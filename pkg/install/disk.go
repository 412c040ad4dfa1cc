package install

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/bytesize"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// resolveDisk finds the one disk that the hints describe. No hints: the choice
// is the service's, and disk is nil.
func resolveDisk(hints spec.DiskHints, disks []Disk) (disk *Disk, err error) {
	if hints == (spec.DiskHints{}) {
		return nil, nil
	}
	var fitting, eligible []*Disk
	for i := range disks {
		if disks[i].Media || !fits(hints, &disks[i]) {
			continue
		}
		fitting = append(fitting, &disks[i])
		if disks[i].Eligible {
			eligible = append(eligible, &disks[i])
		}
	}
	switch {
	case len(fitting) == 0:
		return nil, fmt.Errorf("no disk fits the hints; there are %s", diskList(disks))
	case len(eligible) == 0:
		return nil, fmt.Errorf("%s fits the hints but cannot be installed on: %s", fitting[0].label(), strings.Join(fitting[0].Reasons, "; "))
	case len(eligible) > 1:
		names := make([]string, 0, len(eligible))
		for _, d := range eligible {
			names = append(names, d.label())
		}
		return nil, fmt.Errorf("the hints fit %d disks: %s", len(eligible), strings.Join(names, ", "))
	}
	return eligible[0], nil
}

// fits says whether a disk has all that the hints ask for, as metal3 reads
// them: model and vendor may be a part, everything else is exact.
func fits(hints spec.DiskHints, d *Disk) bool {
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
	return (hints.DeviceName == "" || d.named(hints.DeviceName)) &&
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

// named says whether path is one of the names of the device.
func (d *Disk) named(path string) bool {
	return slices.Contains([]string{d.Path, d.ByID, d.ByPath, d.ID, "/dev/" + d.Name}, path)
}

// resolveKeep finds the disks that the file wants left alone. A path that
// names none is an error: a typing mistake must not cost a disk.
func resolveKeep(paths []string, disks []Disk) ([]string, error) {
	ids := []string{}
	for _, path := range paths {
		i := slices.IndexFunc(disks, func(d Disk) bool { return d.named(path) })
		if i < 0 {
			return nil, fmt.Errorf("there is no disk %s to keep; there are %s", path, diskList(disks))
		}
		ids = append(ids, disks[i].ID)
	}
	slices.Sort(ids)
	return ids, nil
}

func (d *Disk) label() string {
	if d.ByID != "" && d.ByID != d.Path {
		return d.Path + " (" + d.ByID + ")"
	}
	return d.Path
}

func diskList(disks []Disk) string {
	var names []string
	for i := range disks {
		if !disks[i].Media {
			names = append(names, fmt.Sprintf("%s %s", disks[i].label(), bytesize.Rough(disks[i].SizeBytes)))
		}
	}
	if len(names) == 0 {
		return "no disks"
	}
	return strings.Join(names, ", ")
}
