package setting

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

func TestSameByMeaning(t *testing.T) {
	for name, test := range map[string]struct {
		setting    Name
		want, have any
		same       bool
	}{
		"minor version":                {Version, "4.20", "4.20.33", true},
		"not a prefix of digits":       {Version, "4.2", "4.20.33", false},
		"exact version":                {Version, "4.20.3", "4.20.33", false},
		"multi":                        {Version, "4.20", "4.20.33-multi", true},
		"addresses in other spelling":  {APIVIPs, []string{"2001:db8::1", "192.0.2.1"}, []string{"192.0.2.1", "2001:0db8:0::1"}, true},
		"other address":                {APIVIPs, []string{"192.0.2.1"}, []string{"192.0.2.2"}, false},
		"CIDR with host bits":          {MachineNet, []string{"192.0.2.7/24"}, []string{"192.0.2.0/24"}, true},
		"host prefix left out":         {ClusterNet, []spec.ClusterNetwork{{CIDR: "10.128.0.0/14"}}, []spec.ClusterNetwork{{CIDR: "10.128.0.0/14", HostPrefix: 23}}, true},
		"host prefix":                  {ClusterNet, []spec.ClusterNetwork{{CIDR: "10.128.0.0/14", HostPrefix: 24}}, []spec.ClusterNetwork{{CIDR: "10.128.0.0/14", HostPrefix: 23}}, false},
		"order of NTP servers":         {ExtraNTP, []string{"b", "a"}, []string{"a", "b"}, true},
		"white space around keys":      {SSHKeys, "ssh-ed25519 AAAA\n", "ssh-ed25519 AAAA", true},
		"documents with other spacing": {InstallConfig, `{"a": 1, "b": {}}`, `{"b":{},"a":1}`, true},
		"no document and an empty one": {InstallConfig, `{}`, ``, true},
		"more operators":               {Operators, []spec.Operator{{Name: "odf"}}, []spec.Operator{{Name: "lso"}, {Name: "odf"}}, true},
		"an operator less":             {Operators, []spec.Operator{{Name: "odf"}}, []spec.Operator{{Name: "lso"}}, false},
		"no properties asked for":      {Operators, operatorWith(``), operatorWith(`{"a":1}`), true},
		"properties not given back":    {Operators, operatorWith(`{"a":1}`), operatorWith(``), true},
		"properties in other order":    {Operators, operatorWith(`{"a":1,"b":2}`), operatorWith(`{"b": 2, "a": 1}`), true},
		"empty properties":             {Operators, operatorWith(`{"a":1}`), operatorWith(`{}`), false},
		"properties of another kind":   {Operators, operatorWith(`{"a":1}`), operatorWith(`[1]`), false},
		"properties that are no JSON":  {Operators, operatorWith(`{"a":1}`), operatorWith(`all`), false},
		"large numbers":                {Operators, operatorWith(`{"a":9007199254740993}`), operatorWith(`{"a":9007199254740992}`), false},
		"order of no_proxy":            {Proxy, spec.Proxy{HTTP: "http://p", No: []string{"a", "b"}}, spec.Proxy{HTTP: "http://p", No: []string{"b", "a"}}, true},
		"MAC in other case": {
			StaticNetworks, []StaticNetwork{{YAML: "a: 1\n", MACs: []spec.NIC{{MAC: "52:54:00:AA:00:01", Name: "eth0"}}}},
			[]StaticNetwork{{YAML: "a: 1", MACs: []spec.NIC{{MAC: "52:54:00:aa:00:01", Name: "eth0"}}}}, true,
		},
		"a network as a hub keeps it":     {StaticNetworks, []StaticNetwork{{YAML: `{b: [1.5, true, "yes", 0o10], a: {c: d}}`}}, []StaticNetwork{{YAML: "a:\n  c: d\nb:\n- 1.5\n- true\n- \"yes\"\n- 8\n"}}, true},
		"a network as JSON":               {StaticNetworks, []StaticNetwork{{YAML: "b: [1.5, true, 1]\na: {c: <d>}"}}, []StaticNetwork{{YAML: `{"a":{"c":"\u003cd\u003e"},"b":[1.5,true,1]}`}}, true},
		"another network as JSON":         {StaticNetworks, []StaticNetwork{{YAML: "a: 1"}}, []StaticNetwork{{YAML: `{"a":2}`}}, false},
		"another network":                 {StaticNetworks, []StaticNetwork{{YAML: "a: 1"}}, []StaticNetwork{{YAML: "a: 2"}}, false},
		"a network that is no YAML":       {StaticNetworks, []StaticNetwork{{YAML: "a: ["}}, []StaticNetwork{{YAML: "a: [\n"}}, true},
		"all roles, one by one":           {Hyperthreads, spec.RoleSet{"control-plane", "worker", "arbiter"}, spec.RoleSet{"all"}, true},
		"roles in other order":            {Hyperthreads, spec.RoleSet{"worker", "control-plane"}, spec.RoleSet{"control-plane", "worker"}, true},
		"not all roles":                   {Hyperthreads, spec.RoleSet{"control-plane", "worker"}, spec.RoleSet{"all"}, false},
		"no roles":                        {Hyperthreads, spec.RoleSet{"none"}, spec.RoleSet{"control-plane"}, false},
		"kernel arguments in other order": {KernelArgs, []string{"a", "b"}, []string{"b", "a"}, false},
		"role left to the service":        {Role, "auto", "worker", true},
		"role":                            {Role, "control-plane", "worker", false},
	} {
		if got := RuleOf(test.setting).same(ValueOf(test.want), ValueOf(test.have)); got != test.same {
			t.Errorf("%s: same is %v", name, got)
		}
	}
}

