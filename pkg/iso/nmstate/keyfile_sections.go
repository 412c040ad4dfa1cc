package nmstate

import (
	"fmt"
	"strconv"
	"strings"
)

// sections writes a keyfile: groups of keys, an empty line between them.
type sections struct {
	text strings.Builder
}

func (s *sections) group(name string) {
	if s.text.Len() > 0 {
		s.text.WriteByte('\n')
	}
	fmt.Fprintf(&s.text, "[%s]\n", name)
}

// set writes a key, escaped as GLib's key files want it: control characters do
// not get past the reader.
func (s *sections) set(key, value string) {
	value = strings.ReplaceAll(value, `\`, `\\`)
	if strings.HasPrefix(value, " ") {
		value = `\s` + value[1:]
	}
	fmt.Fprintf(&s.text, "%s=%s\n", key, value)
}

func (s *sections) setNumber(key string, value *int64) {
	if value != nil {
		s.set(key, strconv.FormatInt(*value, 10))
	}
}

func (s *sections) setFlag(key string, value *bool) {
	if value != nil {
		s.set(key, strconv.FormatBool(*value))
	}
}

func (s *sections) setList(key string, values []string) {
	if len(values) > 0 {
		s.set(key, strings.Join(values, ";")+";")
	}
}

// settings writes a group of them, none where there are none.
func (s *sections) settings(group string, settings []setting) {
	if len(settings) == 0 {
		return
	}
	s.group(group)
	for _, setting := range settings {
		s.set(setting.key, setting.value)
	}
}

// nmType is the type of a profile as NetworkManager calls it.
func (k kind) nmType() string {
	if k == linuxBridge {
		return "bridge"
	}
	return string(k)
}

// profile is the keyfile of one interface.
func (w *writer) profile(i *iface) []byte {
	s := &sections{}
	member, isPort := w.memberOf(i)
	w.connection(s, i, member.controller)
	w.wired(s, i)
	switch {
	case i.bond != nil:
		s.group("bond")
		s.set("mode", i.bond.mode)
		for _, option := range i.bond.options {
			s.set(option.key, option.value)
		}
	case i.bridge != nil:
		s.settings("bridge", i.bridge.settings)
	case i.vlan != nil:
		w.vlan(s, i.vlan)
	}
	s.settings("802-1x", i.dot1x)
	s.settings("sriov", i.sriov)
	s.settings("ethtool", i.ethtool)
	w.virtual(s, i)
	if i.description != "" {
		s.group("user")
		s.set("nmstate.interface.description", i.description) // where nmstate keeps it
	}
	if isPort {
		portSections(s, member)
	}
	if !isPort || i.ownAddresses(member.controller) {
		w.families(s, i)
	}
	return []byte(s.text.String())
}

// ownAddresses says whether a port has addresses all the same: one of a routing table,
// and one that Open vSwitch gives the machine.
func (i *iface) ownAddresses(controller *iface) bool {
	return controller.vrf != nil || i.kind == ovsDevice && i.peer == ""
}

// virtual writes what only one kind of virtual interface has.
func (w *writer) virtual(s *sections, i *iface) {
	switch {
	case i.kind == dummyKind:
		s.group("dummy")
	case i.vrf != nil:
		s.settings("vrf", []setting{{"table", strconv.FormatInt(i.vrf.table, 10)}})
	case i.vxlan != nil:
		s.settings("vxlan", i.vxlan.settings)
		if i.vxlan.base.text != "" {
			s.set("parent", w.id(i.vxlan.base.text))
		}
	case i.ovs != nil:
		s.group("ovs-bridge")
		for _, setting := range i.ovs.settings {
			s.set(setting.key, setting.value)
		}
	case i.plug != nil:
		s.group("ovs-port")
		for _, setting := range i.plug.settings {
			s.set(setting.key, setting.value)
		}
	case i.peer != "":
		s.settings("ovs-interface", []setting{{"type", "patch"}})
		s.settings("ovs-patch", []setting{{"peer", i.peer}})
	case i.kind == ovsDevice:
		s.settings("ovs-interface", []setting{{"type", "internal"}})
	}
}

func (w *writer) connection(s *sections, i *iface, controller *iface) {
	s.group("connection")
	id := i.profile
	if id == "" {
		id = i.profileFile()
	}
	s.set("id", id)
	s.set("uuid", w.ids[i])
	s.set("type", i.kind.nmType())
	if i.kind != ethernet {
		s.set("interface-name", i.name)
	}
	if i.state == down {
		s.set("autoconnect", "false")
	}
	if len(i.ports()) > 0 || i.kind == ovsPlug {
		// Ports come up with their controller; NetworkManager of all releases
		// knows this and the next two by their old names.
		s.set("autoconnect-slaves", "1")
	}
	if controller != nil {
		s.set("master", w.ids[controller])
		s.set("slave-type", controller.kind.nmType())
	}
	if i.lldp != nil {
		lldp := "0"
		if *i.lldp {
			lldp = "1"
		}
		s.set("lldp", lldp)
	}
}

// wired writes what Ethernet has in common with all that is built on it.
func (w *writer) wired(s *sections, i *iface) {
	if !i.kind.device() {
		return
	}
	inner := &sections{}
	permanent := w.macs[i.name]
	if permanent != "" {
		inner.set("mac-address", strings.ToUpper(permanent))
	}
	desired := i.mac.text
	if i.copyMAC.text != "" {
		desired = w.macs[i.copyMAC.text]
	}
	if desired != "" && desired != permanent {
		inner.set("cloned-mac-address", strings.ToUpper(desired))
	}
	inner.setNumber("mtu", i.mtu)
	if i.promiscuous != nil {
		on := "0"
		if *i.promiscuous {
			on = "1"
		}
		inner.set("accept-all-mac-addresses", on)
	}
	inner.setFlag("auto-negotiate", i.link.negotiate)
	inner.setNumber("speed", i.link.speed)
	if i.link.duplex != "" {
		inner.set("duplex", i.link.duplex)
	}
	if inner.text.Len() > 0 {
		s.group("ethernet")
		s.text.WriteString(inner.text.String())
	}
}

func (w *writer) vlan(s *sections, v *vlan) {
	s.group("vlan")
	s.set("flags", strconv.FormatInt(v.flags, 10))
	s.set("id", strconv.FormatInt(v.id, 10))
	s.set("parent", w.id(v.base.text))
	if v.protocol == "802.1ad" {
		s.set("protocol", v.protocol)
	}
}

// portSections writes what a controller says about its port.
func portSections(s *sections, m membership) {
	inner := &sections{}
	group := "bond-port"
	switch {
	case m.controller.bond == nil && m.controller.bridge == nil:
		return
	case m.controller.bridge != nil:
		group = "bridge-port"
		inner.setFlag("hairpin-mode", m.settings.hairpin)
		inner.setNumber("path-cost", m.settings.pathCost)
		inner.setNumber("priority", m.settings.bridgePriority)
	default:
		inner.setNumber("prio", m.settings.priority)
		inner.setNumber("queue-id", m.settings.queue)
	}
	if inner.text.Len() > 0 {
		s.group(group)
		s.text.WriteString(inner.text.String())
	}
}
