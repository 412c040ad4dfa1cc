package nmstate

import (
	"net/netip"
)

// vrf is a routing table of its own, for its ports.
type vrf struct {
	table int64
	ports []port
}

func (o *object) vrf(state string) *vrf {
	if state != absent {
		o.need("route-table-id")
	}
	v := &vrf{}
	if table := o.number("route-table-id", 1, largest32); table != nil {
		v.table = *table
	}
	for _, w := range o.texts("port") {
		v.ports = append(v.ports, port{word: w, field: o.field("port")})
	}
	o.end()
	return v
}

// vxlan is a network in UDP.
type vxlan struct {
	base     word // "": found by its addresses
	settings []setting
}

func (o *object) vxlan(state string) *vxlan {
	if state != absent {
		o.need("id")
	}
	v := &vxlan{base: o.text("base-iface")}
	v.settings = appendNumber(v.settings, "id", o.number("id", 0, 1<<24-1))
	for _, key := range []string{"local", "remote"} {
		if ip, _, ok := o.ip(key); ok {
			v.settings = append(v.settings, setting{key, ip.String()})
		}
	}
	v.settings = appendNumber(v.settings, "destination-port", o.number("destination-port", 1, 65535))
	v.settings = appendFlag(v.settings, "learning", o.flag("learning"))
	o.end()
	return v
}

// onlyItself says whether a loopback interface has no addresses but those that every
// one has.
func (i *iface) onlyItself() bool {
	for _, f := range []*family{&i.ip4, &i.ip6} {
		for _, a := range f.addresses {
			if a.Prefix != netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 8) && a.Prefix != netip.PrefixFrom(netip.IPv6Loopback(), 128) {
				return false
			}
		}
	}
	return true
}
