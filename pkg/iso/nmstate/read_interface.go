package nmstate

import (
	"strings"
)

// maxDeviceName is how long the kernel lets a name be: IFNAMSIZ without the zero.
const maxDeviceName = 15

// iface reads one entry of interfaces.
func (o *object) iface() *iface {
	o.need("name")
	name := o.text("name")
	i := &iface{name: name.text, at: o.at, field: o.path}
	if i.state = o.oneOf("state", up, down, absent, ignore); i.state == ignore {
		i.kind = ethernet // whatever it is: nothing more is read of it
		o.r.ignore(o.at, o.path, "%s is left alone, as state: ignore says", name.text)
		return i
	}
	i.kind = kind(o.oneOf("type", string(ethernet), string(bondKind), string(vlanKind), string(linuxBridge), string(dummyKind), string(vrfKind), string(vxlanKind), string(ovsSwitch), string(ovsDevice), string(loopback)))
	if i.state == down && i.kind != ethernet {
		i.state = absent // a device that nothing makes needs nothing to keep it down
	}
	o.checkName(name, i.kind)
	i.profile = o.profileName()
	i.byMAC = o.oneOf("identifier", "name", "mac-address") == "mac-address"
	i.mac = o.mac("mac-address")
	if i.byMAC && i.kind != ethernet {
		o.r.report(i.at, o.field("identifier"), "only a physical interface is found by its MAC address, not a %s", i.kind)
	} else if i.byMAC && i.mac.text == "" {
		o.r.report(i.at, o.field("mac-address"), "is missing, and identifier says that it tells which interface this is")
	}
	i.mtu = o.number("mtu", 68, 65535)
	i.description = o.text("description").text
	i.promiscuous = o.flag("accept-all-mac-addresses")
	if wait, ok := o.left["wait-ip"]; ok {
		i.waitAt = wait.Value.At
	}
	i.wait = o.oneOf("wait-ip", "", "any", "ipv4", "ipv6", "ipv4+ipv6")
	i.controller = o.text("controller")
	i.copyMAC = o.text("copy-mac-from")
	lldp := o.object("lldp")
	i.lldp = lldp.flag("enabled")
	lldp.shown("neighbors")
	lldp.end()
	i.ip4, i.ip6 = o.object("ipv4").family(true), o.object("ipv6").family(false)
	i.ethtool = o.object("ethtool").ethtool()
	o.details(i)
	o.shown("permanent-mac-address", "min-mtu", "max-mtu", "driver", "pci-address")
	o.ignoreEmpty("ovs-db", "mptcp")
	o.end()
	if i.kind == loopback {
		i.state = ignore
		if !i.onlyItself() {
			o.r.report(o.at, o.path, "%s has addresses that no machine has by itself, and no profile is made of a loopback interface; give them to an interface of type dummy", i.name)
		}
		o.r.ignore(o.at, o.path, "every machine has its loopback interface %s by itself", i.name)
	}
	return i
}

// details reads what only one type has.
func (o *object) details(i *iface) {
	switch i.kind {
	case ethernet:
		wired := o.object("ethernet")
		i.sriov = wired.object("sr-iov").virtualFunctions()
		i.link = wired.link()
		i.dot1x = o.object("802.1x").dot1x()
	case bondKind:
		i.bond = o.object("link-aggregation").bond()
	case vlanKind:
		i.vlan = o.object("vlan").vlan(i.state)
	case linuxBridge:
		i.bridge = o.object("bridge").bridge()
	case vrfKind:
		i.vrf = o.object("vrf").vrf(i.state)
	case vxlanKind:
		i.vxlan = o.object("vxlan").vxlan(i.state)
	case ovsSwitch:
		i.ovs = o.object("bridge").ovsBridge()
	case ovsDevice:
		patch := o.object("patch")
		i.peer = patch.text("peer").text
		patch.end()
	}
}

// checkName holds names to what can become one: of a file, and for a virtual
// interface of a device.
func (o *object) checkName(name word, kind kind) {
	switch {
	case name.text == "":
	case strings.ContainsAny(name.text, "/ \\%;") || strings.HasPrefix(name.text, "."):
		o.r.report(name.at, o.field("name"), "%q cannot be the name of an interface", name.text)
	case len(name.text) > 64 || kind != ethernet && len(name.text) > maxDeviceName:
		o.r.report(name.at, o.field("name"), "%q is too long: a device has at most %d characters", name.text, maxDeviceName)
	}
}

// profileName is the name of the profile, which is shown and nothing else.
func (o *object) profileName() string {
	w := o.text("profile-name")
	if strings.ContainsRune(w.text, '/') {
		o.r.report(w.at, o.field("profile-name"), "%q has a slash in it", w.text)
	}
	return w.text
}

func (o *object) link() link {
	l := link{negotiate: o.flag("auto-negotiation"), speed: o.number("speed", 1, 1<<32-1), duplex: o.oneOf("duplex", "", "full", "half")}
	if (l.speed == nil) != (l.duplex == "") {
		o.r.report(o.at, o.path, "speed and duplex belong together")
	}
	if l.negotiate != nil && !*l.negotiate && l.speed == nil {
		o.r.report(o.at, o.path, "without auto-negotiation speed and duplex have to be there")
	}
	o.end()
	return l
}

// The bits of NetworkManager's vlan.flags.
const (
	vlanReorder = 1
	vlanGVRP    = 2
	vlanLoose   = 4
	vlanMVRP    = 8
)

// vlan reads the settings of a VLAN. Only one that is there needs them.
func (o *object) vlan(state string) *vlan {
	if state != absent {
		o.need("id", "base-iface")
	}
	v := &vlan{base: o.text("base-iface"), protocol: o.oneOf("protocol", "", "802.1q", "802.1ad"), flags: vlanReorder}
	if id := o.number("id", 0, 4094); id != nil {
		v.id = *id
	}
	switch o.oneOf("registration-protocol", "none", "gvrp", "mvrp") {
	case "gvrp":
		v.flags |= vlanGVRP
	case "mvrp":
		v.flags |= vlanMVRP
	}
	if reorder := o.flag("reorder-headers"); reorder != nil && !*reorder {
		v.flags &^= vlanReorder
	}
	if loose := o.flag("loose-binding"); loose != nil && *loose {
		v.flags |= vlanLoose
	}
	o.end()
	return v
}
