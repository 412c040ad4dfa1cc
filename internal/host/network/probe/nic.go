//go:build linux

package probe

import (
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/host/hostfile"
)

// NIC is a network interface that checks may send by.
type NIC struct {
	Name       string
	Index, MTU int // MTU in bytes
	MAC        net.HardwareAddr
	// Addresses have the length of the prefix of their network.
	Addresses []netip.Prefix
}

// Has reports whether the interface has an address of a family, except link-local ones.
func (n NIC) Has(ipv6 bool) bool {
	return slices.ContainsFunc(n.Addresses, func(a netip.Prefix) bool { return a.Addr().Is6() == ipv6 && !a.Addr().IsLinkLocalUnicast() })
}

// Ethernet reports whether the interface has a MAC address of Ethernet, so that Neighbours can ask by it.
func (n NIC) Ethernet() bool { return len(n.MAC) == macSize }

// Own reports whether an address belongs to the interface.
func (n NIC) Own(ip netip.Addr) bool {
	return slices.ContainsFunc(n.Addresses, func(a netip.Prefix) bool { return a.Addr() == ip })
}

// OnLink reports whether an address lies in a network of the interface.
func (n NIC) OnLink(ip netip.Addr) bool {
	return slices.ContainsFunc(n.Addresses, func(a netip.Prefix) bool { return a.Contains(ip) })
}

// source is the interface's address to ask for another one from: of the same network, or else one that is not link-local.
func (n NIC) source(to netip.Addr) (netip.Addr, bool) {
	var best netip.Addr
	for _, a := range n.Addresses {
		switch ip := a.Addr(); {
		case ip.Is6() != to.Is6():
		case a.Contains(to):
			return ip, true
		case !best.IsValid(), best.IsLinkLocalUnicast() && !ip.IsLinkLocalUnicast():
			best = ip
		}
	}
	return best, best.IsValid()
}

// NICs are the physical interfaces, bonds and VLANs that have an address which is not link-local. An interface without
// one may belong to a bond, and packets by it would put wrong entries into tables of neighbours.
func NICs(files hostfile.Files, log *slog.Logger) ([]NIC, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var found []NIC
	for _, i := range interfaces {
		if !carries(files, i.Name) {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			log.Warn("cannot read the addresses of a network interface", "interface", i.Name, "error", err)
			continue
		}
		nic := NIC{Name: i.Name, Index: i.Index, MTU: i.MTU, MAC: i.HardwareAddr, Addresses: prefixes(addresses)}
		if nic.Has(false) || nic.Has(true) {
			found = append(found, nic)
		}
	}
	return found, nil
}

func prefixes(addresses []net.Addr) []netip.Prefix {
	var all []netip.Prefix
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a.String())
		if err == nil {
			all = append(all, netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()))
		}
	}
	return all
}

// carries reports whether an interface is physical, a bond or a VLAN. One that sysfs does not show is taken as physical.
func carries(files hostfile.Files, name string) bool {
	const class = "/sys/class/net/"
	real, err := filepath.EvalSymlinks(files.Path(class + name))
	if err != nil {
		return name != "lo"
	}
	if !strings.Contains(real, "/virtual/") {
		return true
	}
	kind, err := files.Read(class + name + "/uevent")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(kind)) {
		if line = strings.TrimSpace(line); line == "DEVTYPE=bond" || line == "DEVTYPE=vlan" {
			return true
		}
	}
	return false
}
