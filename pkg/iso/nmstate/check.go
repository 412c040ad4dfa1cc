package nmstate

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
)

// check compares what parts of a document say about each other. Ports and bases without
// an entry may still be known by their MAC addresses: Keyfiles looks for them.
func (r *reader) check(s *State) {
	names := map[string]*iface{}
	for _, i := range s.interfaces {
		if first, again := names[i.key()]; again {
			r.report(i.at, i.field+".name", "%s appears here a second time, first in line %d", i.name, first.at.Line)
			continue
		}
		names[i.key()] = i
	}
	r.checkPorts(s)
	r.checkOVSInterfaces(s)
	r.checkWaitIP(s)
	r.checkMACs(s)
	for _, i := range s.interfaces {
		if i.base.text != "" && !i.gone() {
			r.checkBase(s, i)
		}
		switch {
		case i.copyMAC.text == "" || i.kind == ovsInterfaceKind && s.find(i.copyMAC.text) != nil:
		case !slices.ContainsFunc(i.ports, func(p port) bool { return p.text == i.copyMAC.text }):
			r.report(i.copyMAC.at, i.field+".copy-mac-from", "%s is not a port of %s", i.copyMAC.text, i.name)
		}
	}
	r.checkAddresses(s)
	for i := range s.routes {
		r.checkRoute(s, &s.routes[i])
	}
	r.checkRules(s)
	for _, server := range s.dns.servers {
		if s.serverFamily(server) == nil {
			r.report(server.at, server.field, "no interface can reach %s: no interface has addresses of its family", server.Addr)
		}
	}
	if len(s.dns.servers) == 0 && len(s.dns.search)+len(s.dns.options) > 0 && s.searchFamily() == nil {
		r.report(s.dns.at, "dns-resolver.config", "no interface has addresses, so no DNS server can be reached")
	}
}

// key is what only one interface of a document may have: its name, except for a switch of Open vSwitch, which is no device.
func (i *iface) key() string {
	if i.kind.device() {
		return i.name
	}
	return string(i.kind) + " " + i.name
}

// checkRules requires an interface for every routing rule, and for iif an interface with a known name.
func (r *reader) checkRules(s *State) {
	for n := range s.rules {
		rl := &s.rules[n]
		if s.ruleInterface(rl) == nil {
			r.report(rl.at, rl.field, "no interface has addresses of its family")
		}
		if rl.input.text == "" {
			continue
		}
		switch i := s.find(rl.input.text); {
		case i == nil:
			r.report(rl.input.at, rl.field+".iif", "%s is not an interface of this document", rl.input.text)
		case i.kind == ethernet:
			r.limit(rl.input.at, rl.field+".iif",
				"%s names a device, and the names of physical ones are not known before the machine boots; write ip-from", rl.input.text)
		}
	}
}

// checkPorts ties ports and their controllers together: either may name the other.
func (r *reader) checkPorts(s *State) {
	for _, i := range s.interfaces {
		if i.controller.text != "" {
			r.addToController(s, i)
		}
	}
	taken := map[string]*iface{}
	for _, c := range s.interfaces {
		if c.state != up {
			continue
		}
		if c.kind == bondKind && len(c.ports) == 0 {
			r.report(c.at, c.field+".link-aggregation.port", "the bond %s has no ports", c.name)
		}
		for _, p := range c.ports {
			if first := taken[p.text]; first != nil {
				r.report(p.at, p.field, "%s is a port of %s already", p.text, first.name)
				continue
			}
			taken[p.text] = c
			r.checkPort(s, c, p)
		}
	}
}

// checkOVSInterfaces wants a bridge for every interface of Open vSwitch.
func (r *reader) checkOVSInterfaces(s *State) {
	attached := map[string]bool{}
	for _, c := range s.interfaces {
		for _, p := range c.ports {
			attached[p.text] = attached[p.text] || c.kind == ovsBridgeKind
		}
	}
	for _, i := range s.interfaces {
		if i.kind == ovsInterfaceKind && i.state == up && !attached[i.name] {
			r.report(i.at, i.field, "%s is not a port of an ovs-bridge of this document", i.name)
		}
	}
}

