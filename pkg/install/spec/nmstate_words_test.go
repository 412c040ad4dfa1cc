package spec

import "testing"

// TestStaticNetworkHasPort: newer nmstate knows no slaves of a bond.
func TestStaticNetworkHasPort(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"block": {
			"interfaces:\n- name: slaves\n  type: bond\n  link-aggregation:\n    slaves: # both slaves\n    - ens3\n    options: {all_slaves_active: delivered}\n",
			"interfaces:\n- name: slaves\n  type: bond\n  link-aggregation:\n    port: # both slaves\n    - ens3\n    options: {all_slaves_active: delivered}\n",
		},
		"one line": {
			`{interfaces: [{name: é, link-aggregation: {slaves: [slaves]}}, {name: b, link-aggregation: {"slaves": [b]}}]}`,
			`{interfaces: [{name: é, link-aggregation: {port: [slaves]}}, {name: b, link-aggregation: {"port": [b]}}]}`,
		},
		"an alias": {
			"interfaces:\n- {name: a, link-aggregation: &both {slaves: [slaves]}}\n- {name: b, link-aggregation: *both}\n",
			"interfaces:\n- {name: a, link-aggregation: &both {port: [slaves]}}\n- {name: b, link-aggregation: *both}\n",
		},
		"below an OVS bridge": {
			"interfaces:\n- bridge:\n    port:\n    - link-aggregation:\n        slaves:\n        - name: a\n",
			"interfaces:\n- bridge:\n    port:\n    - link-aggregation:\n        port:\n        - name: a\n",
		},
		"both":     {"link-aggregation: {port: [a], slaves: [a]}", "link-aggregation: {port: [a], slaves: [a]}"},
		"another":  {"options: {slaves: [a]}", "options: {slaves: [a]}"},
		"not YAML": {"slaves: [", "slaves: ["},
	} {
		host := Host{Net: &HostNet{NMState: &Document{content: test.text}}}
		if got, _, _ := new(Cluster).StaticNetwork(&host); got != test.want {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}
