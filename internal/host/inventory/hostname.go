//go:build linux

package inventory

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

// isForbiddenHostname reports whether a name cannot name a host of a cluster.
func isForbiddenHostname(name string) bool {
	return slices.Contains([]string{
		"localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6", "localhost6.localdomain6",
	}, name)
}

// usableHostname is the machine's own name. If it is forbidden, it is the MAC address of the first interface that has an
// address in a network, such as 52-54-00-12-34-56.
func (c Collector) usableHostname(name string, interfaces []*models.Interface) string {
	if !isForbiddenHostname(name) {
		return name
	}
	byName := slices.SortedFunc(slices.Values(interfaces), func(a, b *models.Interface) int { return strings.Compare(a.Name, b.Name) })
	for _, i := range byName {
		if !slices.Contains([]string{typePhysical, "vlan", "bond"}, i.Type) || i.MacAddress == "" {
			continue
		}
		if slices.ContainsFunc(slices.Concat(i.IPV4Addresses, i.IPV6Addresses), isGlobal) {
			made := strings.ToLower(strings.ReplaceAll(i.MacAddress, ":", "-"))
			c.logger().Info("inventory: the host is named by a MAC address", "instead of", escape.Word(name), "name", made)
			return made
		}
	}
	return name
}

// isGlobal reports whether an address with its prefix length, such as 192.0.2.1/24, is no local one.
func isGlobal(address string) bool {
	prefix, err := netip.ParsePrefix(address)
	return err == nil && prefix.Addr().IsGlobalUnicast()
}
