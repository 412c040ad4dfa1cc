package clustersettings

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func TestSameByMeaning(t *testing.T) {
	for name, test := range map[string]struct {
		setting    model.Setting
		want, have any
		same       bool
	}{
		"minor version":                {model.SettingVersion, "4.20", "4.20.33", true},
		"not a prefix of digits":       {model.SettingVersion, "4.2", "4.20.33", false},
		"exact version":                {model.SettingVersion, "4.20.3", "4.20.33", false},
		"multi":                        {model.SettingVersion, "4.20", "4.20.33-multi", true},
		"addresses in other spelling":  {model.SettingAPIVIPs, []string{"2001:db8::1", "192.0.2.1"}, []string{"192.0.2.1", "2001:0db8:0::1"}, true},
		"other address":                {model.SettingAPIVIPs, []string{"192.0.2.1"}, []string{"192.0.2.2"}, false},
		"CIDR with host bits":          {model.SettingMachineNetworks, []string{"192.0.2.7/24"}, []string{"192.0.2.0/24"}, true},
		"host prefix left out":         {model.SettingClusterNetworks, []spec.ClusterNetwork{{CIDR: "10.128.0.0/14"}}, []spec.ClusterNetwork{{CIDR: "10.128.0.0/14", HostPrefix: 23}}, true},
		"host prefix":                  {model.SettingClusterNetworks, []spec.ClusterNetwork{{CIDR: "10.128.0.0/14", HostPrefix: 24}}, []spec.ClusterNetwork{{CIDR: "10.128.0.0/14", HostPrefix: 23}}, false},
		"order of NTP servers":         {model.SettingExtraNTP, []string{"b", "a"}, []string{"a", "b"}, true},
		"white space around keys":      {model.SettingSSHKeys, "ssh-ed25519 AAAA\n", "ssh-ed25519 AAAA", true},
		"documents with other spacing": {model.SettingInstallConfigOverrides, `{"a": 1, "b": {}}`, `{"b":{},"a":1}`, true},
		"no document and an empty one": {model.SettingInstallConfigOverrides, `{}`, ``, true},
		"more operators":               {model.SettingOperators, []spec.Operator{{Name: "odf"}}, []spec.Operator{{Name: "lso"}, {Name: "odf"}}, true},
		"an operator less":             {model.SettingOperators, []spec.Operator{{Name: "odf"}}, []spec.Operator{{Name: "lso"}}, false},
		"no properties asked for":      {model.SettingOperators, operatorWith(``), operatorWith(`{"a":1}`), true},
		"properties not given back":    {model.SettingOperators, operatorWith(`{"a":1}`), operatorWith(``), true},
		"properties in other order":    {model.SettingOperators, operatorWith(`{"a":1,"b":2}`), operatorWith(`{"b": 2, "a": 1}`), true},
		"empty properties":             {model.SettingOperators, operatorWith(`{"a":1}`), operatorWith(`{}`), false},
		"properties of another kind":   {model.SettingOperators, operatorWith(`{"a":1}`), operatorWith(`[1]`), false},
		"properties that are no JSON":  {model.SettingOperators, operatorWith(`{"a":1}`), operatorWith(`all`), false},
		"large numbers":                {model.SettingOperators, operatorWith(`{"a":9007199254740993}`), operatorWith(`{"a":9007199254740992}`), false},
		"order of no_proxy":            {model.SettingProxy, spec.Proxy{HTTP: "http://p", No: []string{"a", "b"}}, spec.Proxy{HTTP: "http://p", No: []string{"b", "a"}}, true},
		"MAC in other case": {
			model.SettingStaticNetworks, []model.StaticNetwork{{YAML: "a: 1\n", MACs: []spec.NIC{{MAC: "52:54:00:AA:00:01", Name: "eth0"}}}},
			[]model.StaticNetwork{{YAML: "a: 1", MACs: []spec.NIC{{MAC: "52:54:00:aa:00:01", Name: "eth0"}}}}, true,
		},
		"a network as a hub keeps it":     {model.SettingStaticNetworks, []model.StaticNetwork{{YAML: `{b: [1.5, true, "yes", 0o10], a: {c: d}}`}}, []model.StaticNetwork{{YAML: "a:\n  c: d\nb:\n- 1.5\n- true\n- \"yes\"\n- 8\n"}}, true},
		"a network as JSON":               {model.SettingStaticNetworks, []model.StaticNetwork{{YAML: "b: [1.5, true, 1]\na: {c: <d>}"}}, []model.StaticNetwork{{YAML: `{"a":{"c":"\u003cd\u003e"},"b":[1.5,true,1]}`}}, true},
		"another network as JSON":         {model.SettingStaticNetworks, []model.StaticNetwork{{YAML: "a: 1"}}, []model.StaticNetwork{{YAML: `{"a":2}`}}, false},
		"another network":                 {model.SettingStaticNetworks, []model.StaticNetwork{{YAML: "a: 1"}}, []model.StaticNetwork{{YAML: "a: 2"}}, false},
		"a network that is no YAML":       {model.SettingStaticNetworks, []model.StaticNetwork{{YAML: "a: ["}}, []model.StaticNetwork{{YAML: "a: [\n"}}, true},
		"all roles, one by one":           {model.SettingHyperthreading, spec.RoleSet{"control-plane", "worker", "arbiter"}, spec.RoleSet{"all"}, true},
		"roles in other order":            {model.SettingHyperthreading, spec.RoleSet{"worker", "control-plane"}, spec.RoleSet{"control-plane", "worker"}, true},
		"not all roles":                   {model.SettingHyperthreading, spec.RoleSet{"control-plane", "worker"}, spec.RoleSet{"all"}, false},
		"no roles":                        {model.SettingHyperthreading, spec.RoleSet{"none"}, spec.RoleSet{"control-plane"}, false},
		"kernel arguments in other order": {model.SettingKernelArguments, []string{"a", "b"}, []string{"b", "a"}, false},
		"more is said of Ironic":          {model.SettingIronic, spec.Ironic{Agent: true}, spec.Ironic{Agent: true, Image: "q/ironic"}, true},
		"the image of Ironic alone":       {model.SettingIronic, spec.Ironic{Image: "q/ironic"}, spec.Ironic{Agent: true, Image: "q/ironic"}, true},
		"another image of Ironic":         {model.SettingIronic, spec.Ironic{Image: "q/ironic"}, spec.Ironic{Image: "q/other"}, false},
		"no agent of Ironic":              {model.SettingIronic, spec.Ironic{Agent: true}, spec.Ironic{}, false},
		"role left to the service":        {model.SettingRole, "auto", "worker", true},
		"role":                            {model.SettingRole, "control-plane", "worker", false},
	} {
		if got := RuleOf(test.setting).same(model.ValueOf(test.want), model.ValueOf(test.have)); got != test.same {
			t.Errorf("%s: same is %v", name, got)
		}
	}
}

