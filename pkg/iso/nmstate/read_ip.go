package nmstate

import (
	"cmp"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
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
		// Clients without an identity of their own are told apart by their MAC address.
		client := o.text("dhcp-client-id").text
		lease.add("dhcp-client-id", cmp.Or(map[string]string{"ll": "mac", "iaid+duid": "duid"}[client], client, "mac"))
	} else {
		f.autoconf = isTrue(o.flag("autoconf"))
		lease = append(lease, settings{{"dhcp-duid", cmp.Or(o.duid(), "ll")}, {"dhcp-iaid", "mac"}, {"ra-timeout", forever}}...)
		f.settings.add("addr-gen-mode", o.oneOf("addr-gen-mode", "eui64", "stable-privacy")) // nmstate's default follows the MAC address
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
		o.r.report(o.at, o.path, "is not enabled, but says how to get addresses; take out one of both")
	case f.autoconf && !f.dhcp:
		// NetworkManager has no such method: with method=auto the router's word
		// decides whether DHCPv6 is used, too.
		o.r.report(o.at, o.field("autoconf"), "cannot be had without dhcp: NetworkManager uses DHCPv6 if the router says so; write dhcp: true")
	}
	o.flag("allow-extra-address") // is about checking afterwards, and changes nothing
	o.end()
	return f
}

// automatic reads what a lease asks for and what is taken from it besides addresses. It
// says whether DNS servers are.
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
	o.shown("valid-life-time", "preferred-life-time")
	o.hints = map[string]string{"mptcp-flags": "multipath TCP is not set up"}
	o.end()
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
