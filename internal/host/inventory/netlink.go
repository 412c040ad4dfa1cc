//go:build linux

package inventory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Network reads interfaces and routes.
type Network interface {
	// Links are the interfaces in the order of their numbers. With an error, it has those that could be read.
	Links() ([]Link, error)
	// Routes are those of the main table, IPv4 first. With an error, it has those that could be read.
	Routes() ([]Route, error)
}

// Link is a network interface.
type Link struct {
	Index int
	Name  string
	MTU   int
	Flags net.Flags
	// MAC is the hardware address; for a member of a bond, the one that it has outside of the bond. "" if it has none.
	MAC string
	// Kind is the kernel's name of a virtual link, such as bond. "" if it has none.
	Kind      string
	Addresses []netip.Prefix
}

// Route is a route.
type Route struct {
	Family      int32 // unix.AF_INET or unix.AF_INET6
	Link        int
	Interface   string
	Destination netip.Prefix // with the length zero for the default route
	Gateway     netip.Addr   // the zero value if there is none
	Metric      int32
	Advertised  bool // a router advertised it
}

// Kernel reads the interfaces and routes of the network namespace that this process is in.
type Kernel struct{}

// Links implements Network.
func (Kernel) Links() ([]Link, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the network interfaces: %w", err)
	}
	details, err := linkDetails()
	errs := []error{err}
	var links []Link
	for _, i := range interfaces {
		addresses, err := prefixes(i)
		if err != nil {
			errs = append(errs, fmt.Errorf("list the addresses of %s: %w", i.Name, err))
			continue
		}
		link := Link{Index: i.Index, Name: i.Name, MTU: i.MTU, Flags: i.Flags, MAC: i.HardwareAddr.String(), Addresses: addresses}
		if detail, found := details[i.Index]; found {
			link.Kind = detail.kind
			if len(detail.permanent) > 0 {
				link.MAC = detail.permanent.String()
			}
		}
		links = append(links, link)
	}
	return links, errors.Join(errs...)
}

// prefixes are the addresses of an interface.
func prefixes(i net.Interface) ([]netip.Prefix, error) {
	addresses, err := i.Addrs()
	if err != nil {
		return nil, err
	}
	var found []netip.Prefix
	for _, address := range addresses {
		prefix, err := netip.ParsePrefix(address.String())
		if err != nil {
			return nil, err
		}
		found = append(found, prefix)
	}
	return found, nil
}

// Routes implements Network.
func (Kernel) Routes() ([]Route, error) {
	names := map[int]string{}
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the network interfaces: %w", err)
	}
	for _, i := range interfaces {
		names[i.Index] = i.Name
	}
	var routes []Route
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		messages, err := dump(unix.RTM_GETROUTE, family)
		if err != nil {
			return routes, fmt.Errorf("list the routes: %w", err)
		}
		for _, message := range messages {
			route, isMain := parseRoute(message.Data)
			if message.Header.Type != unix.RTM_NEWROUTE || !isMain {
				continue
			}
			if route.Interface = names[route.Link]; route.Interface != "" {
				routes = append(routes, route)
			}
		}
	}
	return routes, nil
}

// dump asks the kernel for a list.
func dump(request, family int) ([]syscall.NetlinkMessage, error) {
	content, err := syscall.NetlinkRIB(request, family)
	if err != nil {
		return nil, err
	}
	return syscall.ParseNetlinkMessage(content)
}

// detail is what package net does not read of a link.
type detail struct {
	kind      string
	permanent net.HardwareAddr
}

// linkDetails are the details of all links by their numbers.
func linkDetails() (map[int]detail, error) {
	messages, err := dump(unix.RTM_GETLINK, unix.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("read the kinds of network interfaces: %w", err)
	}
	details := map[int]detail{}
	for _, message := range messages {
		const indexAt = 4 // in struct ifinfomsg
		if message.Header.Type == unix.RTM_NEWLINK && len(message.Data) >= unix.SizeofIfInfomsg {
			index := int(binary.NativeEndian.Uint32(message.Data[indexAt:]))
			details[index] = parseLink(message.Data[unix.SizeofIfInfomsg:])
		}
	}
	return details, nil
}

