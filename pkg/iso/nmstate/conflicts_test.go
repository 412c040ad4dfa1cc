package nmstate_test

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

func TestConflicts(t *testing.T) {
	state := func(ip string) *nmstate.State {
		return must.Get(nmstate.Parse("net.yaml", []byte("interfaces:\n- name: eth0\n  ipv4: {enabled: true, address: [{ip: "+ip+", prefix-length: 24}]}\n  ipv6: {enabled: true, address: [{ip: 'fe80::1', prefix-length: 64}]}\n")))(t)
	}
	bonded := must.Get(nmstate.Parse("net.yaml", []byte("interfaces:\n- name: bond0\n  type: bond\n  link-aggregation: {mode: 1, port: [eth0, eth1]}\n")))(t)
	mac := func(last string) map[string]string { return map[string]string{"eth0": "52:54:00:00:00:" + last} }
	file := func(name, content string) []nmstate.Keyfile {
		return []nmstate.Keyfile{{Name: name, Content: []byte(content)}}
	}
	for name, c := range map[string]struct {
		machines []nmstate.Machine
		want     []string
	}{
		"none": {[]nmstate.Machine{{Name: "a", State: state("10.0.0.1"), MACs: mac("01")}, {Name: "b", State: state("10.0.0.2"), MACs: mac("02")}, {Name: "c"}}, nil},
		"address": {[]nmstate.Machine{{Name: "a", State: state("10.0.0.1"), MACs: mac("01")}, {Name: "b", State: state("10.0.0.1"), MACs: mac("02")}},
			[]string{"b (eth0): the address 10.0.0.1 belongs to a (eth0) already"}},
		"MAC": {[]nmstate.Machine{{Name: "a", MACs: mac("0a")}, {Name: "b", State: state("10.0.0.1"), MACs: mac("0A")}},
			[]string{"b (eth0): the MAC address 52:54:00:00:00:0a belongs to a (eth0) already"}},
		"bond port": {[]nmstate.Machine{{Name: "a", State: bonded, MACs: mac("01")}},
			[]string{"a: net.yaml:4:44: interfaces[0].link-aggregation.port: eth1 is not an interface of this document, and no MAC address is known for it"}},
		"keyfile against state": {[]nmstate.Machine{{Name: "a", State: state("10.0.0.1"), MACs: mac("01")},
			{Name: "b", Keyfiles: file("x.nmconnection", "[connection]\nid=x\ntype=ethernet\n[802-3-ethernet]\nmac-address=52:54:00:00:00:01\n[ipv4]\nmethod=manual\naddress1=10.0.0.1/24,10.0.0.254\n")}},
			[]string{"b (x): the MAC address 52:54:00:00:00:01 belongs to a (eth0) already", "b (x): the address 10.0.0.1 belongs to a (eth0) already"}},
		"keyfiles of one name": {[]nmstate.Machine{{Name: "a", State: state("10.0.0.1"), MACs: mac("01"), Keyfiles: file("eth0.nmconnection", "[connection]\ntype=ethernet\n")}},
			[]string{"a: there are two keyfiles of the name eth0.nmconnection"}},
		"keyfiles alone": {[]nmstate.Machine{{Name: "a", Keyfiles: file("b.nmconnection", "[connection]\nid=b\ntype=bond\nuuid=14146ca9-d650-5aea-bbce-1a9b3c703f8a\n")},
			{Name: "b", Keyfiles: file("b.nmconnection", "[connection]\nid=p\ntype=ethernet\nmaster=bond7\n")},
			{Name: "c", Keyfiles: file("v.nmconnection", "[connection]\nid=v\ntype=vlan\n[vlan]\nid=1\nparent=14146ca9-d650-5aea-bbce-1a9b3c703f8a\n")}},
			[]string{"a (b): the bond has no ports", "b (p): is a port of bond7, which no keyfile describes", "c (v): the base 14146ca9-d650-5aea-bbce-1a9b3c703f8a of this VLAN is in no keyfile"}},
		"unreadable": {[]nmstate.Machine{{Name: "a", Keyfiles: file("b.nmconnection", "id=b\n")}},
			[]string{"a: b.nmconnection:1:1: stands before the first group, such as [connection]"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range nmstate.Conflicts(c.machines) {
				got = append(got, err.Error())
			}
			check.Same(t, c.want, got)
		})
	}
}

