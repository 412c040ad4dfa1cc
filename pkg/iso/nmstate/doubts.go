package nmstate

import (
	"fmt"
	"slices"
	"strconv"
)

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
			doubt(i.at.Line, i.at.Column, i.field+".mtu", "the MTU %d of %s is above that of %s, which carries it: %d", own, i.name, i.base.text, base)
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
			return other.destination.Addr().Is4() == r.destination.Addr().Is4() && number(other.table) == number(r.table) && number(other.metric) == number(r.metric)
		}
		if slices.ContainsFunc(defaults[:i], same) {
			doubt(r.at.Line, r.at.Column, r.field, "is a second default route of the same metric: which of them is taken is not said")
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
		doubt(1, 1, "routes.config", "there is no default route: the machine reaches its own networks alone")
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
