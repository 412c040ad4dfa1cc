// Package nmstate turns the description of a machine's network in nmstate's
// words (nmstate.io) into NetworkManager keyfiles that need neither nmstate nor a
// script on the machine: a physical interface is found by its permanent MAC
// address, never by its kernel name, which is not known before the machine
// boots; VLANs and ports refer to other profiles by UUID.
//
// It understands the part of nmstate that installs of OpenShift use: ethernet with
// ethtool, 802.1X and SR-IOV, bonds, VLANs, Linux bridges, Open vSwitch, VRF, VXLAN
// and dummy interfaces, addresses of both families, DHCP, autoconfiguration, routes,
// routing rules and DNS. What nmstate shows of a machine and nobody can set is
// ignored and told of (State.Ignored). Everything else is refused by name with its
// place in the document: a network that is only partly what was asked for is
// worse than none.
//
// Reading goes from text over a tree with places (fields.go) to a State (state.go,
// read_*.go, check.go), and writing from the State to keyfiles (keyfile*.go).
// conflicts.go judges keyfiles that somebody else wrote, and compares machines.
package nmstate

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/yamltree"
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
	if len(r.problems) == 0 {
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
		r.report(yamltree.Place{Line: 1, Column: 1}, "", "is empty")
		return nil
	case len(docs) > 1:
		r.report(docs[1].At, "", "a second document starts here: one describes one machine")
		return nil
	}
	return docs[0]
}

func (r *reader) state(root *yamltree.Node) *State {
	s := &State{name: r.name}
	doc := r.object(root, "")
	doc.hints = map[string]string{
		"capture": "this is a policy; write the state that it leads to",
		"desired": "this is a policy; write the state that it leads to",
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
	routes.shown("running")
	s.rules = doc.object("route-rules").rules()
	doc.hostname()
	doc.ignoreEmpty("ovs-db", "ovn")
	r.refuseUnread()
	s.ignored = r.ignored
	slices.SortStableFunc(s.ignored, byPlace)
	return s
}

func (o *object) hostname() {
	name := o.object("hostname")
	name.shown("running")
	if w := name.text("config"); w.text != "" {
		o.r.ignore(w.at, name.field("config"), "a host's name goes with the machine, not with its network")
	}
}

// shown takes keys that nmstate shows of a machine and nobody can set.
func (o *object) shown(keys ...string) {
	for _, key := range keys {
		e, there := o.left[key]
		delete(o.left, key)
		if there && !saysNothing(e.Value) {
			o.r.ignore(e.At, o.field(key), "nmstate shows it, and it cannot be set")
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
	o.shown("running")
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
	o.hints = map[string]string{"weight": "routes are not balanced over several gateways", "route-type": "only routes to other machines are"}
	return rt, !gone
}
