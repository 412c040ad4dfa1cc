package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestDiskThatTheHubChooses: the Agent of a BareMetalHost has its disk from the service, which reads hints in
// its own way. What it does not read, or reads otherwise, blocks; oaictl does not write another choice over it.
func TestDiskThatTheHubChooses(t *testing.T) {
	for name, test := range map[string]struct {
		hints   spec.DiskHints
		changes bool
		says    string
	}{
		"read by both":  {hints: spec.DiskHints{WWN: "0x5001b448b1a00002"}, changes: true},
		"a spelling":    {hints: spec.DiskHints{WWN: "5001B448B1A00002"}, says: `write "0x5001b448b1a00002"`},
		"a letter case": {hints: spec.DiskHints{Model: "samsung"}, says: `model is "samsung", where /dev/sdb has "SAMSUNG"`},
		"an extension": {hints: spec.DiskHints{WWNWithExtension: "0x5001b448b1a00002"},
			says: "wwnWithExtension is not supported by the Assisted Installer"},
		"a link":         {hints: spec.DiskHints{DeviceName: "/dev/disk/by-id/b"}, says: "compares it with /dev/NAME"},
		"more than one":  {hints: spec.DiskHints{MinSizeGigabytes: 480}, says: "the hints match 2 disks: /dev/sda, /dev/sdb"},
		"a gigabyte out": {hints: spec.DiskHints{MinSizeGigabytes: 481, Model: "SAMSUNG"}, says: "no disk fits the hints"},
	} {
		w := decidetest.ReadyHub(t, decidetest.Sample(3, 0))
		w.Desired.Spec.Host("cp-1").Disk.Hints = test.hints
		h := w.Host("host-cp-1")
		h.DiskByService, h.Disk = true, "a"
		h.Settings[model.SettingDisk] = model.ValueOf("a")
		h.Inventory.Disks = []model.Disk{
			{ID: "a", Path: "/dev/sda", WWN: "0x5001b448b1a00001", SizeBytes: 4e12, Eligible: true},
			{ID: "b", Path: "/dev/sdb", ByID: "/dev/disk/by-id/b", WWN: "0x5001b448b1a00002", Model: "SAMSUNG", SizeBytes: 480_103_981_056,
				Eligible: true},
		}
		plan := w.Decide()
		i := slices.IndexFunc(plan.Blockers, func(b model.Blocker) bool { return b.Reason == "DiskHints" })
		switch {
		case test.changes != slices.Contains(decidetest.Keys(plan.Actions), "host/cp-1/update"):
			t.Errorf("%s: actions %v", name, decidetest.Keys(plan.Actions))
		case test.says == "" && i >= 0, test.says != "" &&
			(i < 0 || !strings.Contains(strings.ReplaceAll(plan.Blockers[i].Message, " (/dev/disk/by-id/b)", ""), test.says)):
			t.Errorf("%s: blockers %+v; want %q", name, plan.Blockers, test.says)
		case test.says != "" && decidetest.HasKind(plan, model.StartInstall):
			t.Errorf("%s: the install is started all the same", name)
		}
	}
}

// TestInheritedLabels that the file says of a host as well are there already;
// another value is a difference, before the install and after it.
func TestInheritedLabels(t *testing.T) {
	c := decidetest.Sample(1, 0)
	c.Spec.Hosts[0].Labels = map[string]string{"rack": "a"}
	w := decidetest.ReadyWorld(t, c)
	w.Observed.Hosts[0].Inherited = map[string]string{"site": "north"}
	for _, state := range []model.ClusterState{model.ClusterReady, model.ClusterInstalling} {
		w.Observed.Cluster.State = state
		for site, differs := range map[string]bool{"north": false, "south": true} {
			c.Spec.Hosts[0].Labels = map[string]string{"rack": "a", "site": site}
			plan := w.Decide()
			written := slices.ContainsFunc(plan.Actions, func(a model.Action) bool { return a.Kind == model.UpdateHost })
			told := slices.ContainsFunc(plan.Warnings, func(w model.Warning) bool { return strings.Contains(w.Key, "labels") })
			if (written || told) != differs {
				t.Errorf("%s, site %s: plan %+v", state, site, plan)
			}
		}
	}
}

// TestFencingThatIsGivenBack is compared.
func TestFencingThatIsGivenBack(t *testing.T) {
	w := decidetest.ReadyWorld(t, fenced())
	for i := range w.Observed.Hosts {
		w.Observed.Hosts[i].Settings[model.SettingFencing] = model.ValueOf(fmt.Sprintf("https://10.0.0.%d/redfish/v1/Systems/1", i+1))
	}
	if plan := w.Decide(); !decidetest.HasKind(plan, model.StartInstall) {
		t.Errorf("the same: %v", decidetest.Keys(plan.Actions))
	}
	w.Observed.Hosts[0].Settings[model.SettingFencing] = model.ValueOf("https://10.9.9.9/redfish/v1/Systems/1")
	if plan := w.Decide(); !slices.Equal(decidetest.Keys(plan.Actions), []string{"host/cp-0/update"}) {
		t.Errorf("another address: %v", decidetest.Keys(plan.Actions))
	}
}

// TestNothingToSendItWith is reported: the setting would never be sent.
func TestNothingToSendItWith(t *testing.T) {
	c := fenced()
	for i := range c.Spec.Hosts {
		h := &c.Spec.Hosts[i]
		h.Role, h.Hostname, h.IgnitionEndpoint = "", "", nil
	}
	plan := decidetest.ReadyWorld(t, c).Decide()
	if len(plan.Warnings) != 2 || !strings.Contains(plan.Warnings[0].Message, "fencing, spec.overrides.host of cp-0") {
		t.Errorf("warnings %+v", plan.Warnings)
	}
}