func (r *reader) addToController(s *State, i *iface) {
	c := s.controllerNamed(i.controller.text)
	switch {
	case c == nil:
		r.report(i.controller.at, i.field+".controller", "%s is not a bond or bridge of this document", i.controller.text)
	case !slices.ContainsFunc(c.ports, func(p port) bool { return p.text == i.name }):
		c.ports = append(c.ports, port{word: word{i.name, i.at}, field: i.field, ovs: &ovsPort{name: i.name}})
	}
}

func (r *reader) checkPort(s *State, c *iface, p port) {
	if p.text == c.name && c.kind.device() {
		r.report(p.at, p.field, "%s cannot be a port of itself", c.name)
		return
	}
	i := s.find(p.text)
	switch {
	case i == nil:
	case i.state != up:
		r.report(p.at, p.field, "%s is %s and cannot be a port of %s", i.name, i.state, c.name)
	case c.kind == bondKind && (i.kind == bondKind || i.kind == linuxBridge), c.kind == linuxBridge && i.kind == linuxBridge,
		c.kind != ovsBridgeKind && i.kind == ovsInterfaceKind:
		r.report(p.at, p.field, "a %s cannot be a port of a %s", i.kind, c.kind)
	case (i.ip4.enabled || i.ip6.enabled) && !i.ownAddresses(c):
		f := i.ip4
		if !f.enabled {
			f = i.ip6
		}
		r.report(f.at, f.field, "%s is a port of %s, and a port has no addresses", i.name, c.name)
	}
}

// checkWaitIP wants every family that wait-ip names to be enabled: the profile of one that
// is off, or of a port, has nothing to say of it. "any" is there without addresses, too.
func (r *reader) checkWaitIP(s *State) {
	ports := map[string]*iface{}
	for _, c := range s.interfaces {
		for _, p := range c.ports {
			ports[p.text] = c
		}
	}
	for _, i := range s.interfaces {
		four, six := i.waitsFor()
		field, c := i.field+".wait-ip", ports[i.name]
		switch {
		case i.gone() || !four && !six:
		case c != nil && c.state == up && !i.ownAddresses(c):
			r.report(i.waitAt, field, "%s is a port of %s, and a port has no addresses to wait for; set it on %s", i.name, c.name, c.name)
		case four && !i.ip4.enabled:
			r.report(i.waitAt, field, "%s has no IPv4 addresses to wait for", i.name)
		case six && !i.ip6.enabled:
			r.report(i.waitAt, field, "%s has no IPv6 addresses to wait for", i.name)
		}
	}
}

// waitsFor are the families without which an interface does not count as up.
func (i *iface) waitsFor() (four, six bool) {
	return i.wait == "ipv4" || i.wait == "ipv4+ipv6", i.wait == "ipv6" || i.wait == "ipv4+ipv6"
}

func (r *reader) checkMACs(s *State) {
	seen := map[string]*iface{}
	for _, i := range s.interfaces {
		if i.kind != ethernet || i.mac.text == "" || i.gone() {
			continue
		}
		if first, again := seen[i.mac.text]; again {
			r.report(i.mac.at, i.field+".mac-address", "%s is the address of %s already", i.mac.text, first.name)
			continue
		}
		seen[i.mac.text] = i
	}
}

func (r *reader) checkBase(s *State, i *iface) {
	base := s.find(i.base.text)
	if base != nil && base.state != up && i.state == up {
		r.report(i.base.at, i.baseField(), "%s is %s, but %s needs it as its base", base.name, base.state, i.name)
	}
	for at, steps := base, 0; at != nil; steps++ {
		if at == i || steps > len(s.interfaces) {
			r.report(i.base.at, i.baseField(), "%s stands on itself", i.name)
			return
		}
		at = s.find(at.base.text)
	}
}

func (r *reader) checkAddresses(s *State) {
	seen := map[netip.Addr]*iface{}
	for _, i := range s.interfaces {
		if i.gone() {
			continue
		}
		for _, f := range []*family{&i.ip4, &i.ip6} {
			for _, a := range f.addresses {
				first, again := seen[a.Addr()]
				if again && !(a.Addr().IsLinkLocalUnicast() && first != i) {
					r.report(a.at, a.field, "%s is an address of %s already", a.Addr(), first.name)
				}
				seen[a.Addr()] = i
			}
		}
	}
}

