package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/diskhints"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// resolveDisk finds the one disk that the hints describe, as the component reads them that chooses it. No
// hints: the choice is the service's, and disk is nil.
func resolveDisk(hints spec.DiskHints, disks []model.Disk, by diskhints.Chooser) (disk *model.Disk, err error) {
	if hints == (spec.DiskHints{}) {
		return nil, nil
	}
	found, err := diskhints.Candidates(hints, disks, by)
	if err != nil {
		return nil, err
	}
	if len(found) > 1 {
		names := make([]string, 0, len(found))
		for _, d := range found {
			names = append(names, d.Label())
		}
		return nil, fmt.Errorf("the hints match %d disks: %s", len(found), strings.Join(names, ", "))
	}
	return found[0], nil
}

// resolveKeep finds the disks that the file wants left alone. A path that
// names none is an error: a typing mistake must not cost a disk.
func resolveKeep(paths []string, disks []model.Disk) ([]string, error) {
	ids := []string{}
	for _, path := range paths {
		i := slices.IndexFunc(disks, func(d model.Disk) bool { return d.IsNamed(path) })
		if i < 0 {
			return nil, fmt.Errorf("there is no disk %s to keep; there are %s", path, diskhints.List(disks))
		}
		for _, d := range diskhints.Whole(&disks[i], disks) {
			ids = append(ids, d.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
