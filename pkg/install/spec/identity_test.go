package spec

import (
	"fmt"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

func TestIdentity(t *testing.T) {
	for name, test := range map[string]struct {
		host      Host
		macs, ips string
	}{
		"match alone": {Host{Match: Match{MAC: "52-54-00-AA-00-01"}}, "[52:54:00:aa:00:01]", "[]"},
		"no MAC":      {Host{Match: Match{Serial: "7"}}, "[]", "[]"},
		"short form": {
			Host{Match: Match{MAC: "52:54:00:aa:00:01"}, Net: &HostNet{IP: "192.0.2.7/24", IP6: "2001:db8::7/64", Interface: "eno1", MAC: "52:54:00:AA:00:02"}},
			"[52:54:00:aa:00:01 52:54:00:aa:00:02]", "[192.0.2.7 2001:db8::7]",
		},
		"DHCP": {Host{Net: &HostNet{IP: "dhcp", IP6: "auto"}}, "[]", "[]"},
		"nmstate": {
			Host{Net: &HostNet{NMState: &Document{content: `interfaces: [{name: a, type: ethernet, mac-address: "52:54:00:AA:00:03", ipv4: {enabled: true, address: [{ip: 192.0.2.8, prefix-length: 24}]}, ipv6: {enabled: true, address: [{ip: "fe80::8", prefix-length: 64}]}}]`}}},
			"[52:54:00:aa:00:03]", "[192.0.2.8]",
		},
		"nmstate that is none": {Host{Net: &HostNet{NMState: &Document{content: `[`}}}, "[]", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Cluster{}
			check.Equal(t, fmt.Sprint(c.MACsOf(&test.host)), test.macs, "MAC addresses")
			check.Equal(t, fmt.Sprint(c.StaticAddressesOf(&test.host)), test.ips, "addresses")
		})
	}
}
