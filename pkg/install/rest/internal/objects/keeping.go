package objects

import (
	"net/netip"
	"slices"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
)

// What the service does with the networks of a cluster. It is the column "keeping"
// of the settings' table.

// keepsMachineNetworks: the service empties the machine networks of a cluster that
// it calculates them for while no host is there, and works them out again; it
// refuses every other value.
func keepsMachineNetworks(c *Cluster) install.Keeping {
	switch {
	case begun(c):
		return setting.Frozen
	case !calculatesNetworks(c):
		return setting.Kept
	case len(c.MachineNetworks) == 0:
		return setting.Cleared
	}
	return setting.Derived
}

// keepsVIPs: where it calculates the machine networks from them, it takes other
// virtual addresses only if a host has their network.
func keepsVIPs(c *Cluster) install.Keeping {
	switch {
	case begun(c):
		return setting.Frozen
	case calculatesNetworks(c):
		return setting.NotYet
	}
	return setting.Kept
}

// begun says whether the install was asked for, after which nothing is taken.
func begun(c *Cluster) bool {
	switch value(c.Status) {
	case models.ClusterStatusInsufficient, models.ClusterStatusReady, models.ClusterStatusPendingForInput:
		return false
	}
	return true
}

// calculatesNetworks says whether the service works the machine networks out of
// the virtual addresses and the hosts' networks: of a single stack, with the
// cluster's own load balancer.
func calculatesNetworks(c *Cluster) bool {
	single := controlPlanes(c) == 1
	balanced := c.LoadBalancer != nil && c.LoadBalancer.Type == models.LoadBalancerTypeUserManaged
	return !single && !balanced && !value(c.UserManagedNetworking) && !value(c.VipDhcpAllocation) && !dualStack(c)
}

// controlPlanes is the number of control plane machines; services that do not
// count them say only whether there is one or are three.
func controlPlanes(c *Cluster) int {
	switch {
	case c.ControlPlaneCount > 0:
		return int(c.ControlPlaneCount)
	case value(c.HighAvailabilityMode) == models.ClusterHighAvailabilityModeNone:
		return 1
	case value(c.HighAvailabilityMode) == models.ClusterHighAvailabilityModeFull:
		return 3
	}
	return 0
}

// dualStack says whether a kind of the cluster's networks has both families.
func dualStack(c *Cluster) bool {
	both := func(cidrs []string) bool {
		is4 := func(text string) bool {
			prefix, err := netip.ParsePrefix(text)
			return err == nil && prefix.Addr().Is4()
		}
		return slices.ContainsFunc(cidrs, is4) && slices.ContainsFunc(cidrs, func(text string) bool { return !is4(text) })
	}
	return both(collect(c.MachineNetworks, func(n *models.MachineNetwork) string { return string(n.Cidr) })) ||
		both(collect(c.ServiceNetworks, func(n *models.ServiceNetwork) string { return string(n.Cidr) })) ||
		both(collect(c.ClusterNetworks, func(n *models.ClusterNetwork) string { return string(n.Cidr) }))
}
