package nmstate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// sections writes a keyfile: groups of keys, an empty line between them.
type sections struct {
	text strings.Builder
}

// group writes a group, none where there are no settings. Values are escaped as
// GLib's key files want it: control characters do not get past the reader.
func (s *sections) group(name string, list settings) {
	if len(list) > 0 {
		s.evenEmpty(name, list)
	}
}

func (s *sections) evenEmpty(name string, list settings) {
	if s.text.Len() > 0 {
		s.text.WriteByte('\n')
	}
	fmt.Fprintf(&s.text, "[%s]\n", name)
	for _, setting := range list {
		value := strings.ReplaceAll(setting.value, `\`, `\\`)
		if strings.HasPrefix(value, " ") {
			value = `\s` + value[1:]
		}
		fmt.Fprintf(&s.text, "%s=%s\n", setting.key, value)
	}
}

func (k kind) nmType() string {
	if k == linuxBridge {
		return "bridge"
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
	return []byte(s.text.String())
}

// ownAddresses says whether a port has addresses all the same: one of a routing table,
// and one that Open vSwitch gives the machine.
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
	if i.kind != ethernet {
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
