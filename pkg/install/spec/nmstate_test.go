package spec

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// The short form compiles to these documents.
func TestStaticNetworkGolden(t *testing.T) {
	for name, net := range map[string]string{
		"address":   "{ip: 192.168.10.9/24}",
		"own":       "{ip: 192.168.10.9/24, gateway: 192.168.10.254, dns: [192.168.10.53], search: [example.com], mtu: 9000, interface: eno1, mac: \"52:54:00:00:00:13\"}",
		"bond-vlan": "{ip: 192.168.10.9/24, vlan: 100, bond: {ports: [eno1, \"52:54:00:00:00:23\"], mode: lacp}, interfaces: [{name: eno1, mac: \"52:54:00:00:00:03\"}], routes: [{destination: 10.0.0.0/8, gateway: 192.168.10.2, metric: 50}]}",
		"vlan":      "{vlan: 7, interfaces: [{name: ens3, mac: \"52:54:00:00:00:03\"}]}",
		"dual":      "{ip: 192.168.10.9/24, ip6: \"fd10::9/64\", gateway6: \"fd10::1\"}",
		"ipv6-only": "{ip: \"fd10::9/64\", gateway: \"fd10::1\", dns: [\"fd10::53\"]}",
		"mixed":     "{ip: dhcp, ip6: \"fd10::9/64\"}",
		"ports":     "{interfaces: [{name: eno1, mac: \"52:54:00:00:00:03\"}, {name: eno2, mac: \"52:54:00:00:00:23\"}], nmstate: {interfaces: [{name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, port: [eno1, eno2]}}]}}",
		"nmstate":   "{nmstate: {interfaces: [{name: eth0, type: ethernet, state: up, mtu: 1500, mac-address: \"52:54:00:00:00:03\"}], routes: {}, dns-resolver: {config: {server: []}}}}",
	} {
		t.Run(name, func(t *testing.T) {
			c := must.Get(parse(t, edit{more, "    net: " + net + "\n"}.apply(t, good), nil))(t)
			text, macs, ok := c.StaticNetwork(&c.Spec.Hosts[2])
			if !ok {
				t.Fatal("the host has no network")
			}
			got := text + "---\n"
			for _, mac := range macs {
				got += fmt.Sprintf("%s: %s\n", mac.Name, mac.MAC)
			}
			golden := "testdata/net-" + name + ".yaml"
			if *update {
				must.Do(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want := must.Get(os.ReadFile(golden))(t)
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("run with -update if this is meant (-want +got):\n%s", diff)
			}
			if _, _, ok := c.StaticNetwork(&c.Spec.Hosts[0]); ok {
				t.Error("a host without net has a network")
			}
		})
	}
}
