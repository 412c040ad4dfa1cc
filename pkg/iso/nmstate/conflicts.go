package nmstate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

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
// be made, ports and bases that are missing. Everything else is told by Parse and
// CheckKeyfile. Every error names its machines. Link-local addresses may be on
// any number of machines.
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

// report adds what was not said yet: an address that is given for an interface
// stands in its profile, too.
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

// label is what the profile is for, in a user's words.
func (p *profile) label() string {
	return cmp.Or(p.first("connection", "id", "interface-name").text, p.name)
}

// references looks for what profiles refer to: controllers and bases by their
// UUIDs or device names. A device name alone may be that of a physical
// interface, so that only a missing controller counts then.
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
