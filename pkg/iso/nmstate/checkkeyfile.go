package nmstate

import (
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/yamltree"
)

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
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range text {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", c) {
			return false
		}
	}
	return true
}
