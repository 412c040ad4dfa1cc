//go:build linux

package inventory

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// attr is an attribute of a netlink message.
func attr(kind uint16, content []byte) []byte {
	whole := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofNlAttr+len(content)))
	whole = binary.NativeEndian.AppendUint16(whole, kind)
	whole = append(whole, content...)
	for len(whole)%unix.NLA_ALIGNTO != 0 {
		whole = append(whole, 0)
	}
	return whole
}

func join(parts ...[]byte) []byte {
	var whole []byte
	for _, p := range parts {
		whole = append(whole, p...)
	}
	return whole
}

func number32(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

// rtmsg is the start of a message about a route.
func rtmsg(family, bits, table, protocol byte, flags uint32) []byte {
	return append([]byte{family, bits, 0, 0, table, protocol, 0, 1}, number32(flags)...)
}

// hop is a struct rtnexthop with a gateway.
func hop(link uint32, gateway []byte) []byte {
	attributes := attr(unix.RTA_GATEWAY, gateway)
	head := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtNexthop+len(attributes)))
	return join(head, []byte{0, 0}, number32(link), attributes)
}

func TestParseRoute(t *testing.T) {
	main := byte(unix.RT_TABLE_MAIN)
	v6 := netip.MustParseAddr("2001:db8::").AsSlice()
	for name, test := range map[string]struct {
		message []byte
		want    Route
		main    bool
	}{
		"default": {
			join(rtmsg(unix.AF_INET, 0, main, unix.RTPROT_DHCP, 0), attr(unix.RTA_GATEWAY, []byte{192, 0, 2, 1}), attr(unix.RTA_OIF, number32(2)), attr(unix.RTA_PRIORITY, number32(100))),
			Route{Family: unix.AF_INET, Link: 2, Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("192.0.2.1"), Metric: 100}, true,
		},
		"default of IPv6": {
			join(rtmsg(unix.AF_INET6, 0, main, unix.RTPROT_RA, 0), attr(unix.RTA_OIF, number32(3))),
			Route{Family: unix.AF_INET6, Link: 3, Destination: netip.MustParsePrefix("::/0"), Advertised: true}, true,
		},
		"network that a router advertised": {
			join(rtmsg(unix.AF_INET6, 64, main, unix.RTPROT_RA, 0), attr(unix.RTA_DST, v6), attr(unix.RTA_OIF, number32(3))),
			Route{Family: unix.AF_INET6, Link: 3, Destination: netip.MustParsePrefix("2001:db8::/64"), Advertised: true}, true,
		},
		"network of an address": {
			join(rtmsg(unix.AF_INET, 24, main, unix.RTPROT_KERNEL, 0), attr(unix.RTA_DST, []byte{192, 0, 2, 0}), attr(unix.RTA_OIF, number32(2))),
			Route{Family: unix.AF_INET, Link: 2, Destination: netip.MustParsePrefix("192.0.2.0/24")}, true,
		},
		"several ways": {
			join(rtmsg(unix.AF_INET, 0, main, unix.RTPROT_STATIC, 0), attr(unix.RTA_MULTIPATH, join(hop(5, []byte{192, 0, 2, 9}), hop(6, []byte{192, 0, 2, 10})))),
			Route{Family: unix.AF_INET, Link: 5, Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("192.0.2.9")}, true,
		},
		"another table":          {message: rtmsg(unix.AF_INET, 0, unix.RT_TABLE_LOCAL, 0, 0)},
		"cloned":                 {message: rtmsg(unix.AF_INET, 0, main, 0, unix.RTM_F_CLONED)},
		"impossible length":      {message: join(rtmsg(unix.AF_INET, 99, main, 0, 0), attr(unix.RTA_DST, []byte{192, 0, 2, 0}))},
		"too short":              {message: []byte{2, 0, 0}},
		"attribute is cut":       {join(rtmsg(unix.AF_INET, 0, main, 0, 0), []byte{200, 0, 1, 0}), Route{Family: unix.AF_INET, Destination: netip.MustParsePrefix("0.0.0.0/0")}, true},
		"way is cut":             {join(rtmsg(unix.AF_INET, 0, main, 0, 0), attr(unix.RTA_MULTIPATH, []byte{200, 0, 0, 0, 7, 0, 0, 0})), Route{Family: unix.AF_INET, Link: 7, Destination: netip.MustParsePrefix("0.0.0.0/0")}, true},
		"number is too short":    {join(rtmsg(unix.AF_INET, 0, main, 0, 0), attr(unix.RTA_OIF, []byte{1})), Route{Family: unix.AF_INET, Destination: netip.MustParsePrefix("0.0.0.0/0")}, true},
		"attribute of no length": {join(rtmsg(unix.AF_INET, 0, main, 0, 0), []byte{0, 0, 0, 0}), Route{Family: unix.AF_INET, Destination: netip.MustParsePrefix("0.0.0.0/0")}, true},
	} {
		got, isMain := parseRoute(test.message)
		if got != test.want || isMain != test.main {
			t.Errorf("%s: got %+v, %t, want %+v, %t", name, got, isMain, test.want, test.main)
		}
	}
}

