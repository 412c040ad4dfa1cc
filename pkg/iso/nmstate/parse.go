// Package nmstate turns the description of a machine's network in nmstate's
// words (nmstate.io) into NetworkManager keyfiles that need neither nmstate nor a
// script on the machine: a physical interface is found by its permanent MAC
// address, never by its kernel name, which is not known before the machine
// boots; VLANs and ports refer to other profiles by UUID.
//
// It understands the part of nmstate that installs of OpenShift use: ethernet with
// ethtool, 802.1X and SR-IOV, bonds, VLANs, Linux bridges, Open vSwitch, VRF, VXLAN,
// MAC VLAN, veth and dummy interfaces, addresses of both families, DHCP, autoconfiguration, routes,
// routing rules and DNS. What nmstate shows of a machine and no file can set is
// ignored and reported (State.Ignored), and so are keys of interfaces that nmstate does
// not know. Everything else is refused by name with its place in the document: a network that is only partly what was asked for is
// worse than none.
//
// Reading goes from text over a tree with places (fields.go) to a State (parse.go, read_*.go, check.go), and writing
// from the State to keyfiles (keyfile*.go). conflicts.go judges keyfiles that were written by hand or by another tool,
// and compares machines.
package nmstate

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
)

// Parse reads an nmstate document, YAML or JSON. The name is the file's, for
// messages. The error is Problems: all that is wrong, with line and column, and
// everything that is not supported by its name.
func Parse(name string, data []byte) (*State, error) {
	r := &reader{name: name}
	s := &State{name: name}
	if root := r.tree(data); root != nil {
		s = r.state(root)
	}
	if !slices.ContainsFunc(r.problems, func(p Problem) bool { return !p.Limit }) {
		r.check(s)
	}
	if err := r.problems.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// tree is the one document of the data, nil where it cannot be read.
func (r *reader) tree(data []byte) *yamltree.Node {
	docs, problems := yamltree.Parse(data)
	for _, p := range problems {
		r.report(p.At, "", "%s", p.Message)
	}
	switch {
	case len(problems) > 0:
		return nil
	case len(docs) == 0:
		r.report(yamltree.Position{Line: 1, Column: 1}, "", "is empty")
		return nil
	case len(docs) > 1:
		r.report(docs[1].At, "", "a second document starts here, but a machine has only one document")
		return nil
	}
	return docs[0]
}

func (r *reader) state(root *yamltree.Node) *State {
	s := &State{name: r.name}
	doc := r.object(root, "")
	doc.hints = map[string]string{
		"capture": "this is a policy; write its desired state",
		"desired": "this is a policy; write its desired state",
	}
	for _, o := range doc.objects("interfaces") {
		s.interfaces = append(s.interfaces, o.iface())
	}
	s.dns = doc.object("dns-resolver").resolver()
	routes := doc.object("routes")
	for _, o := range routes.objects("config") {
		if route, there := o.route(); there {
			s.routes = append(s.routes, route)
		}
	}
	routes.skipReadOnly("running")
	s.rules = doc.object("route-rules").rules()
	doc.hostname()
	doc.ignoreEmpty("ovs-db", "ovn")
	r.refuseUnread()
	s.ignored = r.ignored
	slices.SortStableFunc(s.ignored, byPosition)
	return s
}

func (o *object) hostname() {
	name := o.object("hostname")
	name.skipReadOnly("running")
	if w := name.text("config"); w.text != "" {
		o.r.ignore(w.at, name.field("config"), "the hostname belongs to the machine, not to its network")
	}
}

// skipReadOnly takes keys that nmstate shows of a machine and that cannot be set.
func (o *object) skipReadOnly(keys ...string) {
	for _, key := range keys {
		e, there := o.left[key]
		delete(o.left, key)
		if there && !saysNothing(e.Value) {
			o.r.ignore(e.At, o.field(key), "nmstate only shows it; it cannot be set")
		}
	}
}

// ignoreEmpty takes keys that say nothing: what nmstate shows of a machine has them.
func (o *object) ignoreEmpty(keys ...string) {
	for _, key := range keys {
		if e, ok := o.left[key]; ok && saysNothing(e.Value) {
			delete(o.left, key)
		}
	}
}

func saysNothing(n *yamltree.Node) bool {
	for _, e := range n.Entries {
		if !saysNothing(e.Value) {
			return false
		}
	}
	return !n.Scalar() && len(n.Items) == 0
}

// mainTable is the number of the kernel's main routing table (RT_TABLE_MAIN).
const mainTable = 254

func (o *object) resolver() resolver {
	config := o.object("config")
	d := resolver{at: config.at}
	for _, w := range config.texts("server") {
		text, zone, _ := strings.Cut(w.text, "%")
		ip, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			o.r.report(w.at, config.field("server"), "%q is not an IP address", w.text)
		case zone != "" && !ip.IsLinkLocalUnicast():
			o.r.report(w.at, config.field("server"), "%s names an interface, but only link-local addresses need one", w.text)
		default:
			d.servers = append(d.servers, server{ip.Unmap(), zone, w.at, config.field("server")})
		}
	}
	words := func(key, what string) (list []string) {
		for _, w := range config.texts(key) {
			if strings.ContainsAny(w.text, " ;,\\") {
				o.r.report(w.at, config.field(key), "%q is not %s", w.text, what)
			}
			list = append(list, w.text)
		}
		return list
	}
	d.search, d.options = words("search", "a domain"), words("options", "an option of resolv.conf")
	o.skipReadOnly("running")
	return d
}

