package nmstate

import (
	"net/netip"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// State is the network of one machine: the desired state of an nmstate document
// that was read without a problem. It is not changed after Parse.
type State struct {
	name       string
	interfaces []*iface
	routes     []route
	rules      []rule
	dns        resolver
	ignored    Problems
}

// Ignored are the parts of the document that nothing was made of, each with its
// place: what nmstate shows of a machine and nobody can set, interfaces that are to
// be left alone, and the machine's name, which goes with the machine.
func (s *State) Ignored() Problems { return s.ignored }

type kind string

const (
	ethernet    kind = "ethernet"
	bondKind    kind = "bond"
	vlanKind    kind = "vlan"
	linuxBridge kind = "linux-bridge"
	dummyKind   kind = "dummy"
	vrfKind     kind = "vrf"
	vxlanKind   kind = "vxlan"
	ovsSwitch   kind = "ovs-bridge"
	ovsDevice   kind = "ovs-interface"
	ovsPlug     kind = "ovs-port" // of a profile; in a document it is part of the ovs-bridge
	loopback    kind = "loopback" // no profile is made of it
)

// device says whether the kernel has a device of the kind. A switch of Open vSwitch
// is none, and often has the name of an interface of its own.
func (k kind) device() bool { return k != ovsSwitch && k != ovsPlug }

// What an interface is to be. One that is down keeps a profile that is not
// brought up by itself, so that NetworkManager does not invent one for it; one
// that is absent has none, and so has one that is ignored.
const (
	up     = "up"
	down   = "down"
	absent = "absent"
	ignore = "ignore"
)

// iface is an interface, or what is to become one.
type iface struct {
	name    string // nmstate's name; of a physical interface it is only logical
	at      yamltree.Place
	field   string // path in the document
	profile string // name of the profile, if it has one of its own
	kind    kind
	state   string
	byMAC   bool // mac says which interface it is, not which address it shall have
	mac     word
	copyMAC word // name of the port whose address it shall have

	mtu         *int64
	description string
	promiscuous *bool
	lldp        *bool
	wait        string // families that have to be there before the profile counts as up
	waitAt      yamltree.Place
	link        link
	ip4, ip6    family

	controller word // name of the bond or bridge that it is a port of

	ethtool, dot1x, sriov []setting

	bond   *bond
	vlan   *vlan
	bridge *bridge
	vrf    *vrf
	vxlan  *vxlan
	ovs    *ovsBridge
	plug   *ovsPort // of a profile of kind ovsPlug
	peer   string   // of an ovs-interface that is a patch
}

// gone says whether no profile is made of the interface.
func (i *iface) gone() bool { return i.state == absent || i.state == ignore }

// base is the interface that one stands on, "" where it stands on none.
func (i *iface) base() (name word, field string) {
	switch {
	case i.vlan != nil:
		return i.vlan.base, i.field + ".vlan.base-iface"
	case i.vxlan != nil:
		return i.vxlan.base, i.field + ".vxlan.base-iface"
	}
	return word{}, ""
}

// link is what an Ethernet interface agrees on with the other end.
type link struct {
	negotiate *bool
	speed     *int64 // Mb/s
	duplex    string
}

// portSettings are what a bond or bridge says about one of its ports.
type portSettings struct {
	queue, priority *int64 // of a bond
	bridgePriority  *int64
	pathCost        *int64
	hairpin         *bool
}

type bond struct {
	mode    string
	options []setting // in the order of their names
	primary word      // name of the port that is used before the others
	ports   []port
}

type setting struct {
	key, value string
}

// port is a port by name.
type port struct {
	word
	field    string
	settings portSettings
	ovs      *ovsPort // that the interface is in, of an ovs-bridge
}

type vlan struct {
	base     word
	id       int64
	protocol string
	flags    int64 // NetworkManager's bits, see readVLAN
}

type bridge struct {
	settings []setting
	ports    []port
}

// family is how an interface gets addresses of IPv4 or IPv6.
type family struct {
	at             yamltree.Place
	field          string
	enabled        bool
	dhcp, autoconf bool
	addresses      []address
	autoDNS        bool
	autoGateway    bool
	autoRoutes     bool
	table, metric  *int64
	clientID       string // IPv4
	duid           string // IPv6
	sendHostname   *bool
	hostname       string
	genMode        string
	token          string
}

// dynamic says whether the network gives addresses.
func (f *family) dynamic() bool {
	return f.enabled && (f.dhcp || f.autoconf)
}

// static says whether there are addresses that the document gives.
func (f *family) static() bool {
	return f.enabled && len(f.addresses) > 0
}

type address struct {
	netip.Prefix
	at    yamltree.Place
	field string
}

type route struct {
	destination netip.Prefix
	via         netip.Addr // invalid: on the link
	out         word
	source      netip.Addr
	metric      *int64
	table       *int64
	at          yamltree.Place
	field       string
}

// isDefault says whether the route leads to everywhere.
func (r *route) isDefault() bool {
	return r.destination.Bits() == 0
}

type resolver struct {
	servers []server
	search  []string
	options []string
	at      yamltree.Place
}

type server struct {
	netip.Addr // without zone
	zone       string
	at         yamltree.Place
	field      string
}

// of is the family of an address.
func (i *iface) of(ip netip.Addr) *family {
	if ip.Is4() {
		return &i.ip4
	}
	return &i.ip6
}

// find is the device with a name, or nil.
func (s *State) find(name string) *iface {
	for _, i := range s.interfaces {
		if i.name == name && i.kind.device() {
			return i
		}
	}
	return nil
}

// controllerNamed is what has a name and ports, or nil.
func (s *State) controllerNamed(name string) *iface {
	for _, i := range s.interfaces {
		if i.name == name && i.controls() {
			return i
		}
	}
	return nil
}

// controls says whether an interface has ports.
func (i *iface) controls() bool {
	return i.bond != nil || i.bridge != nil || i.vrf != nil || i.ovs != nil
}

// ports are the ports of what has some, whose own list names them.
func (i *iface) ports() []port {
	switch {
	case i.vrf != nil:
		return i.vrf.ports
	case i.ovs != nil:
		return i.ovs.ports
	case i.bond != nil:
		return i.bond.ports
	case i.bridge != nil:
		return i.bridge.ports
	}
	return nil
}
