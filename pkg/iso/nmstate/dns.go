package nmstate

// DNS servers are the machine's in nmstate, but a family's of an interface in
// NetworkManager: a profile asks the servers that it has, as long as it is up.

// asks is the family of an interface whose profile gets a server: the one that a
// link-local address names, else the one that the world is behind. It is nil
// where none has addresses of the server's family.
func (s *State) asks(server server) *family {
	if server.zone == "" {
		return s.fittest(func(i *iface) []*family { return []*family{i.of(server.Addr)} })
	}
	i := s.find(server.zone)
	if i == nil || i.state != up || s.dnsRank(i, i.of(server.Addr)) == 0 {
		return nil
	}
	return i.of(server.Addr)
}

// searches is the family of an interface that gets the search domains: that of
// the first server, or the fittest where no server is named.
func (s *State) searches() *family {
	if len(s.dns.servers) > 0 {
		return s.asks(s.dns.servers[0])
	}
	return s.fittest(func(i *iface) []*family { return []*family{&i.ip4, &i.ip6} })
}

// fittest is the first of the families with the highest rank; nil if there are
// none that are on.
func (s *State) fittest(of func(*iface) []*family) *family {
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
	switch {
	case !f.dynamic() && !f.static():
		return 0
	case s.hasDefaultRoute(i, f):
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

func (s *State) hasDefaultRoute(i *iface, f *family) bool {
	for _, rt := range s.routes {
		if rt.isDefault() && rt.table == nil && rt.out.text == i.name && i.of(rt.destination.Addr()) == f {
			return true
		}
	}
	return false
}
