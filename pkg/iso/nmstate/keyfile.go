package nmstate

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
)

// Keyfile is a connection profile of NetworkManager (nm-settings-keyfile(5)). NetworkManager reads it only if it is
// readable by root alone: it has to be written with mode 0600.
type Keyfile struct {
	// Name of the file, ending in .nmconnection.
	Name string
	// Content of the file.
	Content []byte
}

// Keyfiles makes the profiles of a machine, in the order of their names and the
// same every time. macs gives the permanent MAC address of each physical
// interface by its name in the document; the document's own mac-address serves
// where there is none. The error is Problems: interfaces without an address,
// or with one that contradicts the document.
func (s *State) Keyfiles(macs map[string]string) ([]Keyfile, error) {
	w := newWriter(s)
	w.addOVSPorts()
	w.resolve(macs)
	if err := w.r.problems.err(); err != nil {
		return nil, err
	}
	var files []Keyfile
	for _, i := range w.interfaces {
		if !i.gone() {
			files = append(files, Keyfile{Name: i.profileFile() + keyfileSuffix, Content: w.profile(i)})
		}
	}
	slices.SortFunc(files, func(a, b Keyfile) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// keyfileSuffix is the only one that NetworkManager reads.
const keyfileSuffix = ".nmconnection"

// profileFile is the name of an interface's profile. Those of Open vSwitch may have
// the names of others.
func (i *iface) profileFile() string {
	return i.name + map[kind]string{ovsBridgeKind: "-br", ovsPortKind: "-port"}[i.kind]
}

type writer struct {
	state      *State
	r          *reader
	interfaces []*iface
	macs       map[string]string     // permanent addresses of the physical interfaces by name
	ids        map[*iface]string     // UUIDs of the profiles
	ports      map[string]membership // of ports, by name
}

type membership struct {
	controller *iface
	settings   settings
}

// Physical are the physical interfaces that the document speaks of, also those that are
// only named as ports or as what a VLAN stands on, with the MAC addresses that it has for
// them, "" where it has none.
func (s *State) Physical() map[string]string {
	macs := map[string]string{}
	for _, i := range newWriter(s).interfaces {
		if i.kind == ethernet && !i.gone() {
			macs[i.name] = i.mac.text
		}
	}
	return macs
}

// newWriter adds the physical interfaces that are named only by interfaces on top of them, and records which interface
// is a port of which.
func newWriter(s *State) *writer {
	w := &writer{
		state: s, r: &reader{name: s.name}, interfaces: slices.Clone(s.interfaces),
		macs: map[string]string{}, ids: map[*iface]string{}, ports: map[string]membership{},
	}
	for _, i := range s.interfaces {
		if i.gone() {
			continue
		}
		for _, p := range i.ports {
			w.ports[p.text] = membership{i, p.settings}
			w.imply(p.word, p.field)
		}
		if i.base.text != "" {
			w.imply(i.base, i.baseField())
		}
	}
	return w
}

// addOVSPorts adds the ports of switches of Open vSwitch, which stand between the switch
// and its interfaces.
func (w *writer) addOVSPorts() {
	for _, i := range w.state.interfaces {
		if i.kind != ovsBridgeKind || i.gone() {
			continue
		}
		var last *iface
		for _, p := range i.ports {
			if last == nil || last.ovsPort != p.ovs {
				last = &iface{name: p.ovs.name, at: p.at, field: p.field, kind: ovsPortKind, state: up, ovsPort: p.ovs, own: p.ovs.settings,
					controller: word{text: i.name}}
				w.interfaces = append(w.interfaces, last)
			}
			w.ports[p.text] = membership{last, p.settings}
		}
	}
}

func (w *writer) memberOf(i *iface) (membership, bool) {
	switch i.kind {
	case ovsBridgeKind:
		return membership{}, false
	case ovsPortKind:
		return membership{controller: w.state.controllerNamed(i.controller.text)}, true
	}
	m, isPort := w.ports[i.name]
	return m, isPort
}

func (w *writer) id(name string) string {
	for _, i := range w.interfaces {
		if i.name == name && i.kind.device() {
			return w.ids[i]
		}
	}
	return ""
}

func (w *writer) imply(name word, field string) {
	known := func(i *iface) bool { return i.name == name.text && i.kind.device() }
	if !slices.ContainsFunc(w.interfaces, known) {
		w.interfaces = append(w.interfaces, &iface{name: name.text, at: name.at, field: field, kind: ethernet, state: up})
	}
}

// kernelName matches names that systemd gives to physical interfaces by their place in the machine, which
// are the same whenever it boots; the service takes them without a MAC address, too.
var kernelName = regexp.MustCompile(`^en[PsvxXbucaipod]`)

// resolve finds the MAC address of every physical interface, and gives every profile its UUID. Interfaces that the
// kernel names need no address if another one has one, which identifies the machine.
func (w *writer) resolve(macs map[string]string) {
	given := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(macs)) {
		mac, ok := canonicalMAC(macs[name])
		if !ok {
			w.r.report(yamltree.Position{}, "", "%q is not a valid MAC address of %s", macs[name], name)
			continue
		}
		given[name] = mac
	}
	tied := len(given) > 0 || slices.ContainsFunc(w.interfaces, func(i *iface) bool { return i.kind == ethernet && i.mac.text != "" })
	owner := map[string]string{}
	for _, i := range w.interfaces {
		if i.kind != ethernet || i.gone() {
			continue
		}
		mac := given[i.name]
		switch {
		case mac == "":
			mac = i.mac.text
		case i.byMAC && i.mac.text != mac:
			w.r.report(i.mac.at, i.field+".mac-address", "is %s, but the machine's %s has %s", i.mac.text, i.name, mac)
		}
		switch first, again := owner[mac]; {
		case mac == "" && tied && kernelName.MatchString(i.name):
			w.macs[i.name] = ""
			continue // the machine calls it so, too
		case mac == "" && w.state.find(i.name) == nil:
			w.r.report(i.at, i.field, "%s is not an interface of this document, and no MAC address is known for it", i.name)
		case mac == "":
			w.r.report(i.at, i.field, "no MAC address is known for %s: give one, or write identifier: mac-address and mac-address", i.name)
		case again:
			w.r.report(i.at, i.field, "%s has the MAC address of %s", i.name, first)
		}
		owner[mac], w.macs[i.name] = i.name, mac
	}
	namespace := uuid.MustParse("5f0e1176-7c4b-4d1c-9e63-2ad08b3594e7") // any fixed one serves
	machine := strings.Join(slices.Sorted(maps.Values(w.macs)), " ")
	for _, i := range w.interfaces {
		of := machine
		if i.kind == ethernet {
			of = w.macs[i.name]
		}
		w.ids[i] = uuid.NewSHA1(namespace, []byte(string(i.kind)+" "+i.name+" "+of)).String()
	}
}

// sections is a keyfile: groups of keys, an empty line between them.
type sections struct{ strings.Builder }

// group writes a group, none where there are no settings.
func (s *sections) group(name string, list settings) {
	if len(list) > 0 {
		s.evenEmpty(name, list)
	}
}

// evenEmpty writes a group, with values escaped as GLib's key files want it: control
// characters do not get past the reader.
func (s *sections) evenEmpty(name string, list settings) {
	if s.Len() > 0 {
		s.WriteByte('\n')
	}
	fmt.Fprintf(s, "[%s]\n", name)
	for _, setting := range list {
		value := strings.ReplaceAll(setting.value, `\`, `\\`)
		if strings.HasPrefix(value, " ") {
			value = `\s` + value[1:]
		}
		fmt.Fprintf(s, "%s=%s\n", setting.key, value)
	}
}

func (k kind) nmType() string {
	switch k {
	case linuxBridge:
		return "bridge"
	case macVLANKind, macVTAPKind:
		return "macvlan"
	}
	return string(k)
}

func (w *writer) profile(i *iface) []byte {
	s := &sections{}
	member, isPort := w.memberOf(i)
	s.group("connection", w.connection(i, member.controller))
	s.group("ethernet", w.ethernetSettings(i))
	ownFirst := slices.Contains([]kind{bondKind, linuxBridge, vlanKind}, i.kind)
	if ownFirst {
		w.own(s, i)
	}
	s.group("802-1x", i.dot1x)
	s.group("sriov", i.sriov)
	s.group("ethtool", i.ethtool)
	if !ownFirst {
		w.own(s, i)
	}
	if i.description != "" {
		s.group("user", settings{{"nmstate.interface.description", i.description}}) // where nmstate keeps it
	}
	if isPort && (member.controller.kind == bondKind || member.controller.kind == linuxBridge) {
		s.group(member.controller.kind.nmType()+"-port", member.settings)
	}
	if !isPort || i.ownAddresses(member.controller) {
		s.group("ipv4", w.family(i, &i.ip4))
		s.group("ipv6", w.family(i, &i.ip6))
	}
	return []byte(s.String())
}

// ownAddresses reports whether a port has addresses all the same: one of a routing table, and one that Open vSwitch
// gives the machine.
func (i *iface) ownAddresses(controller *iface) bool {
	return controller.kind == vrfKind || i.kind == ovsInterfaceKind && i.peer == ""
}

// own writes what only the interface's kind has. What it stands on is known by its UUID.
func (w *writer) own(s *sections, i *iface) {
	list := slices.Clone(i.own)
	for n := range list {
		if list[n].key == "parent" {
			list[n].value = w.id(list[n].value)
		}
	}
	if slices.Contains([]kind{dummyKind, ovsBridgeKind, ovsPortKind}, i.kind) {
		s.evenEmpty(i.kind.nmType(), list)
	} else {
		s.group(i.kind.nmType(), list)
	}
	if i.peer != "" {
		s.group("ovs-patch", settings{{"peer", i.peer}})
	}
}

func (w *writer) connection(i *iface, controller *iface) settings {
	list := settings{{"id", cmp.Or(i.profile, i.profileFile())}, {"uuid", w.ids[i]}, {"type", i.kind.nmType()}}
	if i.kind != ethernet || w.macs[i.name] == "" {
		list.add("interface-name", i.name)
	}
	if i.state == down {
		list.add("autoconnect", "false")
	}
	if len(i.ports) > 0 || i.kind == ovsPortKind {
		// Ports come up with their controller; NetworkManager of all releases
		// knows this and the next two by their old names.
		list.add("autoconnect-slaves", "1")
	}
	if controller != nil {
		list.add("master", w.ids[controller])
		list.add("slave-type", controller.kind.nmType())
	}
	list.bit("lldp", i.lldp)
	return list
}

// ethernetSettings are what Ethernet has in common with all that is built on it.
func (w *writer) ethernetSettings(i *iface) settings {
	if !i.kind.device() {
		return nil
	}
	var list settings
	permanent, desired := w.macs[i.name], i.mac.text
	list.add("mac-address", strings.ToUpper(permanent))
	if i.copyMAC.text != "" {
		desired = w.macs[i.copyMAC.text]
	}
	if desired != permanent {
		list.add("cloned-mac-address", strings.ToUpper(desired))
	}
	return append(list, i.ethernet...)
}
