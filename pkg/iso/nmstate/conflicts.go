package nmstate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
)

// profile is a keyfile that was read: what nm-settings-keyfile(5) calls a
// connection profile.
type profile struct {
	name   string // of the file
	groups map[string]map[string]word
	lines  map[string]yamltree.Position // where the groups start
}

// maxKeyfile is how large a profile may be; certificates fit in.
const maxKeyfile = 1 << 20 // bytes

// readProfile reads groups of keys as GLib's key files have them.
func readProfile(r *reader, data []byte) *profile {
	p := &profile{name: r.name, groups: map[string]map[string]word{}, lines: map[string]yamltree.Position{}}
	switch {
	case len(data) > maxKeyfile:
		r.report(yamltree.Position{}, "", "is larger than 1 MiB")
		return p
	case !utf8.Valid(data) || slices.Contains(data, 0):
		r.report(yamltree.Position{}, "", "is not text in UTF-8")
		return p
	}
	var group map[string]word
	title := ""
	n := 0
	for line := range strings.SplitSeq(string(data), "\n") {
		n++
		line = strings.TrimSuffix(line, "\r")
		text := strings.TrimSpace(line)
		at := yamltree.Position{Line: n, Column: 1 + len(line) - len(strings.TrimLeft(line, " \t"))}
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

func (p *profile) addGroup(r *reader, at yamltree.Position, text string) (string, map[string]word) {
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
	short := map[string]string{"802-3-ethernet": "ethernet", "802-11-wireless": "wifi"}
	return cmp.Or(short[title], title)
}

// key adds a key. Values are never part of a message: they may be secrets.
func (r *reader) key(group map[string]word, title string, at yamltree.Position, text string) {
	key, value, found := strings.Cut(text, "=")
	key = strings.TrimSpace(key)
	switch _, again := group[key]; {
	case !found:
		r.report(at, title, "a line is neither a group nor a key with a value")
	case key == "":
		r.report(at, title, "a value has no key")
	case again:
		r.report(at, title+"."+key, "appears here a second time")
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

// profileAddress is an address of a profile, with the gateway behind it, if any.
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
	for _, key := range slices.Sorted(maps.Keys(p.groups[group])) {
		number, isAddress := strings.CutPrefix(key, "address")
		if !isAddress || strings.Trim(number, "0123456789") != "" {
			continue
		}
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

// CheckKeyfile judges a connection profile that is passed through as it is: its
// name, whether it can be read, its type, its UUID, and its addresses. The error
// is Problems; values are repeated only where they cannot be secrets.
func CheckKeyfile(name string, data []byte) error {
	r := &reader{name: name}
	switch {
	case strings.ContainsAny(name, "/\\\x00\n") || strings.HasPrefix(name, "."):
		r.report(yamltree.Position{}, "", "the name of a keyfile must be a file name without a folder, and must not start with a dot")
	case !strings.HasSuffix(name, keyfileSuffix):
		r.report(yamltree.Position{}, "", "NetworkManager reads only files that end in %s", keyfileSuffix)
	}
	p := readProfile(r, data)
	if len(r.problems) == 0 {
		r.checkProfile(p)
	}
	return r.problems.err()
}

func (r *reader) checkProfile(p *profile) {
	if p.groups["connection"] == nil {
		r.report(yamltree.Position{Line: 1, Column: 1}, "", "has no group [connection]")
		return
	}
	if w := p.get("connection", "type"); w.text == "" {
		r.report(w.at, "connection.type", "is missing")
	} else if !slices.Contains(tables().ProfileTypes, w.text) {
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
	if method.text != "" && !slices.Contains(tables().ProfileMethods, method.text) {
		r.report(method.at, group+".method", "%q is not a method of NetworkManager", method.text)
	}
	addresses := p.addresses(r, group)
	if method.text == "manual" && len(addresses) == 0 && p.get(group, "addresses").text == "" {
		r.report(method.at, group+".method", "is manual, but there is no address")
	}
	for _, a := range addresses {
		within := func(other profileAddress) bool { return other.prefix.Masked().Contains(a.gateway) }
		if a.gateway.IsValid() && !a.gateway.IsUnspecified() && !a.gateway.IsLinkLocalUnicast() && method.text == "manual" &&
			!slices.ContainsFunc(addresses, within) {
			r.report(a.at, a.key, "the gateway %s is outside every subnet of this profile", a.gateway)
		}
	}
}

func isUUID(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }

// Machine is what the network of one machine is made of.
type Machine struct {
	// Name of the machine, for messages.
	Name string
	// State of the network, nil if there is none.
	State *State
	// MACs of the physical interfaces by the names that State has for them. They
	// count even without a State.
	MACs map[string]string
	// Keyfiles that are passed through as they are.
	Keyfiles []Keyfile
}

// Conflicts says what is wrong with machines side by side: an address or a MAC
// address that two of them have; and with each by itself: keyfiles that cannot
// be made, ports and bases that are missing. Link-local addresses may be on any
// number of machines.
func Conflicts(machines []Machine) []error {
	c := conflicts{addresses: map[netip.Addr]owner{}, macs: map[string]owner{}}
	for i, m := range machines {
		c.machine(i, m)
	}
	return c.found
}

type owner struct {
	machine int
	text    string // machine and interface
}

type conflicts struct {
	addresses map[netip.Addr]owner
	macs      map[string]owner
	found     []error
}

// report adds what was not said yet: an interface's address stands in its profile, too.
func (c *conflicts) report(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if !slices.ContainsFunc(c.found, func(said error) bool { return said.Error() == err.Error() }) {
		c.found = append(c.found, err)
	}
}

func (c *conflicts) machine(index int, m Machine) {
	var profiles []*profile
	for _, file := range c.files(m) {
		r := &reader{name: file.Name}
		profiles = append(profiles, readProfile(r, file.Content))
		if err := r.problems.err(); err != nil {
			c.report("%s: %w", m.Name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.MACs)) {
		if mac, ok := canonicalMAC(m.MACs[name]); ok {
			c.takeMAC(mac, owner{index, m.Name + " (" + name + ")"})
		}
	}
	for _, p := range profiles {
		who := owner{index, m.Name + " (" + p.label() + ")"}
		if mac, ok := canonicalMAC(p.get("ethernet", "mac-address").text); ok {
			c.takeMAC(mac, who)
		}
		for _, group := range []string{"ipv4", "ipv6"} {
			for _, a := range p.addresses(&reader{}, group) {
				c.takeAddress(a.prefix.Addr(), who)
			}
		}
	}
	c.references(m, profiles)
}

func (c *conflicts) files(m Machine) []Keyfile {
	var files []Keyfile
	if m.State != nil {
		made, err := m.State.Keyfiles(m.MACs)
		if err != nil {
			var problems Problems
			if !errors.As(err, &problems) {
				c.report("%s: %w", m.Name, err)
			}
			for _, problem := range problems {
				c.report("%s: %s", m.Name, problem)
			}
		}
		files = made
	}
	for _, file := range m.Keyfiles {
		if slices.ContainsFunc(files, func(f Keyfile) bool { return f.Name == file.Name }) {
			c.report("%s: there are two keyfiles of the name %s", m.Name, file.Name)
		}
		files = append(files, file)
	}
	return files
}

func (c *conflicts) takeMAC(mac string, who owner) {
	first, taken := c.macs[mac]
	switch {
	case !taken:
		c.macs[mac] = who
	case first.machine != who.machine:
		c.report("%s: the MAC address %s belongs to %s already", who.text, mac, first.text)
	}
}

func (c *conflicts) takeAddress(ip netip.Addr, who owner) {
	if ip.IsLinkLocalUnicast() || ip.IsLoopback() {
		return
	}
	if first, taken := c.addresses[ip]; taken {
		c.report("%s: the address %s belongs to %s already", who.text, ip, first.text)
		return
	}
	c.addresses[ip] = who
}

func (p *profile) label() string {
	return cmp.Or(p.first("connection", "id", "interface-name").text, p.name)
}

// references looks for the controllers and bases of profiles by UUID or device name. A
// base by its device name may be a physical interface, and may be missing.
func (c *conflicts) references(m Machine, profiles []*profile) {
	known, controllers := map[string]string{}, map[string]bool{}
	for _, p := range profiles {
		id := p.get("connection", "uuid").text
		if first, again := known[id]; again && id != "" {
			c.report("%s (%s): the UUID %s is that of %s already", m.Name, p.label(), id, first)
		}
		known[id], known[p.get("connection", "interface-name").text] = p.label(), p.label()
	}
	for _, p := range profiles {
		controller := p.first("connection", "controller", "master").text
		controllers[controller] = controller != ""
		if controller != "" && known[controller] == "" {
			c.report("%s (%s): is a port of %s, which no keyfile describes", m.Name, p.label(), controller)
		}
		if parent := p.get("vlan", "parent").text; isUUID(parent) && known[parent] == "" {
			c.report("%s (%s): the base %s of this VLAN is in no keyfile", m.Name, p.label(), parent)
		}
	}
	for _, p := range profiles {
		isBond := p.get("connection", "type").text == "bond"
		if isBond && !controllers[p.get("connection", "uuid").text] && !controllers[p.get("connection", "interface-name").text] {
			c.report("%s (%s): the bond has no ports", m.Name, p.label())
		}
	}
}