func TestCheckKeyfile(t *testing.T) {
	const good = "# mine\n[connection]\nid = uplink\ntype=ethernet\nuuid=14146ca9-d650-5aea-bbce-1a9b3c703f8a\n\n[ethernet]\nmac-address=52:54:00:00:00:01\n[ipv4]\nmethod=manual\naddress1=10.0.0.9/24,10.0.0.1\n[802-1x]\npassword=hidden\n"
	change := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	for name, c := range map[string]struct{ file, content, want string }{
		"good":         {"uplink.nmconnection", good, ""},
		"CRLF":         {"uplink.nmconnection", strings.ReplaceAll(good, "\n", "\r\n"), ""},
		"suffix":       {"ifcfg-eth0", good, "ifcfg-eth0: NetworkManager reads only files that end in .nmconnection"},
		"folder":       {"../x.nmconnection", good, "../x.nmconnection: the name of a keyfile must be a file name without a folder, and must not start with a dot"},
		"hidden":       {".x.nmconnection", good, ".x.nmconnection: the name of a keyfile must be a file name without a folder, and must not start with a dot"},
		"not text":     {"x.nmconnection", "[connection]\nid=\xff\n", "x.nmconnection: is not text in UTF-8"},
		"YAML":         {"x.nmconnection", "interfaces:\n- name: a\n", "x.nmconnection:1:1: stands before the first group, such as [connection]"},
		"no value":     {"x.nmconnection", change("password=hidden", "hidden"), "x.nmconnection:13:1: 802-1x: a line is neither a group nor a key with a value"},
		"twice":        {"x.nmconnection", good + "password=other\n", "x.nmconnection:14:1: 802-1x.password: appears here a second time"},
		"title":        {"x.nmconnection", change("[ipv4]", "[ipv4"), "x.nmconnection:9:1: is not the title of a group, such as [connection]"},
		"empty":        {"x.nmconnection", "", "x.nmconnection:1:1: has no group [connection]"},
		"no type":      {"x.nmconnection", change("type=ethernet\n", ""), "x.nmconnection:2:1: connection.type: is missing"},
		"type":         {"x.nmconnection", change("type=ethernet", "type=eth"), `x.nmconnection:4:1: connection.type: "eth" is not a type of NetworkManager`},
		"uuid":         {"x.nmconnection", change("14146ca9-", "14146ca9"), `x.nmconnection:5:1: connection.uuid: "14146ca9d650-5aea-bbce-1a9b3c703f8a" is not a UUID`},
		"mac":          {"x.nmconnection", change("52:54:00:00:00:01", "52:54"), `x.nmconnection:8:1: ethernet.mac-address: "52:54" is not a MAC address`},
		"method":       {"x.nmconnection", change("manual", "static"), `x.nmconnection:10:1: ipv4.method: "static" is not a method of NetworkManager`},
		"no address":   {"x.nmconnection", change("address1=10.0.0.9/24,10.0.0.1\n", ""), "x.nmconnection:10:1: ipv4.method: is manual, but there is no address"},
		"bad address":  {"x.nmconnection", change("10.0.0.9/24", "10.0.0/24"), "x.nmconnection:10:1: ipv4.method: is manual, but there is no address\nx.nmconnection:11:1: ipv4.address1: \"10.0.0/24\" is not an address with a prefix length"},
		"gateway":      {"x.nmconnection", change(",10.0.0.1", ",10.0.1.1"), "x.nmconnection:11:1: ipv4.address1: the gateway 10.0.1.1 is outside every subnet of this profile"},
		"bad gateway":  {"x.nmconnection", change(",10.0.0.1", "\ngateway=router"), "x.nmconnection:12:1: ipv4.gateway: is not an IP address"},
		"vlan":         {"x.nmconnection", "[connection]\ntype=vlan\n[vlan]\nparent=eth0\n", "x.nmconnection:3:1: vlan.id: is missing"},
		"device name":  {"x.nmconnection", "[connection]\ntype=bond\ninterface-name=bond-of-the-north\n", `x.nmconnection:3:1: connection.interface-name: "bond-of-the-north" is longer than 15 characters`},
		"other family": {"x.nmconnection", change("10.0.0.9/24,10.0.0.1", "fd00::1/64"), "x.nmconnection:10:1: ipv4.method: is manual, but there is no address\nx.nmconnection:11:1: ipv4.address1: fd00::1/64 is of the other family"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := nmstate.CheckKeyfile(c.file, []byte(c.content)); err != nil {
				got = err.Error()
			}
			check.Same(t, c.want, got)
			if strings.Contains(got, "hidden") && name != "hidden" {
				t.Error("a value that may be a secret is in the message")
			}
		})
	}
}
