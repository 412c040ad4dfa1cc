package spec

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestNetworkDefaults: what a rack's hosts have in common stands once, and makes of
// each what it would make there; what a host says itself goes first.
func TestNetworkDefaults(t *testing.T) {
	const shared = "dns: [192.168.10.1], bond: {ports: [eno1, eno2], mode: lacp}, vlan: 100, bmc: {credentials: {env: BMC}, insecure: true}"
	const nics = `interfaces: [{name: eno1, mac: "52:54:00:00:00:03"}, {name: eno2, mac: "52:54:00:00:00:13"}]`
	tests := map[string]struct{ short, whole string }{
		"all of it":        {"ip: 192.168.10.9/24, " + nics, "ip: 192.168.10.9/24, " + nics + ", bond: {ports: [eno1, eno2], mode: lacp}, vlan: 100"},
		"its own bond":     {"ip: 192.168.10.9/24, " + nics + ", bond: {ports: [eno2, eno1]}", "ip: 192.168.10.9/24, " + nics + ", bond: {ports: [eno2, eno1]}, vlan: 100"},
		"its own VLAN":     {"ip: 192.168.10.9/24, vlan: 7, " + nics, "ip: 192.168.10.9/24, " + nics + ", bond: {ports: [eno1, eno2], mode: lacp}, vlan: 7"},
		"no VLAN":          {"ip: 192.168.10.9/24, vlan: 0, " + nics, "ip: 192.168.10.9/24, " + nics + ", bond: {ports: [eno1, eno2], mode: lacp}"},
		"one interface":    {`ip: 192.168.10.9/24, mac: "52:54:00:00:00:03"`, `ip: 192.168.10.9/24, mac: "52:54:00:00:00:03", vlan: 100`},
		"nmstate as it is": {`nmstate: {interfaces: [{name: a, type: ethernet, mac-address: "52:54:00:00:00:03"}]}`, `nmstate: {interfaces: [{name: a, type: ethernet, mac-address: "52:54:00:00:00:03"}]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			network := func(edits edit) string {
				c := must.Get(parse(t, edits.apply(t, good), nil))(t)
				if _, _, ok := c.StaticNetwork(&c.Spec.Hosts[0]); ok {
					t.Error("a host without net has a network")
				}
				text, _, _ := c.StaticNetwork(&c.Spec.Hosts[2])
				return text
			}
			short := network(edit{"dns: [192.168.10.1]", shared, more, "    net: {" + tt.short + "}\n"})
			if whole := network(edit{more, "    net: {" + tt.whole + "}\n"}); short != whole {
				t.Errorf("by the defaults:\n%s\nin the host:\n%s", short, whole)
			}
		})
	}
	c := must.Get(parse(t, edit{
		"dns: [192.168.10.1]", shared,
		cp0, strings.Replace(cp0, "}}", "}, bmc: {address: 10.0.0.1}}", 1), cp1, strings.Replace(cp1, "}}", "}, bmc: {address: 10.0.0.2, insecure: false, credentials: {file: own}}}", 1),
	}.apply(t, good), map[string]string{"own": "root:own"}))(t)
	for i, want := range []struct {
		user     string
		insecure bool
	}{{"admin", true}, {"root", false}} {
		bmc := c.Spec.Hosts[i].BMC
		if user, _, _ := bmc.Credentials.Login(); user != want.user || bmc.Insecure != want.insecure {
			t.Errorf("%s: user %s, insecure %v", c.Spec.Hosts[i].Name, user, bmc.Insecure)
		}
	}
	if c.Spec.Hosts[2].BMC != nil {
		t.Error("a host without bmc has one")
	}
}

// TestFencingByDefault: two machines are a cluster with fencing if both have it, and of more machines no two are.
func TestFencingByDefault(t *testing.T) {
	for name, test := range map[string]struct {
		hosts, fenced int
		fencing       bool
	}{"both": {2, 2, true}, "one of two": {2, 1, false}, "two of three": {3, 2, false}} {
		var c Cluster
		for i := range test.hosts {
			h := Host{Role: ControlPlane}
			if i < test.fenced {
				h.Fencing = &Fencing{}
			}
			c.Spec.Hosts = append(c.Spec.Hosts, h)
		}
		c.defaultTopology()
		check.Equal(t, c.Spec.Topology.Fencing, test.fencing, name)
	}
}
