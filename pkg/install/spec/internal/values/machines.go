package values

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Controller is a system of a BMC, however its address is written.
type Controller struct {
	Endpoint string // scheme, host and port
	System   string // its id, "" for the only one
}

// ControllerOf reads a BMC's address, HTTPS unless it says otherwise, and the system
// named beside it. What is no address is compared as it is.
func ControllerOf(address, system string) Controller {
	kind, rest, found := strings.Cut(address, "://")
	if !found {
		kind, rest = "https", address
	}
	scheme, port := "https", "443"
	if kind = strings.ToLower(kind); kind == "http" || strings.HasSuffix(kind, "+http") {
		scheme, port = "http", "80"
	}
	if ip, err := netip.ParseAddr(rest); err == nil && ip.Is6() {
		rest = "[" + rest + "]"
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil || u.Hostname() == "" {
		return Controller{strings.ToLower(address), system}
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	c := Controller{Endpoint: scheme + "://" + net.JoinHostPort(host, cmp.Or(u.Port(), port)), System: system}
	if _, id, found := strings.Cut(u.Path, "/Systems/"); found && c.System == "" {
		c.System = id
	}
	c.System = path.Base("/" + strings.Trim(c.System, "/"))
	if c.System == "/" {
		c.System = ""
	}
	return c
}

// FencingAddress is the address of a machine's BMC as an installed cluster reads it to power the machine
// off: redfish+https://HOST:PORT/redfish/v1/Systems/ID. It takes "redfish" and "https" in the scheme, or
// "redfish" in the path, and speaks HTTPS alone; what it would take already stays as it is. wrong is what
// keeps the address from being written so.
func FencingAddress(address, system string) (url, wrong string) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		scheme, rest = "https", address
	}
	scheme = strings.ToLower(scheme)
	authority, path, _ := strings.Cut(rest, "/")
	if ip, err := netip.ParseAddr(authority); err == nil && ip.Is6() {
		authority = "[" + authority + "]"
	}
	path, named := systemPath("/"+path, system)
	switch {
	case scheme == "http" || strings.HasSuffix(scheme, "+http"):
		return address, "is an address without TLS, but a cluster only uses HTTPS to power off its nodes"
	case !named:
		return address, "does not contain the system of the BMC, which a cluster needs to power off its nodes"
	case found && system == "" && strings.Contains(scheme, "https") && strings.Contains(address, "redfish"):
		return address, ""
	}
	return "redfish+https://" + authority + path, ""
}

// systemPath is the path of a system in Redfish, out of that of an address and the system named beside it.
func systemPath(path, system string) (of string, named bool) {
	const systems = "/Systems/"
	base, id, found := strings.Cut(path, systems)
	if !found {
		base = "/redfish/v1"
	}
	if strings.HasPrefix(system, "/") {
		base, system, _ = strings.Cut(system, systems)
	}
	if id = cmp.Or(system, id); strings.Trim(id, "/") == "" {
		return path, false
	}
	return base + systems + id, true
}

// MAC checks a MAC address, if there is one.
func (k *Checker) MAC(field, text string) {
	isMAC := func(text string) bool {
		_, ok := ParseMAC(text)
		return ok
	}
	k.Valid(field, text, isMAC, "%q is not a MAC address", `write it as "52:54:00:12:34:56"`)
}

// BMCAddress checks the address of a BMC.
func (k *Checker) BMCAddress(field, text string) {
	if !IsBMC(text) {
		k.Report(field, "is not the address of a BMC", "write an IP address, a host name, or a URL such as "+
			"https://10.0.0.1/redfish/v1/Systems/1")
		return
	}
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		if strings.Contains(strings.SplitN(rest, "/", 2)[0], "@") {
			k.Report(field, "contains a user or a password", "write them as credentials")
		}
		if !strings.HasSuffix(scheme, "http") && !strings.HasSuffix(scheme, "https") &&
			!slices.Contains([]string{"redfish", "redfish-virtualmedia", "idrac-virtualmedia", "ilo5-virtualmedia", "ilo4-virtualmedia"}, scheme) {
			k.Report(field, fmt.Sprintf("the scheme %q is not supported by oaictl",
				scheme), "use Redfish: https://ADDRESS/redfish/v1/Systems/ID")
		}
	}
}

// installerFlags are coreos-installer's that the service passes on: which take a value.
var installerFlags = map[string]bool{
	"--append-karg": true, "--delete-karg": true, "-n": false, "--copy-network": false, "--network-dir": true,
	"--save-partlabel": true, "--save-partindex": true, "--image-url": true, "--image-file": true,
}

// installerValue is a value of such a flag, as the service takes it.
var installerValue = regexp.MustCompile(`^[A-Za-z0-9@!#$%*()_+\-=//.,";':{}\[\]<]+$`)

