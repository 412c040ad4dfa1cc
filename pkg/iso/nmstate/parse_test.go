package nmstate_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// Everything that is not understood, or cannot work, is named with its place.
func TestRefusals(t *testing.T) {
	// nic is an interface with a static address, in lines 1 to 5.
	const nic = `interfaces:
- name: eth0
  type: ethernet
  mac-address: 52:54:00:00:00:01
  ipv4: {enabled: true, address: [{ip: 10.0.0.9, prefix-length: 24}]}
`
	const second = "- name: eth1\n  mac-address: 52:54:00:00:00:02\n"
	for name, c := range map[string]struct{ document, want string }{
		"not YAML":             {"interfaces: [", "x.yaml:1:13: is not valid YAML: what [ opens here is never closed"},
		"empty":                {"", "x.yaml:1:1: is empty"},
		"two documents":        {"interfaces: []\n---\nroutes: {}\n", "x.yaml:3:1: a second document starts here, but a machine has only one document"},
		"not a map":            {"[]", "x.yaml:1:1: has to be a map, but is a list"},
		"twice a key":          {"routes: {}\nroutes: {}\n", `x.yaml:2:1: the key "routes" appears here a second time, first in line 1`},
		"unknown at the top":   {nic + "ovs-db: {external_ids: {a: b}}\n", "x.yaml:6:1: ovs-db: is not supported"},
		"rule's interface":     {nic + "route-rules:\n  config: [{ip-from: 10.0.0.0/8, iif: eth0}]\n", "x.yaml:7:39: route-rules.config[0].iif: eth0 names a device, and the names of physical ones are not known before the machine boots; write ip-from"},
		"rule's families":      {nic + "route-rules:\n  config: [{ip-from: 10.0.0.0/8, ip-to: 'fd00::/8'}]\n", "x.yaml:7:13: route-rules.config[0]: fd00::/8 is of another family than ipv4"},
		"rule without address": {nic + "route-rules:\n  config: [{family: ipv6, route-table: 5}]\n", "x.yaml:7:13: route-rules.config[0]: no interface has addresses of its family"},
		"rule's mark":          {nic + "route-rules:\n  config: [{fwmark: red}]\n", `x.yaml:7:21: route-rules.config[0].fwmark: "red" is not a number of 32 bits`},
		"unknown of a rule":    {nic + "route-rules:\n  config: [{ip-from: 10.0.0.0/8, tos: 1}]\n", "x.yaml:7:34: route-rules.config[0].tos: is not supported"},
		"no name":              {"interfaces:\n- type: ethernet\n", "x.yaml:2:3: interfaces[0].name: is missing"},
		"type":                 {"interfaces:\n- name: a\n  type: infiniband\n", `x.yaml:3:9: interfaces[0].type: "infiniband" is not supported; it may be ethernet, bond, vlan, linux-bridge, dummy, vrf, vxlan, ovs-bridge, ovs-interface, mac-vlan, mac-vtap, veth, loopback`},
		"loopback's address":   {"interfaces:\n- name: lo\n  type: loopback\n  ipv4: {address: [{ip: 192.0.2.1, prefix-length: 32}]}\n", "x.yaml:2:3: interfaces[0]: lo has additional addresses, but no profile is made for a loopback interface; give them to an interface of type dummy"},
		"state":                {"interfaces:\n- name: a\n  state: gone\n", `x.yaml:3:10: interfaces[0].state: "gone" is not supported; it may be up, down, absent, ignore`},
		"ignored port":         {"interfaces:\n- {name: a, state: ignore}\n- {name: b, type: bond, link-aggregation: {mode: 1, port: [a]}}\n", "x.yaml:3:60: interfaces[1].link-aggregation.port: a is ignore and cannot be a port of b"},
		"unknown of interface": {"interfaces:\n- name: a\n  ethtool: {feature: {rx-magic: true}}\n", "x.yaml:3:23: interfaces[0].ethtool.feature.rx-magic: is not supported"},
		"unknown in ipv4":      {"interfaces:\n- name: a\n  ipv4: {enabled: true, forwarding: true}\n", "x.yaml:3:25: interfaces[0].ipv4.forwarding: is not supported"},
		"sr-iov":               {"interfaces:\n- name: a\n  ethernet:\n    sr-iov: {total-vfs: 2, vfs: [{id: 2}]}\n", "x.yaml:4:35: interfaces[0].ethernet.sr-iov.vfs[0].id: 2 is not below total-vfs"},
		"802.1x without way":   {"interfaces:\n- name: a\n  802.1x: {identity: me, ca-cert: ca.pem}\n", "x.yaml:3:12: interfaces[0].802.1x.eap-methods: is missing\nx.yaml:3:35: interfaces[0].802.1x.ca-cert: \"ca.pem\" is not the path of a file on the machine, which starts with a slash"},
		"quiet mac-vlan":       {nic + "- {name: m, type: mac-vlan, mac-vlan: {base-iface: eth0, mode: bridge, promiscuous: false}}\n", "x.yaml:6:85: interfaces[1].mac-vlan.promiscuous: cannot be switched off in mode bridge, only in passthru"},
		"mac-vlan's mode":      {nic + "- {name: m, type: mac-vlan, mac-vlan: {base-iface: eth0, mode: loud}}\n", `x.yaml:6:64: interfaces[1].mac-vlan.mode: "loud" is not supported; it may be vepa, bridge, private, passthru, source`},
		"veth without peer":    {"interfaces:\n- {name: v, type: veth}\n", "x.yaml: interfaces[0].veth.peer: is missing"},
		"vrf without table":    {"interfaces:\n- {name: v, type: vrf, vrf: {port: [a]}}\n", "x.yaml:2:30: interfaces[0].vrf.route-table-id: is missing"},
		"vxlan without id":     {"interfaces:\n- {name: v, type: vxlan, vxlan: {remote: 10.0.0.1}}\n", "x.yaml:2:34: interfaces[0].vxlan.id: is missing"},
		"trunks of a switch":   {"interfaces:\n- {name: s, type: ovs-bridge, bridge: {port: [{name: a, vlan: {mode: trunk, trunk-tags: [{id: 1}]}}]}}\n", "x.yaml:2:77: interfaces[0].bridge.port[0].vlan.trunk-tags: is not supported: the NetworkManager versions of current releases have no list of trunks; omit it, and the trunk accepts all VLANs"},
		"loose ovs-interface":  {"interfaces:\n- {name: s, type: ovs-interface}\n", "x.yaml:2:4: interfaces[0]: s is not a port of an ovs-bridge of this document"},
		"a bond's on ethernet": {nic + "  link-aggregation: {mode: 1}\n", "x.yaml:6:3: interfaces[0].link-aggregation: is not supported"},
		"name of a path":       {"interfaces:\n- name: ../a\n", `x.yaml:2:9: interfaces[0].name: "../a" cannot be the name of an interface`},
		"long name":            {"interfaces:\n- name: bond-of-the-north\n  type: bond\n  link-aggregation: {mode: 1, port: [eth0]}\n", `x.yaml:2:9: interfaces[0].name: "bond-of-the-north" is too long: a device has at most 15 characters`},
		"mtu":                  {"interfaces:\n- {name: a, mtu: big}\n", `x.yaml:2:18: interfaces[0].mtu: has to be a whole number from 68 to 65535, but is "big"`},
		"mac":                  {"interfaces:\n- {name: a, mac-address: 52:54}\n", `x.yaml:2:26: interfaces[0].mac-address: "52:54" is not the MAC address of a device`},
		"mac of a template":    {"interfaces:\n- {name: a, mac-address: '00:00:00:00:00:00'}\n", `x.yaml:2:26: interfaces[0].mac-address: "00:00:00:00:00:00" is not the MAC address of a device`},
		"identifier alone":     {"interfaces:\n- {name: a, identifier: mac-address}\n", "x.yaml:2:4: interfaces[0].mac-address: is missing, but identifier uses it to find the interface"},
		"bool":                 {"interfaces:\n- {name: a, ipv4: {enabled: perhaps}}\n", `x.yaml:2:29: interfaces[0].ipv4.enabled: has to be true or false, but is "perhaps"`},
		"address":              {"interfaces:\n- {name: a, ipv4: {address: [{ip: 10.0.0, prefix-length: 24}]}}\n", `x.yaml:2:35: interfaces[0].ipv4.address[0].ip: "10.0.0" is not an IP address`},
		"address missing":      {"interfaces:\n- {name: a, ipv4: {address: [{prefix-length: 24}]}}\n", "x.yaml:2:31: interfaces[0].ipv4.address[0].ip: is missing"},
		"prefix":               {"interfaces:\n- {name: a, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 33}]}}\n", `x.yaml:2:60: interfaces[0].ipv4.address[0].prefix-length: has to be a whole number from 0 to 32, but is "33"`},
		"other family":         {"interfaces:\n- {name: a, ipv6: {address: [{ip: 10.0.0.1, prefix-length: 24}]}}\n", "x.yaml:2:35: interfaces[0].ipv6.address[0].ip: 10.0.0.1 is of the other family"},
		"off with address":     {"interfaces:\n- {name: a, ipv4: {enabled: false, dhcp: true}}\n", "x.yaml:2:20: interfaces[0].ipv4: is not enabled, but has address settings; remove one of the two"},
		"autoconf alone":       {"interfaces:\n- {name: a, ipv6: {enabled: true, autoconf: true}}\n", "x.yaml:2:20: interfaces[0].ipv6.autoconf: is not possible without dhcp: NetworkManager uses DHCPv6 if the router requests it; write dhcp: true"},
		"duid":                 {"interfaces:\n- {name: a, ipv6: {enabled: true, dhcp: true, dhcp-duid: mine}}\n", `x.yaml:2:58: interfaces[0].ipv6.dhcp-duid: "mine" is neither ll, llt, uuid nor bytes in hexadecimal`},
		"host name":            {"interfaces:\n- {name: a, ipv4: {dhcp: true, dhcp-custom-hostname: 'a b'}}\n", `x.yaml:2:54: interfaces[0].ipv4.dhcp-custom-hostname: "a b" is not a host name`},
		"token":                {"interfaces:\n- {name: a, ipv6: {dhcp: true, autoconf: true, token: 'fd00::5'}}\n", `x.yaml:2:55: interfaces[0].ipv6.token: "fd00::5" is not the lower half of an IPv6 address, such as ::5`},
		"name twice":           {nic + "- name: eth0\n", "x.yaml:6:3: interfaces[1].name: eth0 appears here a second time, first in line 2"},
		"mac twice":            {nic + "- name: eth1\n  mac-address: 52:54:00:00:00:01\n", "x.yaml:7:16: interfaces[1].mac-address: 52:54:00:00:00:01 is the address of eth0 already"},
		"address twice":        {nic + second + "  ipv4: {address: [{ip: 10.0.0.9, prefix-length: 24}]}\n", "x.yaml:8:21: interfaces[1].ipv4.address[0]: 10.0.0.9 is an address of eth0 already"},
		"bond mode":            {"interfaces:\n- name: b\n  type: bond\n  link-aggregation: {mode: lacp, port: [a]}\n", `x.yaml:4:28: interfaces[0].link-aggregation.mode: "lacp" is not a mode of bonds; it may be balance-rr, active-backup, balance-xor, broadcast, 802.3ad, balance-tlb, balance-alb`},
		"bond option":          {"interfaces:\n- name: b\n  type: bond\n  link-aggregation: {mode: 1, port: [a], options: {primary: c}}\n", "x.yaml:4:61: interfaces[0].link-aggregation.options.primary: c is not a port of the bond"},
		"bond without choice":  {"interfaces:\n- name: b\n  type: bond\n  link-aggregation: {mode: 4, port: [a], options: {primary: a}}\n", "x.yaml:4:61: interfaces[0].link-aggregation.options.primary: means nothing in mode 802.3ad"},
		"bond option's mode":   {"interfaces:\n- name: b\n  type: bond\n  link-aggregation: {mode: 1, port: [a], options: {lacp_rate: fast}}\n", "x.yaml:4:63: interfaces[0].link-aggregation.options.lacp_rate: means nothing in mode active-backup"},
		"bond option's value":  {"interfaces:\n- name: b\n  type: bond\n  link-aggregation: {mode: 4, port: [a], options: {lacp_rate: 7}}\n", `x.yaml:4:63: interfaces[0].link-aggregation.options.lacp_rate: "7" is not one of slow, fast`},
		"two monitors":         {"interfaces:\n- name: b\n  type: bond\n  link-aggregation: {mode: 1, port: [a], options: {miimon: 1, arp_interval: 1, arp_ip_target: 10.0.0.1}}\n", "x.yaml:4:52: interfaces[0].link-aggregation.options: miimon and arp_interval cannot be used together"},
		"bond without ports":   {"interfaces:\n- name: b\n  type: bond\n  link-aggregation: {mode: 1}\n", "x.yaml:2:3: interfaces[0].link-aggregation.port: the bond b has no ports"},
		"port with address":    {nic + "- name: b\n  type: bond\n  link-aggregation: {mode: 1, port: [eth0]}\n", "x.yaml:5:10: interfaces[0].ipv4: eth0 is a port of b, and a port has no addresses"},
		"port that waits":      {"interfaces:\n- name: eth0\n  wait-ip: ipv4\n- name: b\n  type: bond\n  link-aggregation: {mode: 1, port: [eth0]}\n", "x.yaml:3:12: interfaces[0].wait-ip: eth0 is a port of b, and a port has no addresses to wait for; set it on b"},
		"wait for nothing":     {nic + "  wait-ip: ipv4+ipv6\n", "x.yaml:6:12: interfaces[0].wait-ip: eth0 has no IPv6 addresses to wait for"},
		"port of two":          {"interfaces:\n- name: b\n  type: bond\n  link-aggregation: {mode: 1, port: [a]}\n- name: c\n  type: linux-bridge\n  bridge: {port: [{name: a}]}\n", "x.yaml:7:26: interfaces[1].bridge.port[0]: a is a port of b already"},
		"controller":           {nic + "  controller: b\n", "x.yaml:6:15: interfaces[0].controller: b is not a bond or bridge of this document"},
		"VLAN filtering":       {"interfaces:\n- name: c\n  type: linux-bridge\n  bridge: {port: [{name: a, vlan: {mode: trunk}}]}\n", "x.yaml:4:29: interfaces[0].bridge.port[0].vlan: is not supported: bridges do not filter VLANs here; make a VLAN interface a port"},
		"vlan without base":    {"interfaces:\n- name: a.1\n  type: vlan\n  vlan: {id: 1}\n", "x.yaml:4:10: interfaces[0].vlan.base-iface: is missing"},
		"vlan id":              {"interfaces:\n- name: a.1\n  type: vlan\n  vlan: {base-iface: a, id: 4095}\n", `x.yaml:4:29: interfaces[0].vlan.id: has to be a whole number from 0 to 4094, but is "4095"`},
		"vlan on itself":       {"interfaces:\n- name: a.1\n  type: vlan\n  vlan: {base-iface: a.2, id: 1}\n- name: a.2\n  type: vlan\n  vlan: {base-iface: a.1, id: 1}\n", "x.yaml:4:22: interfaces[0].vlan.base-iface: a.1 stands on itself\nx.yaml:7:22: interfaces[1].vlan.base-iface: a.2 stands on itself"},
		"gateway outside":      {nic + "routes:\n  config:\n  - {destination: 0.0.0.0/0, next-hop-address: 10.0.1.1, next-hop-interface: eth0}\n", "x.yaml:8:6: routes.config[0].next-hop-address: the gateway 10.0.1.1 is outside every subnet of eth0"},
		"gateway's family":     {nic + "routes:\n  config:\n  - {destination: 0.0.0.0/0, next-hop-address: 'fd00::1', next-hop-interface: eth0}\n", "x.yaml:8:48: routes.config[0].next-hop-address: fd00::1 is of another family than 0.0.0.0/0"},
		"route of no family":   {nic + "routes:\n  config:\n  - {destination: '::/0', next-hop-address: 'fd00::1', next-hop-interface: eth0}\n", "x.yaml:8:6: routes.config[0]: eth0 has no addresses of the family of ::/0"},
		"route to nowhere":     {nic + "routes:\n  config:\n  - {destination: 0.0.0.0/0, next-hop-address: 10.0.0.1, next-hop-interface: eth9}\n", "x.yaml:8:78: routes.config[0].next-hop-interface: eth9 is not an interface of this document"},
		"route without out":    {nic + "routes:\n  config:\n  - {destination: 0.0.0.0/0, next-hop-address: 10.0.0.1}\n", "x.yaml:8:6: routes.config[0].next-hop-interface: is missing"},
		"route's weight":       {nic + "routes:\n  config:\n  - {destination: 0.0.0.0/0, next-hop-address: 10.0.0.1, next-hop-interface: eth0, weight: 2}\n", "x.yaml:8:84: routes.config[0].weight: is not supported: several gateways for one route are not supported"},
		"DNS":                  {nic + "dns-resolver:\n  config: {server: [dns.example.com]}\n", `x.yaml:7:21: dns-resolver.config.server: "dns.example.com" is not an IP address`},
		"DNS without family":   {nic + "dns-resolver:\n  config: {server: ['fd00::53']}\n", "x.yaml:7:21: dns-resolver.config.server: no interface can reach fd00::53: no interface has addresses of its family"},
		"alias bomb":           {"a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e]\n", "x.yaml:1:1: grows too large when its aliases are followed"},
		"depth":                {strings.Repeat("[", 200), "x.yaml:1:101: is nested more than 100 levels deep"},
		"control character":    {"interfaces:\n- name: a\n  description: \"a\\nb\"\n", "x.yaml:3:16: interfaces[0].description: contains a control character"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := nmstate.Parse("x.yaml", []byte(c.document))
			got := "no error"
			if err != nil {
				got = err.Error()
			}
			check.Same(t, c.want, got)
		})
	}
}

