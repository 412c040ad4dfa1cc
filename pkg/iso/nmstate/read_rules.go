package nmstate

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// rule says which table routes are taken from.
type rule struct {
	four     bool
	priority *int64
	from, to netip.Prefix // invalid: any
	table    int64
	input    word   // interface that the packet came in by
	mark     string // what packets carry
	rest     string
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
	rl.from, rl.to = o.network("ip-from"), o.network("ip-to")
	family := o.oneOf("family", "", "ipv4", "ipv6")
	for _, p := range []netip.Prefix{rl.from, rl.to} {
		switch {
		case !p.IsValid():
		case family != "" && p.Addr().Is4() != (family == "ipv4"):
			o.r.report(o.at, o.path, "%s is of another family than %s", p, orElse(family, "the other address"))
		case p.Addr().Is4():
			family = "ipv4"
		default:
			family = "ipv6"
		}
	}
	rl.four = family != "ipv6"
	// nmstate writes -1 for a priority that is left to it, and 0 for the main table.
	if rl.priority = o.number("priority", -1, 1<<32-1); rl.priority != nil && *rl.priority < 0 {
		rl.priority = nil
	}
	if table := o.number("route-table", 0, largest32); table != nil && *table > 0 {
		rl.table = *table
	}
	rl.input = o.text("iif")
	rl.mark, rl.rest = o.mark(), o.ruleRest()
	o.end()
	return rl, !gone
}

// mark is what packets carry that a rule is for, in the words of ip-rule(8).
func (o *object) mark() string {
	mark, mask := o.bits("fwmark"), o.bits("fwmask")
	switch {
	case mark == nil:
		return ""
	case mask == nil:
		return fmt.Sprintf("fwmark 0x%x", *mark)
	}
	return fmt.Sprintf("fwmark 0x%x/0x%x", *mark, *mask)
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

// ruleRest is what a rule says beside addresses and table, in the words of ip-rule(8).
func (o *object) ruleRest() string {
	var words []string
	if action := o.oneOf("action", "", "blackhole", "unreachable", "prohibit"); action != "" {
		words = append(words, "type "+action)
	}
	if length := o.number("suppress-prefix-length", 0, 128); length != nil {
		words = append(words, fmt.Sprintf("suppress_prefixlength %d", *length))
	}
	return strings.Join(words, " ")
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

// text is a rule as NetworkManager reads it.
func (rl *rule) text() string {
	words := []string{fmt.Sprintf("priority %d", *rl.priority)}
	from := rl.from
	if !from.IsValid() && !rl.to.IsValid() {
		from = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if !rl.four {
			from = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
	}
	if from.IsValid() {
		words = append(words, "from "+from.String())
	}
	if rl.to.IsValid() {
		words = append(words, "to "+rl.to.String())
	}
	if rl.mark != "" {
		words = append(words, rl.mark)
	}
	if rl.input.text != "" {
		words = append(words, "iif "+rl.input.text)
	}
	if rl.rest != "" {
		words = append(words, rl.rest)
	}
	if !strings.Contains(rl.rest, "type ") {
		words = append(words, fmt.Sprintf("table %d", rl.table))
	}
	return strings.Join(words, " ")
}

// carrier is the interface whose profile brings a rule: one with a route in its
// table, else the first that has addresses of its family. It is nil where none has.
func (s *State) carrier(rl *rule) *iface {
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
