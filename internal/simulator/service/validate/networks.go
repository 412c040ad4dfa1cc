package validate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// NetworkOfVip is the network of the hosts in which an address lies; empty if
// none has it.
func NetworkOfVip(c *model.Cluster, ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ""
	}
	best := netip.Prefix{}
	for _, h := range c.Hosts {
		if h.Inv == nil {
			continue
		}
		for _, a := range h.Inv.Addresses {
			if network := a.Prefix.Masked(); network.Contains(addr) && network.Bits() >= best.Bits() {
				best = network
			}
		}
	}
	if !best.IsValid() {
		return ""
	}
	return best.String()
}

// CalculatesNetworks tells whether the service works the machine networks out of
// the virtual addresses, and so takes them from nobody.
func CalculatesNetworks(c *model.Cluster) bool {
	return !c.IsSingle() && !c.UserManaged() && !c.UserBalanced() && !c.AllocatesVips() && !DualStack(c)
}

// DualStack tells whether some kind of the cluster's networks has both families.
func DualStack(c *model.Cluster) bool {
	machine, clusterNets, services := c.CIDRs()
	return len(families(machine)) > 1 || len(families(services)) > 1 || len(families(clusterNets)) > 1
}

// AssignMachineNetworks is what each look of the monitor does to the machine
// networks of a cluster that is not ready yet: out of the virtual addresses and
// the hosts' networks come those that it has now, none where no host has such a
// network. A single node keeps what it has, as does who balances the load itself.
func AssignMachineNetworks(c *model.Cluster) {
	if !model.OneOf(c.Status, model.ClusterInsufficient, model.ClusterPendingInput) {
		return
	}
	switch {
	case c.IsSingle():
		if cidrs := routedNetworks(c); len(c.MachineNetworks) == 0 && len(cidrs) > 0 {
			SetMachineNetworks(c, cidrs)
		}
	case c.UserManaged(), c.UserBalanced(), c.AllocatesVips():
	default:
		calculateMachineNetworks(c)
	}
}

func calculateMachineNetworks(c *model.Cluster) {
	first, second := NetworkOfVip(c, c.VipAt(0)), NetworkOfVip(c, c.VipAt(1))
	if first == "" && DualStack(c) {
		return
	}
	have := func(i int) string {
		if i < len(c.MachineNetworks) {
			return c.MachineNetworks[i].CIDR
		}
		return ""
	}
	if first == have(0) && (second == "" || second == have(1)) {
		return
	}
	SetMachineNetworks(c, []string{first, second})
}

// SetMachineNetworks leaves out what is empty.
func SetMachineNetworks(c *model.Cluster, cidrs []string) {
	c.MachineNetworks = []model.MachineNetwork{}
	for _, cidr := range cidrs {
		if cidr != "" {
			c.MachineNetworks = append(c.MachineNetworks, model.MachineNetwork{CIDR: cidr, ClusterID: c.ID})
		}
	}
}

// routedNetworks lists the networks of the card that holds the default route of
// the cluster's first machine.
func routedNetworks(c *model.Cluster) []string {
	for _, h := range c.Hosts {
		if h.Inv == nil {
			continue
		}
		r := h.Inv.DefaultRoute()
		if r == nil {
			return nil
		}
		var cidrs []string
		for _, a := range h.Inv.Addresses {
			if h.Inv.Interfaces[a.NIC].Name == r.Interface && !a.Prefix.Addr().IsLinkLocalUnicast() {
				if cidr := a.Prefix.Masked().String(); !slices.Contains(cidrs, cidr) {
					cidrs = append(cidrs, cidr)
				}
			}
		}
		return cidrs
	}
	return nil
}

// NodeAddress is the address of the cluster's first machine in the machine
// network.
func NodeAddress(c *model.Cluster) string {
	for _, h := range c.Hosts {
		if h.Inv == nil {
			continue
		}
		for _, n := range c.MachineNetworks {
			if network, err := netip.ParsePrefix(n.CIDR); err == nil {
				if a, in := h.Inv.In(network); in {
					return a.Prefix.Addr().String()
				}
			}
		}
	}
	return ""
}

// Elsewhere says that a virtual address of somebody's own load balancer lies in no
// machine network.
func Elsewhere(name, ip string, networks []model.MachineNetwork) string {
	var tried []string
	for _, n := range networks {
		tried = append(tried, fmt.Sprintf("machine network CIDR <%s> verification failed: %s <%s> does not belong to machine-network-cidr <%s>", n.CIDR, name, ip, n.CIDR))
	}
	return fmt.Sprintf("%s '%s' failed verification: none of the machine networks is satisfying the requirements, description: %s", name, ip, strings.Join(tried, "; "))
}

// InAny tells whether an address lies in one of the networks.
func InAny(ip string, networks []model.MachineNetwork) bool {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(networks, func(n model.MachineNetwork) bool {
		p, err := netip.ParsePrefix(n.CIDR)
		return err == nil && p.Contains(addr)
	})
}
