package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/bytesize"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// resolveDisk finds the one disk that the hints describe. No hints: the choice
// is the service's, and disk is nil.
func resolveDisk(hints spec.DiskHints, disks []model.Disk) (disk *model.Disk, err error) {
	if hints == (spec.DiskHints{}) {
		return nil, nil
	}
	var fitting, eligible []*model.Disk
	for i := range disks {
		if disks[i].Media || !disks[i].Fits(hints) {
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
		return nil, fmt.Errorf("%s fits the hints but cannot be installed on: %s", fitting[0].Label(), strings.Join(fitting[0].Reasons, "; "))
	case len(eligible) > 1:
		names := make([]string, 0, len(eligible))
		for _, d := range eligible {
			names = append(names, d.Label())
		}
		return nil, fmt.Errorf("the hints fit %d disks: %s", len(eligible), strings.Join(names, ", "))
	}
	return eligible[0], nil
}

// resolveKeep finds the disks that the file wants left alone. A path that
// names none is an error: a typing mistake must not cost a disk.
func resolveKeep(paths []string, disks []model.Disk) ([]string, error) {
	ids := []string{}
	for _, path := range paths {
		i := slices.IndexFunc(disks, func(d model.Disk) bool { return d.IsNamed(path) })
		if i < 0 {
			return nil, fmt.Errorf("there is no disk %s to keep; there are %s", path, diskList(disks))
		}
		ids = append(ids, disks[i].ID)
	}
	slices.Sort(ids)
	return ids, nil
}

func diskList(disks []model.Disk) string {
	var names []string
	for i := range disks {
		if !disks[i].Media {
			names = append(names, fmt.Sprintf("%s %s", disks[i].Label(), bytesize.Rough(disks[i].SizeBytes)))
		}
	}
	if len(names) == 0 {
		return "no disks"
	}
	return strings.Join(names, ", ")
}
