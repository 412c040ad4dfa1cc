//go:build linux

package clean

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// group is a volume group. Its name may not be the only one: two disks can have groups of the same name.
type group struct {
	name, uuid string
	volumes    []string // the paths of its physical volumes
}

// volumeID is the form of the identifiers of LVM.
var volumeID = regexp.MustCompile(`^[A-Za-z0-9]{6}(-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6}$`)

// parseGroups reads what pvs prints with --reportformat json. A physical volume without a group is in the group "".
func parseGroups(output []byte) ([]group, error) {
	var report struct {
		Report []struct {
			PV []struct {
				Name  string `json:"pv_name"`
				Group string `json:"vg_name"`
				UUID  string `json:"vg_uuid"`
			} `json:"pv"`
		} `json:"report"`
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return nil, fmt.Errorf("read what pvs printed: %w", err)
	}
	var groups []group
	for _, part := range report.Report {
		for _, pv := range part.PV {
			if pv.UUID != "" && !volumeID.MatchString(pv.UUID) {
				return nil, fmt.Errorf("read what pvs printed: %q is no identifier of a volume group", pv.UUID)
			}
			i := slices.IndexFunc(groups, func(g group) bool { return g.uuid == pv.UUID })
			if i < 0 {
				i, groups = len(groups), append(groups, group{name: pv.Group, uuid: pv.UUID})
			}
			groups[i].volumes = append(groups[i].volumes, pv.Name)
		}
	}
	return groups, nil
}

// volumeGroups removes the volume groups that are only on the disk, and deactivates those that have other disks, too. What
// fails here is only logged: at the end, nothing may stand on the disk. Notes say what other disks lost.
func (c Cleaner) volumeGroups(ctx context.Context, id blockdevice.Identity, stack blockdevice.Stack) ([]string, error) {
	if !c.Programs.Has("pvs") {
		return nil, nil
	}
	result, err := c.Programs.Run(ctx, machine.Command{
		Name: "pvs", Args: []string{"--reportformat", "json", "-o", "pv_name,vg_name,vg_uuid"}, Timeout: programLimit,
	})
	if err != nil {
		c.Log.Warn("LVM does not say which volume groups there are", "error", err)
		return nil, ctx.Err()
	}
	groups, err := parseGroups(result.Stdout)
	if err != nil {
		c.Log.Warn("LVM does not say which volume groups there are", "error", err)
		return nil, nil
	}
	on := namesOn(id, stack)
	var notes []string
	for _, g := range groups {
		var own, others []string
		for _, volume := range g.volumes {
			if on.has(volume) {
				own = append(own, volume)
			} else {
				others = append(others, volume)
			}
		}
		if len(own) == 0 || g.uuid == "" {
			continue // the mark of a physical volume without a group is wiped
		}
		if len(others) > 0 {
			notes = append(notes, fmt.Sprintf("the volume group %s has %s besides %s: it was deactivated, and its data on %s are lost",
				escape.Word(g.name), escape.Word(strings.Join(others, ", ")), strings.Join(own, ", "), id.Path))
		}
		c.removeGroup(ctx, g, own, len(others) > 0)
	}
	return notes, ctx.Err()
}

// removeGroup chooses the group by its identifier: its name may mean a group of another disk.
func (c Cleaner) removeGroup(ctx context.Context, g group, own []string, shared bool) {
	selected := "vg_uuid=" + g.uuid
	_ = c.run(ctx, "vgchange", "--activate", "n", "--yes", "--select", selected) // run logs what fails
	if shared {
		return // vgremove and pvremove would write to the other disks
	}
	if err := c.run(ctx, "vgremove", "--yes", "--force", "--select", selected); err != nil {
		return // pvremove would ask for more force; the marks are wiped anyway
	}
	for _, volume := range own {
		_ = c.run(ctx, "pvremove", "--yes", "--force", "--force", volume)
	}
}
