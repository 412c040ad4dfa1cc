package nmstate

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

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

// Ignored are the parts of the document that nothing was made of: what nmstate shows
// of a machine and nobody can set, interfaces that are to be left alone, and the
// machine's name, which goes with the machine.
func (s *State) Ignored() Problems { return s.ignored }

type kind string

const (
	ethernet         kind = "ethernet"
	bondKind         kind = "bond"
	vlanKind         kind = "vlan"
	linuxBridge      kind = "linux-bridge"
	dummyKind        kind = "dummy"
	vrfKind          kind = "vrf"
	vxlanKind        kind = "vxlan"
	ovsBridgeKind    kind = "ovs-bridge"
	ovsInterfaceKind kind = "ovs-interface"
	ovsPortKind      kind = "ovs-port" // of a profile; in a document it is part of the ovs-bridge
	loopback         kind = "loopback" // no profile is made of it
)

// device says whether the kernel has a device of the kind. A switch of Open vSwitch
// is none, and often has the name of an interface of its own.
func (k kind) device() bool { return k != ovsBridgeKind && k != ovsPortKind }

// What an interface is to be. One that is down keeps a profile that is not
// brought up by itself, so that NetworkManager does not invent one for it; one
// that is absent has none, and so has one that is ignored.
const (
	up     = "up"
	down   = "down"
	absent = "absent"
	ignore = "ignore"
)

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

	description string
	lldp        *bool
	wait        string // families that have to be there before the profile counts as up
	waitAt      yamltree.Place
	ip4, ip6    family

	controller word     // name of the bond or bridge that it is a port of
	ports      []port   // of a controller
	base       word     // name of the interface that it stands on, "" where it stands on none
	ovsPort    *ovsPort // of a profile of kind ovsPortKind
	peer       string   // of an ovs-interface that is a patch

	// Groups of the profile; own is the one that is named after the kind.
	ethernet, own, ethtool, dot1x, sriov settings
}

func (i *iface) gone() bool { return i.state == absent || i.state == ignore }

func (i *iface) baseField() string { return i.field + "." + string(i.kind) + ".base-iface" }

type port struct {
	word
	field    string
	settings settings // that a bond or bridge has for it
	ovs      *ovsPort // that the interface is in, of an ovs-bridge
}

// ovsPort is a port of an ovs-bridge; several interfaces make it a bond.
type ovsPort struct {
	name     string
	settings settings
}

// settings are keys of a group of a keyfile, with their values.
type settings []setting

type setting struct{ key, value string }

func (s *settings) add(key, value string) {
	if value != "" {
		*s = append(*s, setting{key, value})
	}
}

func (s *settings) number(key string, value *int64) {
	if value != nil {
		s.add(key, strconv.FormatInt(*value, 10))
	}
}

func (s *settings) flag(key string, value *bool) {
	if value != nil {
		s.add(key, strconv.FormatBool(*value))
	}
}

// bit adds a truth value that is written as 1 or 0.
func (s *settings) bit(key string, value *bool) {
	if value != nil {
		s.add(key, map[bool]string{true: "1", false: "0"}[*value])
	}
}

func (s *settings) list(key string, values []string) {
	if len(values) > 0 {
		s.add(key, strings.Join(values, ";")+";")
	}
}

// family is how an interface gets addresses of IPv4 or IPv6.
type family struct {
	at             yamltree.Place
	field          string
	enabled        bool
	dhcp, autoconf bool
	addresses      []address
	autoDNS        bool
	settings       settings // for leases and addresses that the machine makes
}

// dynamic says whether the network gives addresses, static whether the document does.
func (f *family) dynamic() bool { return f.enabled && (f.dhcp || f.autoconf) }
func (f *family) static() bool  { return f.enabled && len(f.addresses) > 0 }

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

func (r *route) isDefault() bool { return r.destination.Bits() == 0 }

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

func (i *iface) of(ip netip.Addr) *family {
	if ip.Is4() {
		return &i.ip4
	}
	return &i.ip6
}

func (s *State) find(name string) *iface {
	return s.first(func(i *iface) bool { return i.name == name && i.kind.device() })
}

// controllerNamed is what has a name and ports, or nil.
func (s *State) controllerNamed(name string) *iface {
	return s.first(func(i *iface) bool { return i.name == name && i.controls() })
}

func (s *State) first(is func(*iface) bool) *iface {
	if n := slices.IndexFunc(s.interfaces, is); n >= 0 {
		return s.interfaces[n]
	}
	return nil
}

func (i *iface) controls() bool {
	return slices.Contains([]kind{bondKind, linuxBridge, vrfKind, ovsBridgeKind}, i.kind)
}
