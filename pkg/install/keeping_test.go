package install_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// keepingCase is a difference between file and service, and what becomes of it.
type keepingCase struct {
	setting    model.Setting
	want, have []string // of the file, of the service
	keeping    model.Keeping
	hosts      int    // that have registered, of three
	network    string // of theirs, of the form 10.0.0.%/24
	writes     bool
	blocker    string
	wait       string
	warnings   int
}

// What a service does with a setting decides whether a difference is written,
// waited for, told of, in the way, or none.
func TestKeepingOfClusterSettings(t *testing.T) {
	const ours, theirs = "10.0.0.%/24", "192.0.2.%/24"
	networks, vips := model.SettingMachineNetworks, model.SettingAPIVIPs
	list := func(texts ...string) []string { return texts }
	for name, test := range map[string]keepingCase{
		"kept":                         {setting: networks, want: list("10.0.0.0/24"), keeping: model.KeptAsWritten, writes: true},
		"frozen":                       {setting: networks, want: list("10.0.0.0/24"), have: list("10.1.0.0/24"), keeping: model.KeptFrozen, warnings: 1},
		"cleared":                      {setting: networks, want: list("10.0.0.0/24"), keeping: model.KeptCleared},
		"cleared with hosts":           {setting: networks, want: list("10.0.0.0/24"), keeping: model.KeptCleared, hosts: 3, network: ours},
		"derived of nothing":           {setting: networks, want: list("10.0.0.0/24"), have: list("10.1.0.0/24"), keeping: model.KeptDerived},
		"derived as in the file":       {setting: networks, want: list("10.0.0.0/24"), have: list("10.0.0.0/24"), keeping: model.KeptDerived, hosts: 3, network: ours},
		"derived and not in the file":  {setting: networks, want: list("10.0.0.0/16"), have: list("10.0.0.0/24"), keeping: model.KeptDerived, hosts: 1, network: ours, blocker: "MachineNetworkDiffers"},
		"derived and one of the two":   {setting: networks, want: list("10.0.0.0/24", "10.1.0.0/24"), have: list("10.0.0.0/24"), keeping: model.KeptDerived, hosts: 1, network: ours, warnings: 1},
		"not yet without hosts":        {setting: vips, want: list("10.0.0.90"), have: list("10.0.0.80"), keeping: model.KeptNotYet, wait: "a host with an address in the network of 10.0.0.90: before, the service takes no change of spec.network.vips.api"},
		"not yet with another network": {setting: vips, want: list("10.0.0.90"), have: list("10.0.0.80"), keeping: model.KeptNotYet, hosts: 1, network: theirs, wait: "a host with an address in the network of 10.0.0.90: before, the service takes no change of spec.network.vips.api"},
		"now":                          {setting: vips, want: list("10.0.0.90"), have: list("10.0.0.80"), keeping: model.KeptNotYet, hosts: 1, network: ours, writes: true},
		"never":                        {setting: vips, want: list("10.0.0.90"), have: list("10.0.0.80"), keeping: model.KeptNotYet, hosts: 3, network: theirs, blocker: "VIPOutsideHostNetworks"},
	} {
		t.Run(name, func(t *testing.T) { test.run(t) })
	}
}

func (test *keepingCase) run(t *testing.T) {
	t.Helper()
	c := sample(3, 0)
	w := readyWorld(t, c)
	o := &w.observed
	c.Spec.Network.VIPs = spec.VIPs{}
	if test.setting == model.SettingMachineNetworks {
		c.Spec.Network.Machine = test.want
	} else {
		c.Spec.Network.VIPs.API = test.want
	}
	for _, vips := range []model.Setting{model.SettingAPIVIPs, model.SettingIngressVIPs} {
		delete(o.Cluster.Settings, vips)
	}
	o.Cluster.State = model.ClusterDiscovering
	o.Cluster.Keeping = map[model.Setting]model.Keeping{test.setting: test.keeping}
	o.Cluster.Settings[test.setting] = model.ValueOf(append([]string{}, test.have...))
	o.Hosts = o.Hosts[:test.hosts]
	for i := range o.Hosts {
		nics := o.Hosts[i].Inventory.Interfaces
		for j := range nics {
			nics[j].Addresses = []string{strings.ReplaceAll(test.network, "%", strconv.Itoa(10+i))}
		}
	}
	plan := w.decide()
	if got := hasKind(plan, model.UpdateCluster); got != test.writes {
		t.Errorf("written: %v", got)
	}
	if (test.blocker != "") != (len(plan.Blockers) > 0) || test.blocker != "" && !hasReason(plan, test.blocker) {
		t.Errorf("blockers %+v, want %q", plan.Blockers, test.blocker)
	}
	said := slices.ContainsFunc(plan.Waits, func(w model.Wait) bool { return w.For == test.wait })
	waits := slices.ContainsFunc(plan.Waits, func(w model.Wait) bool { return strings.HasPrefix(w.Key, "cluster/spec.") })
	if said != (test.wait != "") || waits != said {
		t.Errorf("waits %+v, want %q", plan.Waits, test.wait)
	}
	if len(plan.Warnings) != test.warnings {
		t.Errorf("warnings %+v, want %d", plan.Warnings, test.warnings)
	}
}