// route reads a route. One that is to be absent is not there: a profile that is
// made from nothing has no others.
func (o *object) route() (route, bool) {
	gone := o.oneOf("state", "", absent) == absent
	if !gone {
		o.need("destination", "next-hop-interface") // the route belongs to the interface's profile
	}
	rt := route{at: o.at, field: o.path, out: o.text("next-hop-interface")}
	if w := o.text("destination"); w.text != "" {
		destination, err := netip.ParsePrefix(w.text)
		if err != nil {
			o.r.report(w.at, o.field("destination"), "%q is not an address with a prefix length", w.text)
		}
		rt.destination = destination.Masked()
	}
	if via, at, ok := o.ip("next-hop-address"); ok && !via.IsUnspecified() {
		if rt.destination.IsValid() && via.Is4() != rt.destination.Addr().Is4() {
			o.r.report(at, o.field("next-hop-address"), "%s is of another family than %s", via, rt.destination)
		}
		rt.via = via.WithZone("")
	}
	if source, at, ok := o.ip("source"); ok {
		if rt.destination.IsValid() && source.Is4() != rt.destination.Addr().Is4() {
			o.r.report(at, o.field("source"), "%s is of another family than %s", source, rt.destination)
		}
		rt.source = source
	}
	// nmstate writes -1 for a metric that is left to NetworkManager, and 0 for the
	// main table.
	if rt.metric = o.number("metric", -1, largest32); rt.metric != nil && *rt.metric < 0 {
		rt.metric = nil
	}
	if rt.table = o.number("table-id", 0, largest32); rt.table != nil && (*rt.table == 0 || *rt.table == mainTable) {
		rt.table = nil
	}
	o.hints = map[string]string{"weight": "several gateways for one route are not supported",
		"route-type": "only routes to other machines are"}
	return rt, !gone
}

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

// Ignored are the parts of the document that nothing was made of: what nmstate shows of a machine and cannot be set,
// interfaces that are to be left alone, and the machine's name, which belongs to the machine.
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
	macVLANKind      kind = "mac-vlan"
	macVTAPKind      kind = "mac-vtap"
	vethKind         kind = "veth"
	loopback         kind = "loopback" // no profile is made of it
)

// device reports whether the kernel has a device of the kind. A switch of Open vSwitch is none, and often has the name
// of an interface of its own.
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
	at      yamltree.Position
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
	waitAt      yamltree.Position
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
	at             yamltree.Position
	field          string
	enabled        bool
	dhcp, autoconf bool
	addresses      []address
	autoDNS        bool
	settings       settings // for leases and addresses that the machine makes
}

// dynamic reports whether the network gives addresses, static whether the document does.
func (f *family) dynamic() bool { return f.enabled && (f.dhcp || f.autoconf) }
func (f *family) static() bool  { return f.enabled && len(f.addresses) > 0 }

type address struct {
	netip.Prefix
	at    yamltree.Position
	field string
}

type route struct {
	destination netip.Prefix
	via         netip.Addr // invalid: on the link
	out         word
	source      netip.Addr
	metric      *int64
	table       *int64
	at          yamltree.Position
	field       string
}

func (r *route) isDefault() bool { return r.destination.Bits() == 0 }

type resolver struct {
	servers []server
	search  []string
	options []string
	at      yamltree.Position
}

type server struct {
	netip.Addr // without zone
	zone       string
	at         yamltree.Position
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
	controllers := []kind{bondKind, linuxBridge, vrfKind, ovsBridgeKind}
	return s.first(func(i *iface) bool { return i.name == name && slices.Contains(controllers, i.kind) })
}

func (s *State) first(is func(*iface) bool) *iface {
	if n := slices.IndexFunc(s.interfaces, is); n >= 0 {
		return s.interfaces[n]
	}
	return nil
}
