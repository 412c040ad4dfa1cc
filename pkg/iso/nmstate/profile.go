package nmstate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/oaictl/oaictl/internal/yamltree"
)

// profile is a keyfile that was read: what nm-settings-keyfile(5) calls a
// connection profile.
type profile struct {
	name   string // of the file
	groups map[string]map[string]word
	lines  map[string]yamltree.Place // where the groups start
}

// maxKeyfile is how large a profile may be; certificates fit in.
const maxKeyfile = 1 << 20 // bytes

// readProfile reads groups of keys as GLib's key files have them.
func readProfile(r *reader, data []byte) *profile {
	p := &profile{name: r.name, groups: map[string]map[string]word{}, lines: map[string]yamltree.Place{}}
	switch {
	case len(data) > maxKeyfile:
		r.report(yamltree.Place{}, "", "is larger than 1 MiB")
		return p
	case !utf8.Valid(data) || slices.Contains(data, 0):
		r.report(yamltree.Place{}, "", "is not text in UTF-8")
		return p
	}
	var group map[string]word
	title := ""
	n := 0
	for line := range strings.SplitSeq(string(data), "\n") {
		n++
		line = strings.TrimSuffix(line, "\r")
		text := strings.TrimSpace(line)
		at := yamltree.Place{Line: n, Column: 1 + len(line) - len(strings.TrimLeft(line, " \t"))}
		switch {
		case text == "" || text[0] == '#':
		case text[0] == '[':
			title, group = p.addGroup(r, at, text)
		case group == nil:
			r.report(at, "", "stands before the first group, such as [connection]")
			return p
		default:
			r.key(group, title, at, text)
		}
	}
	return p
}

func (p *profile) addGroup(r *reader, at yamltree.Place, text string) (string, map[string]word) {
	title, closed := strings.CutSuffix(text[1:], "]")
	if !closed || title == "" || strings.ContainsAny(title, "[]") {
		r.report(at, "", "is not the title of a group, such as [connection]")
	}
	title = groupName(title)
	if p.groups[title] == nil {
		p.groups[title], p.lines[title] = map[string]word{}, at
	}
	return title, p.groups[title]
}

// groupName is the short of a title's two names.
func groupName(title string) string {
	switch title {
	case "802-3-ethernet":
		return "ethernet"
	case "802-11-wireless":
		return "wifi"
	}
	return title
}

// key adds a key. Values are never part of a message: they may be secrets.
func (r *reader) key(group map[string]word, title string, at yamltree.Place, text string) {
	key, value, found := strings.Cut(text, "=")
	key = strings.TrimSpace(key)
	switch _, again := group[key]; {
	case !found:
		r.report(at, title, "a line is neither a group nor a key with a value")
	case key == "":
		r.report(at, title, "a value has no key")
	case again:
		r.report(at, title+"."+key, "stands here a second time")
	default:
		group[key] = word{strings.TrimSpace(value), at}
	}
}

func (p *profile) get(group, key string) word {
	w, ok := p.groups[group][key]
	if !ok {
		return word{at: p.lines[group]}
	}
	return w
}

// first is the first of several keys of a group that is there: NetworkManager
// renamed some.
func (p *profile) first(group string, keys ...string) word {
	for _, key := range keys {
		if w := p.get(group, key); w.text != "" {
			return w
		}
	}
	return word{at: p.lines[group]}
}

// profileAddress is an address of a profile, with the gateway that may stand
// behind it.
type profileAddress struct {
	prefix  netip.Prefix
	gateway netip.Addr
	word
	key string
}

// addresses are those of a family: address, address1, address2 and so on, with
// the gateway of the family at the first.
func (p *profile) addresses(r *reader, group string) []profileAddress {
	var list []profileAddress
	keys := make([]string, 0, len(p.groups[group]))
	for key := range p.groups[group] {
		number, isAddress := strings.CutPrefix(key, "address")
		if isAddress && strings.Trim(number, "0123456789") == "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		w := p.get(group, key)
		a, err := parseProfileAddress(w.text, group == "ipv4")
		if err != nil {
			r.report(w.at, group+"."+key, "%v", err)
			continue
		}
		a.word, a.key = w, group+"."+key
		list = append(list, a)
	}
	if w := p.get(group, "gateway"); w.text != "" && len(list) > 0 {
		gateway, err := netip.ParseAddr(w.text)
		if err != nil {
			r.report(w.at, group+".gateway", "is not an IP address")
		}
		list[0].gateway = gateway
	}
	return list
}

