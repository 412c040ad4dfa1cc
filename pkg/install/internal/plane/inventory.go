package plane

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/setting"
)

// BMCAddress is the management controller's address; agents say 0.0.0.0 and
// ::/0 for none.
func BMCAddress(candidates ...string) string {
	for _, text := range candidates {
		bare, _, _ := strings.Cut(text, "/")
		if address, err := netip.ParseAddr(bare); err == nil && !address.IsUnspecified() {
			return address.String()
		}
	}
	return ""
}

// Architecture is an architecture as cluster.yaml and the service's requests spell
// it; agents report the kernel's word.
func Architecture(reported string) string {
	if reported == "aarch64" {
		return "arm64"
	}
	return reported
}

// SortNetworks brings static networks into the order of their first MAC addresses.
func SortNetworks(networks []setting.StaticNetwork) {
	first := func(n setting.StaticNetwork) string {
		if len(n.MACs) == 0 {
			return n.YAML
		}
		return n.MACs[0].MAC
	}
	slices.SortStableFunc(networks, func(a, b setting.StaticNetwork) int { return cmp.Compare(first(a), first(b)) })
}