// checkRoute holds a route to its interface: the family has to be on, and the
// gateway has to be on the link.
func (r *reader) checkRoute(s *State, rt *route) {
	i := s.find(rt.out.text)
	if i == nil || i.gone() {
		r.report(rt.out.at, rt.field+".next-hop-interface", "%s is not an interface of this document", rt.out.text)
		return
	}
	f := i.of(rt.destination.Addr())
	switch {
	case !f.enabled:
		r.report(rt.at, rt.field, "%s has no addresses of the family of %s", i.name, rt.destination)
	case rt.via.IsValid() && !s.onLink(i, f, rt.via):
		r.report(rt.at, rt.field+".next-hop-address", "the gateway %s is outside every subnet of %s", rt.via, i.name)
	}
	if slices.ContainsFunc(f.addresses, func(a address) bool { return a.Addr() == rt.via }) {
		r.report(rt.at, rt.field+".next-hop-address", "%s is an address of %s itself", rt.via, i.name)
	}
}

// onLink reports whether a gateway can be reached without another. What the network gives is not known here, so that an
// interface with DHCP may reach any.
func (s *State) onLink(i *iface, f *family, gateway netip.Addr) bool {
	if f.dynamic() || gateway.IsLinkLocalUnicast() {
		return true
	}
	if slices.ContainsFunc(f.addresses, func(a address) bool { return a.Masked().Contains(gateway) }) {
		return true
	}
	return slices.ContainsFunc(s.routes, func(rt route) bool {
		return rt.out.text == i.name && !rt.via.IsValid() && rt.destination.Contains(gateway) && !rt.isDefault()
	})
}

// defaultMTU is what the kernel gives an interface that the document gives none.
const defaultMTU = 1500

// Doubts are what a network can be, and what is seldom meant: no way out of the machine's
// own networks, two that weigh the same, and a VLAN with larger packets than what carries
// it.
func (s *State) Doubts() Problems {
	var found Problems
	doubt := func(line, column int, field, format string, args ...any) {
		found = append(found, Problem{Name: s.name, Line: line, Column: column, Field: field, Message: fmt.Sprintf(format, args...)})
	}
	s.doubtRoutes(doubt)
	for _, i := range s.interfaces {
		at := slices.IndexFunc(s.interfaces, func(other *iface) bool { return other.name == i.base.text })
		if i.kind != vlanKind || i.gone() || at < 0 {
			continue
		}
		if own, base := i.mtu(), s.interfaces[at].mtu(); own > base {
			doubt(i.at.Line, i.at.Column, i.field+".mtu", "the MTU %d of %s is larger than the MTU of its base %s: %d", own, i.name, i.base.text,
				base)
		}
	}
	return found
}

func (s *State) doubtRoutes(doubt func(line, column int, field, format string, args ...any)) {
	var defaults []*route
	for i := range s.routes {
		if s.routes[i].isDefault() {
			defaults = append(defaults, &s.routes[i])
		}
	}
	for i, r := range defaults {
		same := func(other *route) bool {
			return other.destination.Addr().Is4() == r.destination.Addr().Is4() && number(other.table) == number(r.table) &&
				number(other.metric) == number(r.metric)
		}
		if slices.ContainsFunc(defaults[:i], same) {
			doubt(r.at.Line, r.at.Column, r.field, "is a second default route with the same metric: it is not defined which one is used")
		}
	}
	static, dynamic := false, false
	for _, i := range s.interfaces {
		if !i.gone() {
			static = static || i.ip4.static() || i.ip6.static()
			dynamic = dynamic || i.ip4.dynamic() || i.ip6.dynamic()
		}
	}
	if static && !dynamic && len(defaults) == 0 {
		doubt(1, 1, "routes.config", "there is no default route: the machine only reaches its own networks")
	}
}

func number(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func (i *iface) mtu() int {
	for _, s := range i.ethernet {
		if s.key == "mtu" {
			if mtu, err := strconv.Atoi(s.value); err == nil {
				return mtu
			}
		}
	}
	return defaultMTU
}
