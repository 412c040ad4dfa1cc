//go:build linux

package inventory

import (
	"context"
	"net/netip"
	"strconv"
	"strings"

	"github.com/openshift/assisted-service/models"
)

// typePhysical is the type of an interface that is a device, and not made by the kernel.
const typePhysical = "physical"

// links are the interfaces that the kernel has.
func (c Collector) links() []Link {
	links, err := c.network().Links()
	if err != nil {
		c.warn("list all network interfaces", err)
	}
	return links
}

func (c Collector) kernelRoutes() []Route {
	routes, err := c.network().Routes()
	if err != nil {
		c.warn("list all routes", err)
	}
	return routes
}

func (c Collector) network() Network {
	if c.Network == nil {
		return Kernel{}
	}
	return c.Network
}

// interfaces describes the network interfaces.
func (c Collector) interfaces(ctx context.Context, links []Link, routes []Route) []*models.Interface {
	interfaces := make([]*models.Interface, 0, len(links))
	for _, link := range links {
		i := &models.Interface{
			Biosdevname:   c.biosName(ctx, link.Name),
			Flags:         []string{},
			HasCarrier:    c.linkFile(link, "carrier") == "1",
			IPV4Addresses: []string{},
			IPV6Addresses: []string{},
			MacAddress:    link.MAC,
			Mtu:           int64(link.MTU),
			Name:          link.Name,
			Product:       c.linkFile(link, "device/device"),
			SpeedMbps:     speed(c.linkFile(link, "speed")),
			Type:          c.linkType(link),
			Vendor:        c.linkFile(link, "device/vendor"),
		}
		if link.Flags != 0 {
			i.Flags = strings.Split(link.Flags.String(), "|")
		}
		for _, address := range link.Addresses {
			switch {
			case address.Addr().IsLinkLocalUnicast():
			case address.Addr().Is4():
				i.IPV4Addresses = append(i.IPV4Addresses, address.String())
			default:
				i.IPV6Addresses = append(i.IPV6Addresses, inNetwork(address, link.Index, routes).String())
			}
		}
		interfaces = append(interfaces, i)
	}
	return interfaces
}

func (c Collector) linkFile(link Link, name string) string {
	return c.files().word("sys/class/net/" + link.Name + "/" + name)
}

// speed is in Mbit/s. It is -1 if the device does not know it, and 0 if it has none.
func speed(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return n
}

// biosName is the name that the firmware has for an interface, "" if it has none.
func (c Collector) biosName(ctx context.Context, name string) string {
	const program = "biosdevname"
	if !c.Runner.Has(program) {
		return ""
	}
	output, err := c.run(ctx, program, "-i", name)
	if err != nil {
		return "" // a virtual machine, or an interface that is no device
	}
	return strings.TrimSpace(output)
}

// linkType is "physical" for a device, else the kind of link, such as bond, vlan or bridge.
func (c Collector) linkType(link Link) string {
	folder, err := c.files().resolve("sys/class/net/" + link.Name)
	if err != nil {
		c.warn("find the device of the network interface "+link.Name, err)
		return typePhysical
	}
	switch {
	case !strings.Contains(folder, "/virtual/"):
		return typePhysical
	case link.Kind == "":
		return "device"
	case link.Kind == "tun":
		return "tuntap" // the service's name for it
	}
	return link.Kind
}

// inNetwork gives an IPv6 address the prefix length of its network as a router advertised it: DHCPv6 gives addresses the
// length 128.
func inNetwork(address netip.Prefix, link int, routes []Route) netip.Prefix {
	for _, r := range routes {
		if r.Advertised && r.Link == link && r.Destination.Bits() > 0 && r.Destination.Contains(address.Addr()) {
			return netip.PrefixFrom(address.Addr(), r.Destination.Bits())
		}
	}
	return address
}

// modelRoutes describes the routes.
func modelRoutes(routes []Route) []*models.Route {
	described := make([]*models.Route, 0, len(routes))
	for _, r := range routes {
		route := &models.Route{
			Destination: r.Destination.Addr().String(), Family: r.Family, Interface: r.Interface, Metric: r.Metric,
		}
		if r.Gateway.IsValid() {
			route.Gateway = r.Gateway.String()
		}
		described = append(described, route)
	}
	return described
}