// What nmstate shows of a machine is accepted, and reported with its place; so is what belongs to the machine and not
// to its network.
func TestIgnored(t *testing.T) {
	data := must.Get(os.ReadFile("testdata/production.yaml"))(t)
	state := must.Get(nmstate.Parse("x.yaml", data))(t)
	var fields []string
	for _, p := range state.Ignored() {
		if p.Line == 0 || p.Message == "" {
			t.Errorf("%q has no place or no reason", p)
		}
		fields = append(fields, p.Field)
	}
	want := []string{
		"hostname.running", "hostname.config", "interfaces[0]", "interfaces[1].permanent-mac-address", "interfaces[1].min-mtu", "interfaces[1].max-mtu",
		"interfaces[1].ethtool.ring.rx-max", "interfaces[3].ipv4.address[0].valid-life-time", "interfaces[3].ipv4.address[0].preferred-life-time",
		"interfaces[4]", "routes.running", "dns-resolver.running",
	}
	check.Same(t, want, fields)
}

// TestLimits distinguishes what is wrong from what nmstate accepts and no profile is made of, and leaves out keys of an
// interface that nmstate leaves out.
func TestLimits(t *testing.T) {
	const nic = "interfaces:\n- name: eth0\n  mac-address: 52:54:00:00:00:01\n"
	for name, c := range map[string]struct {
		document string
		limit    bool
		ignored  string
	}{
		"a type":                  {"interfaces:\n- {name: ib0, type: infiniband}\n", true, ""},
		"a script":                {nic + "  dispatch: {post-activation: 'date'}\n", true, ""},
		"forwarding":              {nic + "  ipv4: {enabled: true, dhcp: true, forwarding: true}\n", true, ""},
		"VLANs of a bridge":       {nic + "- {name: b, type: linux-bridge, bridge: {port: [{name: eth0, vlan: {mode: trunk, trunk-tags: [{id: 5}]}}]}}\n", true, ""},
		"a port by its own name":  {"interfaces:\n- {name: b, type: bond, link-aggregation: {mode: 1, port: [eno1]}}\n", false, ""},
		"a wrong address":         {nic + "  ipv4: {enabled: true, address: [{ip: 10.0.0, prefix-length: 24}]}\n", false, ""},
		"wrong beside a limit":    {nic + "  dispatch: {post-activation: 'date'}\nroutes:\n  config: [{destination: 0.0.0.0/0, next-hop-address: 10.0.0.1, next-hop-interface: eth9}]\n", false, ""},
		"a key in another letter": {nic + "  macAddress: 52:54:00:00:00:01\n", false, "x.yaml:4:3: interfaces[0].macAddress: nmstate knows no such key of an interface; write mac-address"},
		"loopback as it is shown": {nic + "- {name: lo, type: loopback, mtu: 65536, mac-address: '00:00:00:00:00:00', ipv4: {enabled: true, address: [{ip: 127.0.0.1, prefix-length: 8}]}}\n", false,
			"x.yaml:4:4: interfaces[1]: every machine already has the loopback interface lo\nx.yaml:4:30: interfaces[1].mtu: nmstate only shows it; it cannot be set\nx.yaml:4:42: interfaces[1].mac-address: nmstate only shows it; it cannot be set"},
	} {
		t.Run(name, func(t *testing.T) {
			state, err := nmstate.Parse("x.yaml", []byte(c.document))
			problems, _ := errors.AsType[nmstate.Problems](err)
			limits := len(problems) > 0
			for _, p := range problems {
				limits = limits && p.Limit
			}
			if limits != c.limit {
				t.Errorf("limits only: %v\n%v", limits, err)
			}
			if c.ignored == "" {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			check.Same(t, c.ignored, state.Ignored().Error())
		})
	}
}

// All problems of a document come at once, in the order of their lines.
func TestAllProblems(t *testing.T) {
	_, err := nmstate.Parse("x.yaml", []byte("route-rules: {config: [1]}\ninterfaces:\n- {name: a, mtu: x, dispatch: {}}\n- {name: b, type: team}\n"))
	var problems nmstate.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	var at []int
	for _, p := range problems {
		at = append(at, p.Line)
	}
	if diff := cmp.Diff([]int{1, 3, 3, 4}, at); diff != "" {
		t.Errorf("%s\n%v", diff, err)
	}
}

// What stands on a physical interface without an entry finds it by its MAC
// address, and is refused without.
func TestMACs(t *testing.T) {
	bond := "interfaces:\n- name: bond0\n  type: bond\n  link-aggregation: {mode: 1, port: [eth0, eth1]}\n"
	for name, c := range map[string]struct {
		document string
		macs     map[string]string
		want     string
	}{
		"all there":            {bond, map[string]string{"eth0": "52:54:00:00:00:01", "eth1": "52-54-00-00-00-02", "other": "52:54:00:00:00:03"}, ""},
		"missing port":         {bond, map[string]string{"eth0": "52:54:00:00:00:01"}, "x.yaml:4:44: interfaces[0].link-aggregation.port: eth1 is not an interface of this document, and no MAC address is known for it"},
		"missing base":         {"interfaces:\n- {name: v, type: vlan, vlan: {id: 1, base-iface: eth0}}\n", nil, "x.yaml:2:51: interfaces[0].vlan.base-iface: eth0 is not an interface of this document, and no MAC address is known for it"},
		"unknown":              {"interfaces:\n- name: eth0\n", nil, "x.yaml:2:3: interfaces[0]: no MAC address is known for eth0: give one, or write identifier: mac-address and mac-address"},
		"by its own name":      {"interfaces:\n- name: b\n  type: bond\n  link-aggregation: {mode: 1, port: [ens1f0v0, ens1f1v0]}\n", map[string]string{"boot": "52:54:00:00:00:01"}, ""},
		"only by its own name": {"interfaces:\n- name: eno1\n", nil, "x.yaml:2:3: interfaces[0]: no MAC address is known for eno1: give one, or write identifier: mac-address and mac-address"},
		"absent":               {"interfaces:\n- {name: eth0, state: absent}\n", nil, ""},
		"twice":                {bond, map[string]string{"eth0": "52:54:00:00:00:01", "eth1": "52:54:00:00:00:01"}, "x.yaml:4:44: interfaces[0].link-aggregation.port: eth1 has the MAC address of eth0"},
		"no MAC":               {bond, map[string]string{"eth0": "52:54:00:00:00:01", "eth1": "x"}, "x.yaml: \"x\" is not a valid MAC address of eth1\nx.yaml:4:44: interfaces[0].link-aggregation.port: eth1 is not an interface of this document, and no MAC address is known for it"},
		"contradicted":         {"interfaces:\n- {name: eth0, identifier: mac-address, mac-address: '52:54:00:00:00:09'}\n", map[string]string{"eth0": "52:54:00:00:00:01"}, "x.yaml:2:54: interfaces[0].mac-address: is 52:54:00:00:00:09, but the machine's eth0 has 52:54:00:00:00:01"},
	} {
		t.Run(name, func(t *testing.T) {
			state := must.Get(nmstate.Parse("x.yaml", []byte(c.document)))(t)
			got := ""
			if _, err := state.Keyfiles(c.macs); err != nil {
				got = err.Error()
			}
			check.Same(t, c.want, got)
		})
	}
}

// The same document on two machines makes profiles of different UUIDs, and the
// same ones every time.
func TestUUIDs(t *testing.T) {
	data := must.Get(os.ReadFile("testdata/bond-vlan.yaml"))(t)
	one, again := keyfiles(t, "x", data, macs()), keyfiles(t, "x", data, macs())
	check.Same(t, one, again)
	other := macs()
	other["eno2"] = "52:54:00:00:01:02"
	for i, file := range keyfiles(t, "x", data, other) {
		same := string(file.Content) == string(one[i].Content)
		if same != (file.Name == "eno1.nmconnection") && !strings.Contains(string(file.Content), "slave-type") {
			t.Errorf("%s is the same on another machine: %v", file.Name, same)
		}
	}
}