// InstallerArgs checks arguments for coreos-installer.
func (k *Checker) InstallerArgs(list string, args []string) {
	for j := 0; j < len(args); j++ {
		field := fmt.Sprintf("%s[%d]", list, j)
		flag, _, hasValue := strings.Cut(args[j], "=")
		takesValue, known := installerFlags[flag]
		switch {
		case !known:
			k.Report(field, fmt.Sprintf("the service does not accept the flag %q", flag),
				"it accepts --append-karg, --delete-karg, -n, --copy-network, --network-dir, --save-partlabel, --save-partindex, --image-url and "+
					"--image-file")
		case hasValue && !takesValue:
			k.Report(field, fmt.Sprintf("the flag %s has no value", flag), "")
		case takesValue && !hasValue && (j+1 == len(args) || strings.HasPrefix(args[j+1], "-")):
			k.Report(field, fmt.Sprintf("the flag %s needs a value", flag), "write the value as the next entry of the list")
		case hasValue:
			k.Report(field, fmt.Sprintf("the value of %s is in the same entry, which the service does not accept", flag),
				"write the value as the next entry of the list")
		case takesValue:
			j++
			k.ReportIf(!installerValue.MatchString(args[j]), fmt.Sprintf("%s[%d]", list, j),
				fmt.Sprintf("%q has a character that the service does not accept", args[j]), `use letters, digits and @!#$%*()_+-=/.,";':{}[]<`)
		}
	}
}

// InterfaceName is what the kernel takes (IFNAMSIZ leaves 15 characters).
var InterfaceName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}$`)

// InterfaceName checks the name of a network interface.
func (k *Checker) InterfaceName(field, name string) {
	k.Valid(field, name, InterfaceName.MatchString, "%q cannot be the name of an interface",
		"use at most 15 letters, digits, dots, dashes and underscores")
}

// IsBMC reports whether text is, or has, the address or name of a host.
func IsBMC(text string) bool { return isAddressOrName(BMCHost(text)) }

// BMCHost is the host part of a BMC's address, in any of its forms.
func BMCHost(address string) string {
	if strings.Contains(address, "://") {
		if parsed, err := url.Parse(address); err == nil {
			return parsed.Hostname()
		}
		return ""
	}
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// CanonicalMAC is a MAC address in lower case with colons, or the text if it is none.
func CanonicalMAC(text string) string {
	if mac, ok := ParseMAC(text); ok {
		return mac
	}
	return text
}

// ParseMAC reads a MAC address of 48 bits: the service takes no other.
func ParseMAC(text string) (string, bool) {
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != 6 {
		return "", false
	}
	return mac.String(), true
}

// IsNoProxy reports whether text names what is reached without a proxy.
func IsNoProxy(text string) bool {
	_, err := netip.ParsePrefix(text)
	return text == "*" || err == nil || isAddressOrName(text) || IsDomain(strings.ToLower(strings.TrimPrefix(text, ".")))
}

// URL checks an address, if there is one, without repeating it: it may hold a password.
func (k *Checker) URL(field, text string, schemes ...string) {
	parsed, err := url.Parse(text)
	switch {
	case text == "":
	case err != nil || parsed.Host == "" || parsed.Hostname() == "":
		k.Report(field, "is not a URL", fmt.Sprintf("write it as %s://HOST:PORT", schemes[0]))
	case !slices.Contains(schemes, parsed.Scheme):
		k.Report(field, fmt.Sprintf("the scheme %q cannot be used here", parsed.Scheme), "use "+strings.Join(schemes, " or "))
	}
}

// TooMany reports a number of networks of a kind that the service does not take.
func (k *Checker) TooMany(field string, networks int) bool {
	const most = 64
	k.ReportIf(networks > most, field, fmt.Sprintf("there are %d networks", networks), fmt.Sprintf("use at most %d", most))
	return networks > most
}

// NamedNetwork is a network, and the field that it stands in.
type NamedNetwork struct {
	Prefix netip.Prefix
	Field  string
	Kind   string
}

// Prefixes reads a list of CIDRs, without those that are not right and reported.
func (k *Checker) Prefixes(field, kind string, texts []string) []NamedNetwork {
	var list []NamedNetwork
	if k.TooMany(field, len(texts)) {
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
		k.Report(field, fmt.Sprintf("%q includes all addresses", text), "")
	case prefix.Masked() != prefix:
		k.Report(field, fmt.Sprintf("%q is an address in a network, not the address of the network", text), fmt.Sprintf("write %q",
			prefix.Masked()))
	default:
		return prefix, true
	}
	return netip.Prefix{}, false
}

// IsDual reports whether there are networks of both families.
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

func isAddressOrName(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || IsDomain(strings.ToLower(text))
}

// TimeServers checks a list of addresses and DNS names, which are of the length that the service takes.
func (k *Checker) TimeServers(field string, texts []string) {
	valid := func(text string) bool {
		ip, err := netip.ParseAddr(text)
		return err == nil && ip.Zone() == "" || IsDomain(text) && len(text) >= 2 && len(text) <= 63
	}
	k.EachValid(field, texts, valid, "%q is neither an address nor a DNS name of 2 to 63 characters in lower case", "")
}

// NoProxy checks a list of what is reached without a proxy.
func (k *Checker) NoProxy(field string, texts []string) {
	k.EachValid(field, texts, IsNoProxy, "%q is neither a host, a .domain, an address nor a network", "")
	for i, text := range texts {
		k.ReportIf(slices.Contains(texts[:i], text), fmt.Sprintf("%s[%d]", field, i), fmt.Sprintf("%s appears here twice", text), "")
	}
}

// Inside reports whether one of the networks has an address.
func Inside(ip netip.Addr, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(ip) })
}

// IsEdge reports whether ip is a network's own or broadcast address. IPv6 has no broadcast, and networks of one or two
// addresses have no edges (RFC 3021).
func IsEdge(ip netip.Addr, network netip.Prefix) bool {
	if network.Addr().BitLen()-network.Bits() < 2 {
		return false
	}
	if ip == network.Masked().Addr() {
		return true
	}
	return ip.Is4() && !network.Contains(ip.Next())
}

// SameAddress reports whether text is that address.
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
