package install

import (
	"strings"
	"testing"
)

func TestSameByMeaning(t *testing.T) {
	for name, test := range map[string]struct {
		setting    Setting
		want, have any
		same       bool
	}{
		"minor version":                {SetVersion, "4.20", "4.20.33", true},
		"not a prefix of digits":       {SetVersion, "4.2", "4.20.33", false},
		"exact version":                {SetVersion, "4.20.3", "4.20.33", false},
		"multi":                        {SetVersion, "4.20", "4.20.33-multi", true},
		"addresses in other spelling":  {SetAPIVIPs, []string{"2001:db8::1", "192.0.2.1"}, []string{"192.0.2.1", "2001:0db8:0::1"}, true},
		"other address":                {SetAPIVIPs, []string{"192.0.2.1"}, []string{"192.0.2.2"}, false},
		"CIDR with host bits":          {SetMachineNet, []string{"192.0.2.7/24"}, []string{"192.0.2.0/24"}, true},
		"host prefix left out":         {SetClusterNet, []ClusterNetwork{{CIDR: "10.128.0.0/14"}}, []ClusterNetwork{{"10.128.0.0/14", 23}}, true},
		"host prefix":                  {SetClusterNet, []ClusterNetwork{{"10.128.0.0/14", 24}}, []ClusterNetwork{{"10.128.0.0/14", 23}}, false},
		"order of NTP servers":         {SetExtraNTP, []string{"b", "a"}, []string{"a", "b"}, true},
		"white space around keys":      {SetSSHKeys, "ssh-ed25519 AAAA\n", "ssh-ed25519 AAAA", true},
		"documents with other spacing": {SetInstallConfig, `{"a": 1, "b": {}}`, `{"b":{},"a":1}`, true},
		"no document and an empty one": {SetInstallConfig, `{}`, ``, true},
		"more operators":               {SetOperators, []OperatorChoice{{Name: "odf"}}, []OperatorChoice{{Name: "lso"}, {Name: "odf"}}, true},
		"an operator less":             {SetOperators, []OperatorChoice{{Name: "odf"}}, []OperatorChoice{{Name: "lso"}}, false},
		"order of no_proxy":            {SetProxy, Proxy{HTTP: "http://p", No: "a,b"}, Proxy{HTTP: "http://p", No: "b, a"}, true},
		"MAC in other case": {
			SetStaticNetwork, []StaticNetwork{{YAML: "a: 1\n", MACs: []MACInterface{{MAC: "52:54:00:AA:00:01", Name: "eth0"}}}},
			[]StaticNetwork{{YAML: "a: 1", MACs: []MACInterface{{MAC: "52:54:00:aa:00:01", Name: "eth0"}}}}, true,
		},
		"a network as a hub keeps it":     {SetStaticNetwork, []StaticNetwork{{YAML: `{b: [1.5, true, "yes", 0o10], a: {c: d}}`}}, []StaticNetwork{{YAML: "a:\n  c: d\nb:\n- 1.5\n- true\n- \"yes\"\n- 8\n"}}, true},
		"a network as JSON":               {SetStaticNetwork, []StaticNetwork{{YAML: "b: [1.5, true, 1]\na: {c: <d>}"}}, []StaticNetwork{{YAML: `{"a":{"c":"\u003cd\u003e"},"b":[1.5,true,1]}`}}, true},
		"another network as JSON":         {SetStaticNetwork, []StaticNetwork{{YAML: "a: 1"}}, []StaticNetwork{{YAML: `{"a":2}`}}, false},
		"another network":                 {SetStaticNetwork, []StaticNetwork{{YAML: "a: 1"}}, []StaticNetwork{{YAML: "a: 2"}}, false},
		"a network that is no YAML":       {SetStaticNetwork, []StaticNetwork{{YAML: "a: ["}}, []StaticNetwork{{YAML: "a: [\n"}}, true},
		"all roles, one by one":           {SetHyperthreads, "masters,workers,arbiters", "all", true},
		"roles in other order":            {SetHyperthreads, "workers,masters", "masters,workers", true},
		"not all roles":                   {SetHyperthreads, "masters,workers", "all", false},
		"no roles":                        {SetHyperthreads, "none", "masters", false},
		"kernel arguments in other order": {SetKernelArgs, []string{"a", "b"}, []string{"b", "a"}, false},
		"role left to the service":        {SetRole, "auto", "worker", true},
		"role":                            {SetRole, "control-plane", "worker", false},
	} {
		if got := rules(test.setting).same(ValueOf(test.want), ValueOf(test.have)); got != test.same {
			t.Errorf("%s: same is %v", name, got)
		}
	}
}

func TestDifferencesLeaveAloneWhatIsNotSaid(t *testing.T) {
	want := Settings{SetVersion: ValueOf("4.20"), SetExtraNTP: ValueOf([]string{}), SetNTP: ValueOf([]string{"ntp.example.com"})}
	have := Settings{SetVersion: ValueOf("4.20.1"), SetExtraNTP: ValueOf([]string{"old"}), SetHyperthreads: ValueOf("all")}
	got := differences(want, have)
	if len(got) != 2 || got[0].setting != SetExtraNTP || got[1].setting != SetNTP {
		t.Errorf("differences: %+v; want the cleared additional NTP servers and the unsaid NTP servers", got)
	}
}

func TestChangesShowNoSecrets(t *testing.T) {
	for setting, value := range map[Setting]Value{
		SetProxy:         ValueOf(Proxy{HTTP: "http://user:hunter2@proxy:3128", HTTPS: "http://user:hunter2@proxy:3128"}),
		SetInstallConfig: ValueOf(`{"platform":{"baremetal":{"hosts":[{"bmc":{"password":"hunter2"}}]}}}`),
		SetIgnition:      ValueOf(`{"passwd":{"users":[{"passwordHash":"hunter2"}]}}`),
		SetDiscIgnition:  ValueOf(`{"storage":{"files":[{"contents":{"source":"data:,hunter2"}}]}}`),
		SetDiskEncrypt:   ValueOf(DiskEncryption{On: "all", Mode: "tang", Tang: []Tang{{URL: "http://me:hunter2&@tang.example.com:7500"}}}),
		SetKernelArgs:    ValueOf([]string{"coreos.inst.ignition_url=https://me:hunter2@example.com/a.ign"}),
	} {
		if shown := value.show(setting); strings.Contains(shown, "hunter2") || shown == "" {
			t.Errorf("%s is shown as %q", setting, shown)
		}
	}
}