func TestDifferencesLeaveAloneWhatIsNotSaid(t *testing.T) {
	want := model.Settings{model.SettingVersion: model.ValueOf("4.20"), model.SettingExtraNTP: model.ValueOf([]string{}), model.SettingNTP: model.ValueOf([]string{"ntp.example.com"})}
	have := model.Settings{model.SettingVersion: model.ValueOf("4.20.1"), model.SettingExtraNTP: model.ValueOf([]string{"old"}), model.SettingHyperthreading: model.ValueOf(spec.RoleSet{"all"})}
	got := Differences(want, have)
	if len(got) != 2 || got[0].Setting != model.SettingExtraNTP || got[1].Setting != model.SettingNTP {
		t.Errorf("differences: %+v; want the cleared additional NTP servers and the unsaid NTP servers", got)
	}
}

func TestChangesShowNoSecrets(t *testing.T) {
	for setting, value := range map[model.Setting]model.Value{
		model.SettingProxy:                  model.ValueOf(spec.Proxy{HTTP: "http://user:hunter2@proxy:3128", HTTPS: "http://user:hunter2@proxy:3128"}),
		model.SettingInstallConfigOverrides: model.ValueOf(`{"platform":{"baremetal":{"hosts":[{"bmc":{"password":"hunter2"}}]}}}`),
		model.SettingIgnition:               model.ValueOf(`{"passwd":{"users":[{"passwordHash":"hunter2"}]}}`),
		model.SettingDiscoveryIgnition:      model.ValueOf(`{"storage":{"files":[{"contents":{"source":"data:,hunter2"}}]}}`),
		model.SettingDiskEncryption:         model.ValueOf(spec.DiskEncryption{On: spec.RoleSet{"all"}, Mode: "tang", Tang: []spec.TangServer{{URL: "http://me:hunter2&@tang.example.com:7500"}}}),
		model.SettingKernelArguments:        model.ValueOf([]string{"coreos.inst.ignition_url=https://me:hunter2@example.com/a.ign"}),
	} {
		if shown := Show(setting, value); strings.Contains(shown, "hunter2") || shown == "" {
			t.Errorf("%s is shown as %q", setting, shown)
		}
	}
}

func operatorWith(properties string) []spec.Operator {
	return []spec.Operator{{Name: "mce", Properties: PropertiesOf(properties)}}
}

// TestProperties: the text of an operator's properties comes back as it means.
func TestProperties(t *testing.T) {
	for text, want := range map[string]string{`{"b":1.0,"a":12345678901234567890}`: `{"a":12345678901234567890,"b":1.0}`, `{}`: `{}`, `null`: `null`, `[1]`: `[1]`, `a: 1`: `a: 1`, ` `: ` `} {
		var back []spec.Operator
		if err := model.ValueOf(operatorWith(text)).Decode(&back); err != nil || PropertiesText(back[0].Properties) != want {
			t.Errorf("%s became %v, %v", text, back, err)
		}
	}
}

// TestNoOperators: an empty list is written, as a list and without properties that are empty.
func TestNoOperators(t *testing.T) {
	for want, operators := range map[model.Value][]spec.Operator{
		`[]`: {}, `[{"name":"lvm"},{"name":"mce"}]`: {{Name: "mce", Properties: map[string]any{}}, {Name: "lvm"}},
	} {
		c := &spec.Cluster{}
		c.Spec.Operators = operators
		check.Equal(t, OfCluster(c)[model.SettingOperators], want)
	}
}