func TestParseLink(t *testing.T) {
	permanent := net.HardwareAddr{2, 0, 0, 0, 0, 9}
	info := func(parts ...[]byte) []byte { return attr(unix.IFLA_LINKINFO|unix.NLA_F_NESTED, join(parts...)) }
	member := func(kind string) []byte {
		return info(attr(unix.IFLA_INFO_SLAVE_KIND, []byte(kind+"\x00")),
			attr(unix.IFLA_INFO_SLAVE_DATA|unix.NLA_F_NESTED, attr(unix.IFLA_BOND_SLAVE_PERM_HWADDR, permanent)))
	}
	for name, test := range map[string]struct {
		attributes      []byte
		kind, permanent string
	}{
		"no kind":             {attr(unix.IFLA_IFNAME, []byte("eth0\x00")), "", ""},
		"a bond":              {info(attr(unix.IFLA_INFO_KIND, []byte("bond\x00"))), "bond", ""},
		"a member of a bond":  {member("bond"), "", "02:00:00:00:00:09"},
		"a member of another": {member("bridge"), "", ""},
		"cut":                 {info(attr(unix.IFLA_INFO_KIND, []byte("bond\x00")))[:9], "", ""},
	} {
		if got := parseLink(test.attributes); got.kind != test.kind || got.permanent.String() != test.permanent {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func FuzzNetlink(f *testing.F) {
	f.Add(join(rtmsg(unix.AF_INET, 24, unix.RT_TABLE_MAIN, 0, 0), attr(unix.RTA_DST, []byte{192, 0, 2, 0}), attr(unix.RTA_MULTIPATH, hop(5, []byte{192, 0, 2, 9}))))
	f.Add(attr(unix.IFLA_LINKINFO, attr(unix.IFLA_INFO_KIND, []byte("bond\x00"))))
	f.Fuzz(func(t *testing.T, content []byte) {
		if route, isMain := parseRoute(content); isMain && !route.Destination.IsValid() {
			t.Errorf("got %+v", route)
		}
		if got := parseLink(content); strings.ContainsRune(got.kind, 0) {
			t.Errorf("got %+v", got)
		}
	})
}

// TestKernel reads this machine: its loopback interface is there, and each route has an interface.
func TestKernel(t *testing.T) {
	links := must.Get(Kernel{}.Links())(t)
	names := map[string]bool{}
	for _, link := range links {
		names[link.Name] = true
	}
	if !names["lo"] {
		t.Errorf("found %v", names)
	}
	for _, route := range must.Get(Kernel{}.Routes())(t) {
		if !names[route.Interface] || !route.Destination.IsValid() {
			t.Errorf("found %+v", route)
		}
	}
	if (Collector{}).network() != (Kernel{}) {
		t.Error("the kernel is not the default")
	}
}
