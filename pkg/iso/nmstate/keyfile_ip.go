package nmstate

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// forever is how long the network is waited for: a machine that is to be
// installed has nothing better to do (nmstate waits as long).
const forever = "2147483647" // seconds

// Priorities of DNS servers that a document names: before those that come with a
// lease (100), and the family that is named first before the other.
const (
	dnsFirst  = "40"
	dnsSecond = "50"
)

// families writes how the interface gets its addresses.
func (w *writer) families(s *sections, i *iface) {
	s.group("ipv4")
	w.family(s, i, &i.ip4)
	s.group("ipv6")
	w.family(s, i, &i.ip6)
}

func (w *writer) family(s *sections, i *iface, f *family) {
	four := f == &i.ip4
	if !f.enabled {
		s.set("method", "disabled")
		return
	}
	s.set("method", f.method(four))
	for n, a := range f.addresses {
		s.set("address"+strconv.Itoa(n+1), a.String())
	}
	if f.dhcp || f.autoconf {
		f.lease(s, four)
	}
	if !four {
		genMode := f.genMode
		if genMode == "" {
			genMode = "eui64" // nmstate's; addresses follow from the MAC address
		}
		s.set("addr-gen-mode", genMode)
		if f.token != "" {
			s.set("token", f.token)
		}
	}
	if wait4, wait6 := i.waitsFor(); four && wait4 || !four && wait6 {
		s.set("may-fail", "false")
	}
	w.dns(s, i, f)
	w.routes(s, i, f)
	w.rules(s, i, f)
}

// rules writes the routing rules that come and go with this interface.
func (w *writer) rules(s *sections, i *iface, f *family) {
	n := 0
	for r := range w.state.rules {
		rl := &w.state.rules[r]
		if w.state.carrier(rl) == i && rl.four == (f == &i.ip4) {
			n++
			s.set("routing-rule"+strconv.Itoa(n), rl.text())
		}
	}
}

func (f *family) method(four bool) string {
	switch {
	case four && f.dhcp, f.autoconf:
		return "auto"
	case f.dhcp:
		return "dhcp"
	case len(f.addresses) > 0:
		return "manual"
	default:
		return "link-local"
	}
}

// lease writes how the machine asks for a lease, and what it takes from it.
// Clients without an identity of their own are told apart by their MAC address.
func (f *family) lease(s *sections, four bool) {
	s.set("dhcp-timeout", forever)
	if four {
		s.set("dhcp-client-id", orElse(map[string]string{"ll": "mac", "iaid+duid": "duid"}[f.clientID], orElse(f.clientID, "mac")))
	} else {
		s.set("dhcp-duid", orElse(f.duid, "ll"))
		s.set("dhcp-iaid", "mac")
		s.set("ra-timeout", forever)
	}
	if f.hostname != "" {
		s.set("dhcp-hostname", f.hostname)
	}
	if f.sendHostname != nil && !*f.sendHostname {
		s.set("dhcp-send-hostname", "false")
	}
	for _, taken := range []struct {
		key  string
		flag bool
	}{{"ignore-auto-dns", !f.autoDNS}, {"ignore-auto-routes", !f.autoRoutes}, {"never-default", !f.autoGateway}} {
		if taken.flag {
			s.set(taken.key, "true")
		}
	}
	s.setNumber("route-table", f.table)
	s.setNumber("route-metric", f.metric)
}

func orElse(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

// dns writes the servers that this family of an interface gets, and the search
// domains.
func (w *writer) dns(s *sections, i *iface, f *family) {
	d := w.state.dns
	var servers []string
	for _, server := range d.servers {
		if w.state.asks(server) == f {
			servers = append(servers, server.String())
		}
	}
	s.setList("dns", servers)
	switch {
	case len(servers) == 0:
	case d.servers[0].Is4() == (f == &i.ip4):
		s.set("dns-priority", dnsFirst)
	default:
		s.set("dns-priority", dnsSecond)
	}
	if w.state.searches() == f {
		s.setList("dns-search", d.search)
		s.setList("dns-options", d.options)
	}
}

// routes writes the routes through this interface. A default route is one of
// them: the key for a gateway takes neither metric nor table.
func (w *writer) routes(s *sections, i *iface, f *family) {
	n := 0
	for _, rt := range w.state.routes {
		if rt.out.text != i.name || i.of(rt.destination.Addr()) != f {
			continue
		}
		n++
		key := "route" + strconv.Itoa(n)
		value := []string{rt.destination.String()}
		switch {
		case rt.via.IsValid():
			value = append(value, rt.via.String())
		case rt.metric != nil && rt.destination.Addr().Is4():
			value = append(value, netip.IPv4Unspecified().String())
		case rt.metric != nil:
			value = append(value, netip.IPv6Unspecified().String())
		}
		if rt.metric != nil {
			value = append(value, strconv.FormatInt(*rt.metric, 10))
		}
		s.set(key, strings.Join(value, ","))
		var options []string
		if rt.source.IsValid() {
			options = append(options, "src="+rt.source.String())
		}
		if rt.table != nil {
			options = append(options, fmt.Sprintf("table=%d", *rt.table))
		}
		if len(options) > 0 {
			s.set(key+"_options", strings.Join(options, ","))
		}
	}
}
