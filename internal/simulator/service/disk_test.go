package service

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/steps"
)

// TestHostsThatBootFromDisk installs hosts whose agents run in a system on their disks: none
// is measured, and the cluster's system is installed beside it.
func TestHostsThatBootFromDisk(t *testing.T) {
	b := compact(t, 3)
	measured, images := 0, map[string]bool{}
	for _, m := range b.machines {
		m.unclean = func(inventory map[string]any) {
			inventory["boot"] = fields{"current_boot_mode": "uefi", "device_type": "persistent"}
		}
		m.sees = func(s models.Step) {
			switch s.StepType {
			case steps.StepDiskSpeed:
				measured++
			case steps.StepInstall:
				var asked models.InstallCmdRequest
				if err := json.Unmarshal([]byte(s.Args[0]), &asked); err != nil {
					t.Error(err)
				}
				images[asked.CoreosImage] = true
			}
		}
	}
	b.install()
	if measured != 0 {
		t.Errorf("%d times a disk was to be measured", measured)
	}
	if len(images) != 1 || !strings.Contains(strings.Join(slices.Collect(maps.Keys(images)), ""), "@sha256:") {
		t.Errorf("installed are %v", images)
	}
	if got := outcomes(t, b.machines[1].get())["sufficient-installation-disk-speed"][0]; got != "success" {
		t.Errorf("sufficient-installation-disk-speed is %s", got)
	}
}
