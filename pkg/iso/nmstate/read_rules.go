package nmstate

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/internal/yamltree"
)

type rule struct {
	four     bool
	priority *int64
	table    int64
	input    word     // interface that the packet came in by
	words    []string // all but the priority, as ip-rule(8) has them
	at       yamltree.Place
	field    string
}

// firstPriority is that of the first rule that says none; nmstate begins there too.
const firstPriority = 30000

// rules reads route-rules. One that is to be absent is not there.
func (o *object) rules() []rule {
	var list []rule
	next := int64(firstPriority)
	for _, entry := range o.objects("config") {
		rl, there := entry.rule()
		if !there {
			continue
		}
		if rl.priority == nil {
			priority := next
			rl.priority = &priority
			next++
		}
		list = append(list, rl)
	}
	o.end()
	return list
}

func (o *object) rule() (rule, bool) {
	gone := o.oneOf("state", "", absent) == absent
	rl := rule{four: true, table: mainTable, at: o.at, field: o.path}
	from, to := o.network("ip-from"), o.network("ip-to")
	family := o.oneOf("family", "", "ipv4", "ipv6")
	for _, p := range []netip.Prefix{from, to} {
		switch {
		case !p.IsValid():
		case family != "" && p.Addr().Is4() != (family == "ipv4"):
			o.r.report(o.at, o.path, "%s is of another family than %s", p, cmp.Or(family, "the other address"))
		case p.Addr().Is4():
			family = "ipv4"
		default:
			family = "ipv6"
		}
	}
	rl.four = family != "ipv6"
	// nmstate writes -1 for a priority that is left to it, and 0 for the main table.
	if rl.priority = o.number("priority", -1, largest32); rl.priority != nil && *rl.priority < 0 {
		rl.priority = nil
	}
	if table := o.number("route-table", 0, largest32); table != nil && *table > 0 {
		rl.table = *table
	}
	rl.input = o.text("iif")
	if !from.IsValid() && !to.IsValid() {
		from = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if !rl.four {
			from = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
	}
	rl.add(from.IsValid(), "from %s", from)
	rl.add(to.IsValid(), "to %s", to)
	switch mark, mask := o.bits("fwmark"), o.bits("fwmask"); {
	case mark == nil:
	case mask == nil:
		rl.add(true, "fwmark 0x%x", *mark)
	default:
		rl.add(true, "fwmark 0x%x/0x%x", *mark, *mask)
	}
	rl.add(rl.input.text != "", "iif %s", rl.input.text)
	action := o.oneOf("action", "", "blackhole", "unreachable", "prohibit")
	rl.add(action != "", "type %s", action)
	if length := o.number("suppress-prefix-length", 0, 128); length != nil {
		rl.add(true, "suppress_prefixlength %d", *length)
	}
	rl.add(action == "", "table %d", rl.table)
	o.end()
	return rl, !gone
}

// add adds words where they are to be said.
func (rl *rule) add(said bool, format string, args ...any) {
	if said {
		rl.words = append(rl.words, fmt.Sprintf(format, args...))
	}
}

// bits is a number that may be written in hexadecimal, nil where there is none.
func (o *object) bits(key string) *uint64 {
	w := o.text(key)
	if w.text == "" {
		return nil
	}
	value, err := strconv.ParseUint(w.text, 0, 32)
	if err != nil {
		o.r.report(w.at, o.field(key), "%q is not a number of 32 bits", w.text)
		return nil
	}
	return &value
}

// network is an address with a prefix length, or one alone; invalid where there is
// none.
func (o *object) network(key string) netip.Prefix {
	w := o.text(key)
	if w.text == "" {
		return netip.Prefix{}
	}
	if ip, err := netip.ParseAddr(w.text); err == nil {
		return netip.PrefixFrom(ip, ip.BitLen())
	}
	prefix, err := netip.ParsePrefix(w.text)
	if err != nil {
		o.r.report(w.at, o.field(key), "%q is not an address with a prefix length", w.text)
	}
	return prefix.Masked()
}

func (rl *rule) text() string {
	return fmt.Sprintf("priority %d %s", *rl.priority, strings.Join(rl.words, " "))
}

// ruleInterface is the interface whose profile brings a rule: one with a route in its
// table, else the first that has addresses of its family. It is nil where none has.
func (s *State) ruleInterface(rl *rule) *iface {
	var first *iface
	for _, i := range s.interfaces {
		f := &i.ip6
		if rl.four {
			f = &i.ip4
		}
		if i.state != up || !f.enabled {
			continue
		}
		for _, rt := range s.routes {
			if rt.out.text == i.name && rt.table != nil && *rt.table == rl.table && rt.destination.Addr().Is4() == rl.four {
				return i
			}
		}
		if first == nil {
			first = i
		}
	}
	return first
}
