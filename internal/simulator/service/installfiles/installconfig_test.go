package installfiles

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// TestNetworksWithoutAPlatform reads the install-config of a cluster that names no
// machine network: those of its bootstrap host are in it.
func TestNetworksWithoutAPlatform(t *testing.T) {
	c := &model.Cluster{PrintedCluster: model.PrintedCluster{ControlPlaneCount: 3}}
	for _, own := range []string{"10.0.0.10/24 2001:db8::10/64", "10.0.0.11/24 2001:db8::11/64"} {
		h := &model.Host{Inv: &model.Inventory{}}
		for text := range strings.FieldsSeq(own) {
			h.Inv.Addresses = append(h.Inv.Addresses, model.Address{Prefix: netip.MustParsePrefix(text)})
		}
		c.Hosts = append(c.Hosts, h)
	}
	c.Platform = nil
	c.UserManagedNetworking = new(true)
	c.Hosts[1].Bootstrap = true
	var cidrs []string
	for _, n := range bootstrapNetworks(c) {
		cidrs = append(cidrs, n.Cidr)
	}
	if !slices.Equal(cidrs, []string{"10.0.0.0/24", "2001:db8::/64"}) {
		t.Errorf("%v", cidrs)
	}
	c.Hosts[1].Bootstrap = false
	if list := bootstrapNetworks(c); list != nil {
		t.Errorf("no host is the bootstrap, and its networks are %v", list)
	}
}
