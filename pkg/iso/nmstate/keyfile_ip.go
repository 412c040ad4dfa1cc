package nmstate

import (
	"fmt"
	"net/netip"
	"slices"
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

func (w *writer) family(i *iface, f *family) settings {
	four := f == &i.ip4
	if !f.enabled {
		return settings{{"method", "disabled"}}
	}
	list := settings{{"method", f.method(four)}}
	for n, a := range f.addresses {
		list.add("address"+strconv.Itoa(n+1), a.String())
	}
	list = append(list, f.settings...)
	if wait4, wait6 := i.waitsFor(); four && wait4 || !four && wait6 {
		list.add("may-fail", "false")
	}
	w.dns(&list, i, f)
	w.routes(&list, i, f)
	n := 0
	for r := range w.state.rules { // they come and go with this interface
		if rl := &w.state.rules[r]; w.state.ruleInterface(rl) == i && rl.four == four {
			n++
			list.add("routing-rule"+strconv.Itoa(n), fmt.Sprintf("priority %d %s", *rl.priority, strings.Join(rl.words, " ")))
		}
	}
	return list
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

func (w *writer) dns(list *settings, i *iface, f *family) {
	d := w.state.dns
	var servers []string
	for _, server := range d.servers {
		if w.state.serverFamily(server) == f {
			servers = append(servers, server.String())
		}
	}
	list.list("dns", servers)
	switch {
	case len(servers) == 0:
	case d.servers[0].Is4() == (f == &i.ip4):
		list.add("dns-priority", dnsFirst)
	default:
		list.add("dns-priority", dnsSecond)
	}
	if w.state.searchFamily() == f {
		list.list("dns-search", d.search)
		list.list("dns-options", d.options)
	}
}

// routes writes the routes through this interface. A default route is one of
// them: the key for a gateway takes neither metric nor table.
func (w *writer) routes(list *settings, i *iface, f *family) {
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
		list.add(key, strings.Join(value, ","))
		var options []string
		if rt.source.IsValid() {
			options = append(options, "src="+rt.source.String())
		}
		if rt.table != nil {
			options = append(options, fmt.Sprintf("table=%d", *rt.table))
		}
		list.add(key+"_options", strings.Join(options, ","))
	}
}

// DNS servers are the machine's in nmstate, but a family's of an interface in
// NetworkManager: a profile asks the servers that it has, as long as it is up.

// serverFamily is the family of an interface whose profile gets a server: the one that a
// link-local address names, else the best; nil where none has addresses of its family.
func (s *State) serverFamily(server server) *family {
	if server.zone == "" {
		return s.bestFamily(func(i *iface) []*family { return []*family{i.of(server.Addr)} })
	}
	i := s.find(server.zone)
	if i == nil || i.state != up || s.dnsRank(i, i.of(server.Addr)) == 0 {
		return nil
	}
	return i.of(server.Addr)
}

// searchFamily is the family of an interface that gets the search domains: that of
// the first server, or the best where no server is named.
func (s *State) searchFamily() *family {
	if len(s.dns.servers) > 0 {
		return s.serverFamily(s.dns.servers[0])
	}
	return s.bestFamily(func(i *iface) []*family { return []*family{&i.ip4, &i.ip6} })
}

// bestFamily is the first of the families with the highest rank; nil if there are
// none that are on.
func (s *State) bestFamily(of func(*iface) []*family) *family {
	var best *family
	bestRank := 0
	for _, i := range s.interfaces {
		if i.state != up {
			continue
		}
		for _, f := range of(i) {
			if rank := s.dnsRank(i, f); rank > bestRank {
				best, bestRank = f, rank
			}
		}
	}
	return best
}

// dnsRank says how fit a family of an interface is to have the servers: with a
// default route best, then where the document takes the place of the network's
// servers, then where addresses are given, then where they come from the network.
// NetworkManager takes no servers where there are link-local addresses alone.
func (s *State) dnsRank(i *iface, f *family) int {
	isDefault := func(rt route) bool {
		return rt.isDefault() && rt.table == nil && rt.out.text == i.name && i.of(rt.destination.Addr()) == f
	}
	switch {
	case !f.dynamic() && !f.static():
		return 0
	case slices.ContainsFunc(s.routes, isDefault):
		return 4
	case f.dynamic() && !f.autoDNS:
		return 3
	case f.static():
		return 2
	case f.dynamic():
		return 1
	}
	return 0
}
