package values

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// IsNoProxy says whether text names what is reached without a proxy.
func IsNoProxy(text string) bool {
	if text == "*" || IsDomain(strings.TrimPrefix(strings.ToLower(text), ".")) {
		return true
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		return true
	}
	_, err := netip.ParseAddr(text)
	return err == nil
}

// URL checks an address without repeating it: it may hold a password.
func (k *Checker) URL(field, text string, schemes ...string) {
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Host == "" || parsed.Hostname() == "":
		k.Report(field, "is not a URL", fmt.Sprintf("write it as %s://HOST:PORT", schemes[0]))
	case !slices.Contains(schemes, parsed.Scheme):
		k.Report(field, fmt.Sprintf("the scheme %q cannot be used here", parsed.Scheme), "use "+strings.Join(schemes, " or "))
	}
}

// MaxNetworks is how many the service takes of a kind.
const MaxNetworks = 64

// NamedNetwork is a network, and the field that it stands in.
type NamedNetwork struct {
	Prefix netip.Prefix
	Field  string
	Kind   string
}

// Prefixes reads a list of CIDRs. Those that are not right are reported and
// left out.
func (k *Checker) Prefixes(field, kind string, texts []string) []NamedNetwork {
	var list []NamedNetwork
	if len(texts) > MaxNetworks {
		k.Report(field, fmt.Sprintf("there are %d networks", len(texts)), fmt.Sprintf("use at most %d", MaxNetworks))
		return nil
	}
	for i, text := range texts {
		at := fmt.Sprintf("%s[%d]", field, i)
		if prefix, ok := k.Prefix(at, text); ok {
			list = append(list, NamedNetwork{prefix, at, kind})
		}
	}
	return list
}

// Prefix reads a CIDR, which is reported where it is not right.
func (k *Checker) Prefix(field, text string) (netip.Prefix, bool) {
	if k.IsFailed(field) {
		return netip.Prefix{}, false
	}
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		k.Report(field, fmt.Sprintf("%q is not a network", text), "write it as CIDR, such as 192.168.10.0/24")
	case prefix.Addr().Is4In6():
		k.Report(field, fmt.Sprintf("%q is an IPv4 address written as IPv6", text), "")
	case prefix.Bits() == 0:
		k.Report(field, fmt.Sprintf("%q is every address there is", text), "")
	case prefix.Masked() != prefix:
		k.Report(field, fmt.Sprintf("%q is an address in a network, not the network", text), fmt.Sprintf("write %q", prefix.Masked()))
	default:
		return prefix, true
	}
	return netip.Prefix{}, false
}

// IsDual says whether there are networks of both families.
func IsDual(list []NamedNetwork) bool {
	four, six := false, false
	for _, network := range list {
		four = four || network.Prefix.Addr().Is4()
		six = six || network.Prefix.Addr().Is6()
	}
	return four && six
}

// OptionalAddress is Address for a text that may be empty.
func (k *Checker) OptionalAddress(field, text string) (netip.Addr, bool) {
	if text == "" {
		return netip.Addr{}, false
	}
	return k.Address(field, text)
}

// Address reads the address of a machine, which is reported where it is not right.
func (k *Checker) Address(field, text string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		remedy := ""
		if prefix, err := netip.ParsePrefix(text); err == nil {
			remedy = fmt.Sprintf("write %q, without the prefix length", prefix.Addr())
		}
		k.Report(field, fmt.Sprintf("%q is not an IP address", text), remedy)
	case ip.Is4In6() || ip.IsUnspecified() || ip.IsLoopback() || ip.IsMulticast():
		k.Report(field, fmt.Sprintf("%q cannot be used here", text), "write the address of a machine")
	default:
		return ip.WithZone(""), true
	}
	return netip.Addr{}, false
}

// Addresses checks a list of them.
func (k *Checker) Addresses(field string, texts []string) {
	for i, text := range texts {
		k.Address(fmt.Sprintf("%s[%d]", field, i), text)
	}
}

// Domains checks a list of DNS domains.
func (k *Checker) Domains(field string, texts []string) {
	for i, text := range texts {
		if !IsDomain(text) {
			k.Report(fmt.Sprintf("%s[%d]", field, i), fmt.Sprintf("%q is not a DNS domain", text), LowerRemedy(text, IsDomain))
		}
	}
}

// TimeServers checks a list of addresses and DNS names.
func (k *Checker) TimeServers(field string, texts []string) {
	for i, text := range texts {
		if _, err := netip.ParseAddr(text); err != nil && !IsDomain(strings.ToLower(text)) {
			k.Report(fmt.Sprintf("%s[%d]", field, i), fmt.Sprintf("%q is neither an address nor a DNS name", text), "")
		}
	}
}

// Inside says whether one of the networks has an address.
func Inside(ip netip.Addr, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(ip) })
}

// IsEdge says whether ip is a network's own or its broadcast address. IPv6 has
// no broadcast, and a network of one or two addresses has no edges (RFC 3021).
func IsEdge(ip netip.Addr, network netip.Prefix) bool {
	if network.Addr().BitLen()-network.Bits() < 2 {
		return false
	}
	if ip == network.Masked().Addr() {
		return true
	}
	return ip.Is4() && !network.Contains(ip.Next())
}

// SameAddress says whether text is that address.
func SameAddress(text string, ip netip.Addr) bool {
	other, err := netip.ParseAddr(text)
	return err == nil && other == ip
}

// Joined is networks as a message names them.
func Joined(networks []netip.Prefix) string {
	texts := make([]string, len(networks))
	for i, network := range networks {
		texts[i] = network.String()
	}
	return strings.Join(texts, " or ")
}
