package nmstate

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
)

// family reads ipv4 or ipv6. A family that is not there is off; one that says
// how it gets addresses is on unless it says otherwise.
func (o *object) family(four bool) family {
	f := family{at: o.at, field: o.path}
	enabled := o.flag("enabled")
	f.dhcp = isTrue(o.flag("dhcp"))
	for _, a := range o.objects("address") {
		if prefix, ok := a.address(four); ok {
			f.addresses = append(f.addresses, address{prefix, a.at, a.path})
		}
	}
	lease := settings{{"dhcp-timeout", forever}}
	if four {
		// Clients without an identity of their own are distinguished by their MAC address.
		client := o.text("dhcp-client-id").text
		lease.add("dhcp-client-id", cmp.Or(map[string]string{"ll": "mac", "iaid+duid": "duid"}[client], client, "mac"))
	} else {
		f.autoconf = isTrue(o.flag("autoconf"))
		lease = append(lease, settings{{"dhcp-duid", cmp.Or(o.duid(), "ll")}, {"dhcp-iaid", "mac"}, {"ra-timeout", forever}}...)
		f.settings.add("addr-gen-mode", o.oneMade("addr-gen-mode", "eui64", "stable-privacy")) // nmstate's default follows the MAC address
		f.settings.add("token", o.token())
	}
	f.autoDNS = o.automatic(&lease)
	if f.dhcp || f.autoconf {
		f.settings = append(lease, f.settings...)
	}
	asked := f.dhcp || f.autoconf || len(f.addresses) > 0
	// IPv4 that is on but gets no address is no different from off; IPv6 has its
	// link-local address.
	f.enabled = isTrue(enabled) && (asked || !four) || enabled == nil && asked
	switch {
	case enabled != nil && !*enabled && asked:
		o.r.limit(o.at, o.path, "is not enabled, but has address settings; remove one of the two")
	case f.autoconf && !f.dhcp:
		// NetworkManager has no such method: with method=auto the router's word
		// decides whether DHCPv6 is used, too.
		o.r.report(o.at, o.field("autoconf"), "is not possible without dhcp: NetworkManager uses DHCPv6 if the router requests "+
			"it; write dhcp: true")
	}
	o.flag("allow-extra-address") // is about checking afterwards, and changes nothing
	return f
}

// automatic reads what a lease asks for and what is taken from it besides addresses. It returns whether DNS servers
// are.
func (o *object) automatic(lease *settings) (dns bool) {
	hostname := o.text("dhcp-custom-hostname")
	if strings.Trim(strings.ToLower(hostname.text), "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
		o.r.report(hostname.at, o.field("dhcp-custom-hostname"), "%q is not a host name", hostname.text)
	}
	lease.add("dhcp-hostname", hostname.text)
	refuses := func(key, name, value string) bool {
		taken := o.flag(key)
		refused := taken != nil && !*taken
		if refused {
			lease.add(name, value)
		}
		return refused
	}
	refuses("dhcp-send-hostname", "dhcp-send-hostname", "false")
	dns = !refuses("auto-dns", "ignore-auto-dns", "true")
	refuses("auto-routes", "ignore-auto-routes", "true")
	refuses("auto-gateway", "never-default", "true")
	lease.number("route-table", o.number("auto-route-table-id", 0, largest32))
	lease.number("route-metric", o.number("auto-route-metric", 0, largest32))
	return dns
}

func (o *object) address(four bool) (netip.Prefix, bool) {
	o.need("ip", "prefix-length")
	ip, at, ok := o.ip("ip")
	bits := int64(128)
	if four {
		bits = 32
	}
	length := o.number("prefix-length", 0, bits)
	switch {
	case ok && ip.Is4() != four:
		o.r.report(at, o.field("ip"), "%s is of the other family", ip)
		ok = false
	case ok && (ip.Zone() != "" || ip.IsUnspecified() || ip.IsMulticast() || ip.Is4In6()):
		o.r.report(at, o.field("ip"), "%s cannot be the address of an interface", ip)
		ok = false
	}
	o.skipReadOnly("valid-life-time", "preferred-life-time")
	o.hints = map[string]string{"mptcp-flags": "multipath TCP is not supported"}
	if !ok || length == nil {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(ip, int(*length)), true
}

// duid is how a client of DHCPv6 makes its name, or the name in hexadecimal.
func (o *object) duid() string {
	w := o.text("dhcp-duid")
	made := slices.Contains([]string{"", "ll", "llt", "uuid"}, w.text)
	if _, err := hex.DecodeString(strings.ReplaceAll(w.text, ":", "")); err != nil && !made {
		o.r.report(w.at, o.field("dhcp-duid"), "%q is neither ll, llt, uuid nor bytes in hexadecimal", w.text)
	}
	return w.text
}

// token is the interface's half of an autoconfigured address, such as ::5.
func (o *object) token() string {
	w := o.text("token")
	if w.text == "" {
		return ""
	}
	ip, err := netip.ParseAddr(w.text)
	if err != nil || !ip.Is6() || !strings.HasPrefix(w.text, "::") {
		o.r.report(w.at, o.field("token"), "%q is not the lower half of an IPv6 address, such as ::5", w.text)
	}
	return w.text
}

func isTrue(flag *bool) bool {
	return flag != nil && *flag
}

type rule struct {
	four     bool
	priority *int64
	table    int64
	input    word     // interface that the packet came in by
	words    []string // all but the priority, as ip-rule(8) has them
	at       yamltree.Position
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
