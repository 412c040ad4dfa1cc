package service

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"
)

// networkOfVip is the network of the hosts in which an address lies; empty if
// none has it.
func (c *cluster) networkOfVip(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ""
	}
	best := netip.Prefix{}
	for _, h := range c.hosts {
		if h.inv == nil {
			continue
		}
		for _, a := range h.inv.addresses {
			if network := a.prefix.Masked(); network.Contains(addr) && network.Bits() >= best.Bits() {
				best = network
			}
		}
	}
	if !best.IsValid() {
		return ""
	}
	return best.String()
}

// calculatesNetworks tells whether the service works the machine networks out of
// the virtual addresses, and so takes them from nobody.
func (c *cluster) calculatesNetworks() bool {
	return !c.isSingle() && !c.userManaged() && !c.userBalanced() && !c.allocatesVips() && !c.dualStack()
}

func (c *cluster) allocatesVips() bool { return c.VipDHCPAllocation != nil && *c.VipDHCPAllocation }

// dualStack tells whether some kind of the cluster's networks has both families.
func (c *cluster) dualStack() bool {
	machine, clusterNets, services := c.cidrs()
	return len(families(machine)) > 1 || len(families(services)) > 1 || len(families(clusterNets)) > 1
}

// assignMachineNetworks is what each look of the monitor does to the machine
// networks of a cluster that is not ready yet: out of the virtual addresses and
// the hosts' networks come those that it has now, none where no host has such a
// network. A single node keeps what it has, as does who balances the load itself.
func (c *cluster) assignMachineNetworks() {
	if !oneOf(c.Status, clusterInsufficient, clusterPendingInput) {
		return
	}
	switch {
	case c.isSingle():
		if cidrs := c.routedNetworks(); len(c.MachineNetworks) == 0 && len(cidrs) > 0 {
			c.setMachineNetworks(cidrs)
		}
	case c.userManaged(), c.userBalanced(), c.allocatesVips():
	default:
		c.calculateMachineNetworks()
	}
}

func (c *cluster) calculateMachineNetworks() {
	first, second := c.networkOfVip(c.vipAt(0)), c.networkOfVip(c.vipAt(1))
	if first == "" && c.dualStack() {
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
	c.setMachineNetworks([]string{first, second})
}

// vipAt is the virtual address that decides on the machine network at a place.
func (c *cluster) vipAt(i int) string {
	for _, list := range [][]vip{c.APIVips, c.IngressVips} {
		if i < len(list) && list[i].IP != "" {
			return list[i].IP
		}
	}
	return ""
}

// setMachineNetworks leaves out what is empty.
func (c *cluster) setMachineNetworks(cidrs []string) {
	c.MachineNetworks = []machineNetwork{}
	for _, cidr := range cidrs {
		if cidr != "" {
			c.MachineNetworks = append(c.MachineNetworks, machineNetwork{CIDR: cidr, ClusterID: c.ID})
		}
	}
}

// routedNetworks lists the networks of the card that holds the default route of
// the cluster's first machine.
func (c *cluster) routedNetworks() []string {
	for _, h := range c.hosts {
		if h.inv == nil {
			continue
		}
		r := h.inv.defaultRoute()
		if r == nil {
			return nil
		}
		var cidrs []string
		for _, a := range h.inv.addresses {
			if h.inv.Interfaces[a.nic].Name == r.Interface && !a.prefix.Addr().IsLinkLocalUnicast() {
				if cidr := a.prefix.Masked().String(); !slices.Contains(cidrs, cidr) {
					cidrs = append(cidrs, cidr)
				}
			}
		}
		return cidrs
	}
	return nil
}

// nodeAddress is the address of the cluster's first machine in the machine
// network.
func (c *cluster) nodeAddress() string {
	for _, h := range c.hosts {
		if h.inv == nil {
			continue
		}
		for _, n := range c.MachineNetworks {
			if network, err := netip.ParsePrefix(n.CIDR); err == nil {
				if a, in := h.inv.in(network); in {
					return a.prefix.Addr().String()
				}
			}
		}
	}
	return ""
}

func clusterNetworksFrom(list []*models.ClusterNetwork, id string) []clusterNetwork {
	out := []clusterNetwork{}
	for _, n := range list {
		out = append(out, clusterNetwork{CIDR: string(n.Cidr), ClusterID: id, HostPrefix: n.HostPrefix})
	}
	return out
}

func machineNetworksFrom(list []*models.MachineNetwork, id string) []machineNetwork {
	out := []machineNetwork{}
	for _, n := range list {
		out = append(out, machineNetwork{CIDR: string(n.Cidr), ClusterID: id})
	}
	return out
}

func apiVipsFrom(list []*models.APIVip, id string) []vip {
	out := []vip{}
	for _, v := range list {
		out = append(out, vip{ClusterID: id, IP: strings.TrimSpace(string(v.IP))})
	}
	return out
}

func ingressVipsFrom(list []*models.IngressVip, id string) []vip {
	out := []vip{}
	for _, v := range list {
		out = append(out, vip{ClusterID: id, IP: strings.TrimSpace(string(v.IP))})
	}
	return out
}
