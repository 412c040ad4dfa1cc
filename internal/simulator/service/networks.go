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

// deriveMachineNetworks works out the machine networks that the user did not
// give: from the virtual addresses, or for a single node from its default route.
func (c *cluster) deriveMachineNetworks() {
	if c.userNetworks || c.isDay2() || !oneOf(c.Status, clusterInsufficient, clusterPendingInput, clusterReady) {
		return
	}
	var cidrs []string
	switch {
	case c.isSingle():
		cidrs = c.routedNetworks()
	case c.userManaged():
		return
	default:
		for _, v := range slices.Concat(c.APIVips, c.IngressVips) {
			if network := c.networkOfVip(v.IP); network != "" && !slices.Contains(cidrs, network) {
				cidrs = append(cidrs, network)
			}
		}
	}
	if len(cidrs) == 0 {
		return
	}
	list := make([]machineNetwork, 0, len(cidrs))
	for _, cidr := range cidrs {
		list = append(list, machineNetwork{CIDR: cidr, ClusterID: c.ID})
	}
	c.MachineNetworks = list
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