// parseLink reads the attributes of a link.
func parseLink(attributes []byte) detail {
	info := attribute(attributes, unix.IFLA_LINKINFO)
	found := detail{kind: cText(attribute(info, unix.IFLA_INFO_KIND))}
	if cText(attribute(info, unix.IFLA_INFO_SLAVE_KIND)) == "bond" {
		found.permanent = attribute(attribute(info, unix.IFLA_INFO_SLAVE_DATA), unix.IFLA_BOND_SLAVE_PERM_HWADDR)
	}
	return found
}

// cText is a text that a zero byte ends.
func cText(content []byte) string { return unix.ByteSliceToString(content) }

// attribute is the last attribute of a type, nil if there is none.
func attribute(content []byte, wanted uint16) []byte {
	const flags = unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER
	var found []byte
	for len(content) >= unix.SizeofNlAttr {
		length := int(binary.NativeEndian.Uint16(content))
		if length < unix.SizeofNlAttr || length > len(content) {
			break
		}
		if binary.NativeEndian.Uint16(content[2:])&^flags == wanted {
			found = content[unix.SizeofNlAttr:length]
		}
		aligned := (length + unix.NLA_ALIGNTO - 1) &^ (unix.NLA_ALIGNTO - 1)
		content = content[min(aligned, len(content)):]
	}
	return found
}

// parseRoute reads a route, and reports whether it is a route of the main table.
func parseRoute(message []byte) (Route, bool) {
	if len(message) < unix.SizeofRtMsg {
		return Route{}, false
	}
	// struct rtmsg: family, lengths of destination and source, TOS, table, protocol, scope, type, flags.
	family, bits, table, protocol := message[0], int(message[1]), message[4], message[5]
	flags := binary.NativeEndian.Uint32(message[8:])
	if table != unix.RT_TABLE_MAIN || flags&unix.RTM_F_CLONED != 0 {
		return Route{}, false
	}
	attributes := message[unix.SizeofRtMsg:]
	route := Route{Family: int32(family), Advertised: protocol == unix.RTPROT_RA && family == unix.AF_INET6}
	destination, ok := netip.AddrFromSlice(attribute(attributes, unix.RTA_DST))
	if !ok {
		destination, bits = netip.IPv4Unspecified(), 0
		if family == unix.AF_INET6 {
			destination = netip.IPv6Unspecified()
		}
	}
	route.Destination = netip.PrefixFrom(destination, bits)
	if !route.Destination.IsValid() {
		return Route{}, false
	}
	route.Gateway, _ = netip.AddrFromSlice(attribute(attributes, unix.RTA_GATEWAY))
	route.Link = int(integer(attribute(attributes, unix.RTA_OIF)))
	route.Metric = int32(integer(attribute(attributes, unix.RTA_PRIORITY)))
	if hops := attribute(attributes, unix.RTA_MULTIPATH); len(hops) >= unix.SizeofRtNexthop {
		route.firstHop(hops)
	}
	return route, true
}

// firstHop takes the interface and the gateway of the first of several ways.
func (r *Route) firstHop(hops []byte) {
	const indexAt = 4 // in struct rtnexthop, which begins with its length
	r.Link = int(integer(hops[indexAt:]))
	length := int(binary.NativeEndian.Uint16(hops))
	if length < unix.SizeofRtNexthop || length > len(hops) {
		return
	}
	if gateway, ok := netip.AddrFromSlice(attribute(hops[unix.SizeofRtNexthop:length], unix.RTA_GATEWAY)); ok {
		r.Gateway = gateway
	}
}

// integer is a number of four bytes, zero if there are fewer.
func integer(content []byte) uint32 {
	const size = 4
	if len(content) < size {
		return 0
	}
	return binary.NativeEndian.Uint32(slices.Clip(content[:size]))
}
