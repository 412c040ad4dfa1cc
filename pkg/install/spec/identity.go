package spec

import (
	"net/netip"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// Controller is the scheme, host and port of a BMC, and the id of the system, "" for the only one. It is the same for all
// spellings of the address.
func (b *BMC) Controller() (endpoint, id string) {
	c := values.ControllerOf(b.Address, b.System)
	return c.Endpoint, c.System
}

// MACsOf are the MAC addresses that the document gives a host, each once, in lower case with
// colons: of its match and of its network.
func (c *Cluster) MACsOf(h *Host) []string {
	var macs []string
	add := func(text string) {
		if mac, ok := values.ParseMAC(text); ok && !slices.Contains(macs, mac) {
			macs = append(macs, mac)
		}
	}
	add(h.Match.MAC)
	if _, nics, static := c.StaticNetwork(h); static {
		for _, nic := range nics {
			add(nic.MAC)
		}
	}
	return macs
}

// StaticAddressesOf are the addresses that the document gives a host's interfaces.
func (c *Cluster) StaticAddressesOf(h *Host) []netip.Addr {
	if h.Net == nil {
		return nil
	}
	var prefixes []netip.Prefix
	if h.Net.NMState == nil {
		plan := c.planNetwork(h)
		prefixes = []netip.Prefix{plan.v4.ip, plan.v6.ip}
	} else if doc, _, err := readNMState(h.Net); err == nil {
		prefixes = doc.addresses
	}
	var out []netip.Addr
	for _, prefix := range prefixes {
		if prefix.IsValid() && !prefix.Addr().IsLinkLocalUnicast() && !slices.Contains(out, prefix.Addr().Unmap()) {
			out = append(out, prefix.Addr().Unmap())
		}
	}
	return out
}

// BootsByBMC reports whether a host of the file is booted through its BMC.
func (c *Cluster) BootsByBMC(h *Host) bool {
	if h.BMC == nil || h.BMC.Credentials.IsZero() || h.Match.Agent != "" { // which runs its image already
		return false
	}
	switch c.Spec.Boot.Method {
	case BootRedfish:
		return true
	case "": // not defaulted: redfish where every host has a BMC
		return !slices.ContainsFunc(c.Spec.Hosts, func(h Host) bool { return h.BMC == nil })
	}
	return false
}

// BootedByBMC are the hosts of a file that are booted through their BMCs: those
// that have one with credentials, where boot.method is redfish.
func (c *Cluster) BootedByBMC() []*Host {
	var hosts []*Host
	for i := range c.Spec.Hosts {
		if host := &c.Spec.Hosts[i]; c.BootsByBMC(host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