func parseProfileAddress(text string, four bool) (profileAddress, error) {
	var a profileAddress
	address, gateway, _ := strings.Cut(text, ",")
	address = strings.TrimSpace(address)
	prefix, err := netip.ParsePrefix(address)
	if err != nil {
		ip, err := netip.ParseAddr(address)
		if err != nil {
			return a, fmt.Errorf("%q is not an address with a prefix length", address)
		}
		prefix = netip.PrefixFrom(ip, ip.BitLen())
	}
	if prefix.Addr().Is4() != four {
		return a, fmt.Errorf("%s is of the other family", prefix)
	}
	a.prefix = prefix
	if gateway = strings.TrimSpace(gateway); gateway != "" {
		if a.gateway, err = netip.ParseAddr(gateway); err != nil {
			return a, fmt.Errorf("%q is not the address of a gateway", gateway)
		}
	}
	return a, nil
}

// profileTypes are the values of connection.type (nm-settings(5)).
var profileTypes = []string{
	"ethernet", "802-3-ethernet", "bond", "bridge", "vlan", "dummy", "infiniband", "ip-tunnel", "loopback", "macsec", "macvlan",
	"ovs-bridge", "ovs-interface", "ovs-port", "team", "tun", "veth", "vpn", "vrf", "vxlan", "wireguard", "wifi", "802-11-wireless", "hsr",
	"gsm", "cdma", "bluetooth", "adsl", "pppoe", "wpan", "6lowpan", "generic", "ipvlan", "wimax", "olpc-mesh", "802-11-olpc-mesh", "wifi-p2p",
}

// profileMethods are the values of method, IPv4 and IPv6 together.
var profileMethods = []string{"auto", "dhcp", "manual", "disabled", "link-local", "shared", "ignore"}

// CheckKeyfile judges a connection profile that is passed through as it is: its
// name, whether it can be read, its type, its UUID, and its addresses. The error
// is Problems; values are repeated only where they cannot be secrets.
func CheckKeyfile(name string, data []byte) error {
	r := &reader{name: name}
	switch {
	case strings.ContainsAny(name, "/\\\x00\n") || strings.HasPrefix(name, "."):
		r.report(yamltree.Place{}, "", "a keyfile's name is that of a file without a folder, and starts with no dot")
	case !strings.HasSuffix(name, keyfileSuffix):
		r.report(yamltree.Place{}, "", "NetworkManager reads only files that end in %s", keyfileSuffix)
	}
	p := readProfile(r, data)
	if len(r.problems) == 0 {
		r.checkProfile(p)
	}
	return r.problems.err()
}

func (r *reader) checkProfile(p *profile) {
	if p.groups["connection"] == nil {
		r.report(yamltree.Place{Line: 1, Column: 1}, "", "has no group [connection]")
		return
	}
	if w := p.get("connection", "type"); w.text == "" {
		r.report(w.at, "connection.type", "is missing")
	} else if !slices.Contains(profileTypes, w.text) {
		r.report(w.at, "connection.type", "%q is not a type of NetworkManager", w.text)
	}
	if w := p.get("connection", "uuid"); w.text != "" && !isUUID(w.text) {
		r.report(w.at, "connection.uuid", "%q is not a UUID", w.text)
	}
	if w := p.get("connection", "interface-name"); len(w.text) > maxDeviceName {
		r.report(w.at, "connection.interface-name", "%q is longer than %d characters", w.text, maxDeviceName)
	}
	if w := p.get("ethernet", "mac-address"); w.text != "" && !isMAC(w.text) {
		r.report(w.at, "ethernet.mac-address", "%q is not a MAC address", w.text)
	}
	if p.get("connection", "type").text == "vlan" && p.get("vlan", "id").text == "" {
		r.report(p.get("vlan", "id").at, "vlan.id", "is missing")
	}
	r.checkProfileFamily(p, "ipv4")
	r.checkProfileFamily(p, "ipv6")
}

func (r *reader) checkProfileFamily(p *profile, group string) {
	method := p.get(group, "method")
	if method.text != "" && !slices.Contains(profileMethods, method.text) {
		r.report(method.at, group+".method", "%q is not a method of NetworkManager", method.text)
	}
	addresses := p.addresses(r, group)
	if method.text == "manual" && len(addresses) == 0 && p.get(group, "addresses").text == "" {
		r.report(method.at, group+".method", "is manual, but there is no address")
	}
	for _, a := range addresses {
		within := func(other profileAddress) bool { return other.prefix.Masked().Contains(a.gateway) }
		if a.gateway.IsValid() && !a.gateway.IsUnspecified() && !a.gateway.IsLinkLocalUnicast() && method.text == "manual" && !slices.ContainsFunc(addresses, within) {
			r.report(a.at, a.key, "the gateway %s is outside every subnet of this profile", a.gateway)
		}
	}
}

// isUUID says whether a text is a UUID as it is usually written.
func isUUID(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }
