package nmstate_test

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

func TestDoubts(t *testing.T) {
	const (
		static = "interfaces:\n- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.2, prefix-length: 24}]}}\n"
		way    = "{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0"
	)
	for name, test := range map[string]struct{ text, want string }{
		"a default route":      {static + "routes: {config: [" + way + "}]}\n", ""},
		"none":                 {static, "n:1:1: routes.config: there is no default route: the machine only reaches its own networks"},
		"none, with DHCP":      {"interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]\n", ""},
		"two equal ones":       {static + "routes: {config: [" + way + "},\n" + way + ", table-id: 254}]}\n", "routes.config[1]: is a second default route with the same metric"},
		"two of other metrics": {static + "routes: {config: [" + way + "}, " + way + ", metric: 200}]}\n", ""},
		"a VLAN above its base": {
			"interfaces:\n- {name: eth0, type: ethernet, state: up, mtu: 1500}\n- {name: eth0.5, type: vlan, state: up, mtu: 9000, vlan: {base-iface: eth0, id: 5}}\n",
			"n:3:4: interfaces[1].mtu: the MTU 9000 of eth0.5 is larger than the MTU of its base eth0: 1500",
		},
		"a VLAN within": {"interfaces:\n- {name: eth0, type: ethernet, state: up, mtu: 9000}\n- {name: eth0.5, type: vlan, state: up, mtu: 9000, vlan: {base-iface: eth0, id: 5}}\n", ""},
	} {
		state := must.Get(nmstate.Parse("n", []byte(test.text)))(t, name)
		found := state.Doubts()
		switch {
		case test.want == "" && len(found) > 0, test.want != "" && len(found) != 1:
			t.Errorf("%s: %v", name, found)
		case test.want != "" && !strings.Contains(found.Error(), test.want):
			t.Errorf("%s: %v", name, found)
		}
	}
}
