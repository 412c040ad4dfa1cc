package nmstate_test

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// What the short form of cluster.yaml compiles to, and what its examples have as
// nmstate, is understood whole.
func TestDocumentsOfClusters(t *testing.T) {
	const off = "  ipv4:\n    enabled: false\n  ipv6:\n    enabled: false\n"
	nic := func(name string) string { return "- name: " + name + "\n  type: ethernet\n  state: up\n" }
	const static4 = "  ipv4:\n    enabled: true\n    dhcp: false\n    address:\n    - ip: \"192.168.10.9\"\n      prefix-length: 24\n"
	const static6 = "  ipv6:\n    enabled: true\n    dhcp: false\n    autoconf: false\n    address:\n    - ip: \"fd10::9\"\n      prefix-length: 64\n"
	const none6 = "  ipv6:\n    enabled: false\n"
	const dns = "dns-resolver:\n  config:\n    server:\n    - \"192.168.10.1\"\n    search:\n    - example.com\n"
	route := func(destination, via, out string) string {
		return "  - destination: \"" + destination + "\"\n    next-hop-address: \"" + via + "\"\n    next-hop-interface: " + out + "\n"
	}
	const bond = "- name: bond0\n  type: bond\n  state: up\n  link-aggregation:\n    mode: \"802.3ad\"\n    options:\n      miimon: \"100\"\n    port:\n    - eno1\n    - nic1\n  mtu: 9000\n"
	for name, c := range map[string]struct {
		document string
		files    string
		want     []string
	}{
		"address": {"interfaces:\n" + nic("nic0") + static4 + none6 + dns + "routes:\n  config:\n" + route("0.0.0.0/0", "192.168.10.1", "nic0"), "nic0",
			[]string{"address1=192.168.10.9/24\n", "route1=0.0.0.0/0,192.168.10.1\n", "dns=192.168.10.1;\n", "dns-search=example.com;\n", "mac-address=52:54:00:00:00:20\n"}},
		"dual": {"interfaces:\n" + nic("nic0") + static4 + static6 + dns + "routes:\n  config:\n" + route("0.0.0.0/0", "192.168.10.1", "nic0") + route("::/0", "fd10::1", "nic0"), "nic0",
			[]string{"address1=fd10::9/64\n", "route1=::/0,fd10::1\n"}},
		"IPv6 only": {"interfaces:\n" + nic("nic0") + "  ipv4:\n    enabled: false\n" + static6 + "dns-resolver:\n  config:\n    server:\n    - \"fd10::53\"\nroutes:\n  config:\n" + route("::/0", "fd10::1", "nic0"), "nic0",
			[]string{"[ipv4]\nmethod=disabled\n", "dns=fd10::53;\n"}},
		"mixed": {"interfaces:\n" + nic("nic0") + "  ipv4:\n    enabled: true\n    dhcp: true\n    auto-dns: false\n" + static6 + "dns-resolver:\n  config:\n    server:\n    - \"192.168.10.1\"\n", "nic0",
			[]string{"method=auto\n", "ignore-auto-dns=true\n", "dns=192.168.10.1;\n", "[ipv6]\nmethod=manual\n"}},
		"bond and VLAN": {"interfaces:\n" + nic("eno1") + "  mtu: 9000\n" + off + nic("nic1") + "  mtu: 9000\n" + off + bond + off +
			"- name: bond0.100\n  type: vlan\n  state: up\n  vlan:\n    base-iface: bond0\n    id: 100\n  mtu: 9000\n" + static4 + none6 + dns + "routes:\n  config:\n" + route("0.0.0.0/0", "192.168.10.1", "bond0.100") + route("10.0.0.0/8", "192.168.10.2", "bond0.100") + "    metric: 50\n",
			"bond0.100 bond0 eno1 nic1", []string{"mode=802.3ad\nmiimon=100\n", "id=100\n", "slave-type=bond\n", "route2=10.0.0.0/8,192.168.10.2,50\n"}},
		"VLAN with DHCP": {"interfaces:\n" + nic("ens3") + off + "- name: ens3.7\n  type: vlan\n  state: up\n  vlan:\n    base-iface: ens3\n    id: 7\n  ipv4:\n    enabled: true\n    dhcp: true\n  ipv6:\n    enabled: true\n    dhcp: true\n    autoconf: true\n",
			"ens3.7 ens3", []string{"method=auto\n", "id=7\n"}},
		"pass-through": {"interfaces:\n- name: eth0\n  type: ethernet\n  state: up\n  mtu: 1500\n  mac-address: \"52:54:00:00:00:03\"\nroutes: {}\ndns-resolver:\n  config:\n    server: []\n", "eth0",
			[]string{"mtu=1500\n"}},
		"JSON": {`{"interfaces":[{"name":"eth0","type":"ethernet","ipv4":{"enabled":true,"dhcp":true}}]}`, "eth0", []string{"method=auto\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			macs := map[string]string{"nic0": "52:54:00:00:00:20", "eno1": "52:54:00:00:00:21", "nic1": "52:54:00:00:00:22", "ens3": "52:54:00:00:00:23", "eth0": "52:54:00:00:00:24"}
			var names, all strings.Builder
			for _, file := range keyfiles(t, "host", []byte(c.document), macs) {
				names.WriteString(strings.TrimSuffix(file.Name, ".nmconnection") + " ")
				all.Write(file.Content)
				check.Do(t, nmstate.CheckKeyfile(file.Name, file.Content))
			}
			check.Equal(t, strings.TrimSpace(names.String()), c.files, "keyfiles")
			for _, want := range c.want {
				if !strings.Contains(all.String(), want) {
					t.Errorf("no %q in\n%s", want, &all)
				}
			}
		})
	}
}
