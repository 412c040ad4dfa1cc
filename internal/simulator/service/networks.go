package service

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// networkOfVip is the network of the hosts in which an address lies; empty if
// none has it.
func networkOfVip(c *model.Cluster, ip string) string {
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

// calculatesNetworks tells whether the service works the machine networks out of
// the virtual addresses, and so takes them from nobody.
func calculatesNetworks(c *model.Cluster) bool {
	return !c.IsSingle() && !c.UserManaged() && !c.UserBalanced() && !c.AllocatesVips() && !dualStack(c)
}

// dualStack tells whether some kind of the cluster's networks has both families.
func dualStack(c *model.Cluster) bool {
	machine, clusterNets, services := c.CIDRs()
	return len(families(machine)) > 1 || len(families(services)) > 1 || len(families(clusterNets)) > 1
}

// assignMachineNetworks is what each look of the monitor does to the machine
// networks of a cluster that is not ready yet: out of the virtual addresses and
// the hosts' networks come those that it has now, none where no host has such a
// network. A single node keeps what it has, as does who balances the load itself.
func assignMachineNetworks(c *model.Cluster) {
	if !model.OneOf(c.Status, model.ClusterInsufficient, model.ClusterPendingInput) {
		return
	}
	switch {
	case c.IsSingle():
		if cidrs := routedNetworks(c); len(c.MachineNetworks) == 0 && len(cidrs) > 0 {
			setMachineNetworks(c, cidrs)
		}
	case c.UserManaged(), c.UserBalanced(), c.AllocatesVips():
	default:
		calculateMachineNetworks(c)
	}
}

func calculateMachineNetworks(c *model.Cluster) {
	first, second := networkOfVip(c, c.VipAt(0)), networkOfVip(c, c.VipAt(1))
	if first == "" && dualStack(c) {
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
	setMachineNetworks(c, []string{first, second})
}

// setMachineNetworks leaves out what is empty.
func setMachineNetworks(c *model.Cluster, cidrs []string) {
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

// nodeAddress is the address of the cluster's first machine in the machine
// network.
func nodeAddress(c *model.Cluster) string {
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

func clusterNetworksFrom(list []*models.ClusterNetwork, id string) []model.ClusterNetwork {
	out := []model.ClusterNetwork{}
	for _, n := range list {
		out = append(out, model.ClusterNetwork{CIDR: string(n.Cidr), ClusterID: id, HostPrefix: n.HostPrefix})
	}
	return out
}

func machineNetworksFrom(list []*models.MachineNetwork, id string) []model.MachineNetwork {
	out := []model.MachineNetwork{}
	for _, n := range list {
		out = append(out, model.MachineNetwork{CIDR: string(n.Cidr), ClusterID: id})
	}
	return out
}

func apiVipsFrom(list []*models.APIVip, id string) []model.VIP {
	out := []model.VIP{}
	for _, v := range list {
		out = append(out, model.VIP{ClusterID: id, IP: strings.TrimSpace(string(v.IP))})
	}
	return out
}

func ingressVipsFrom(list []*models.IngressVip, id string) []model.VIP {
	out := []model.VIP{}
	for _, v := range list {
		out = append(out, model.VIP{ClusterID: id, IP: strings.TrimSpace(string(v.IP))})
	}
	return out
}