func TestDifferencesLeaveAloneWhatIsNotSaid(t *testing.T) {
	want := Settings{Version: ValueOf("4.20"), ExtraNTP: ValueOf([]string{}), NTP: ValueOf([]string{"ntp.example.com"})}
	have := Settings{Version: ValueOf("4.20.1"), ExtraNTP: ValueOf([]string{"old"}), Hyperthreads: ValueOf(spec.RoleSet{"all"})}
	got := Differences(want, have)
	if len(got) != 2 || got[0].Setting != ExtraNTP || got[1].Setting != NTP {
		t.Errorf("differences: %+v; want the cleared additional NTP servers and the unsaid NTP servers", got)
	}
}

func TestChangesShowNoSecrets(t *testing.T) {
	for setting, value := range map[Name]Value{
		Proxy:         ValueOf(spec.Proxy{HTTP: "http://user:hunter2@proxy:3128", HTTPS: "http://user:hunter2@proxy:3128"}),
		InstallConfig: ValueOf(`{"platform":{"baremetal":{"hosts":[{"bmc":{"password":"hunter2"}}]}}}`),
		Ignition:      ValueOf(`{"passwd":{"users":[{"passwordHash":"hunter2"}]}}`),
		DiscIgnition:  ValueOf(`{"storage":{"files":[{"contents":{"source":"data:,hunter2"}}]}}`),
		DiskEncrypt:   ValueOf(spec.DiskEncryption{On: spec.RoleSet{"all"}, Mode: "tang", Tang: []spec.TangServer{{URL: "http://me:hunter2&@tang.example.com:7500"}}}),
		KernelArgs:    ValueOf([]string{"coreos.inst.ignition_url=https://me:hunter2@example.com/a.ign"}),
	} {
		if shown := value.Show(setting); strings.Contains(shown, "hunter2") || shown == "" {
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
		if err := ValueOf(operatorWith(text)).Decode(&back); err != nil || PropertiesText(back[0].Properties) != want {
			t.Errorf("%s became %v, %v", text, back, err)
		}
	}
}

// TestNoOperators: an empty list is said, as a list and without properties that are empty.
func TestNoOperators(t *testing.T) {
	for want, operators := range map[Value][]spec.Operator{
		`[]`: {}, `[{"name":"lvm"},{"name":"mce"}]`: {{Name: "mce", Properties: map[string]any{}}, {Name: "lvm"}},
	} {
		c := &spec.Cluster{}
		c.Spec.Operators = operators
		if got := OfCluster(c)[Operators]; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
