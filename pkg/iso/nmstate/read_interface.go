package nmstate

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// maxDeviceName is how long the kernel lets a name be: IFNAMSIZ without the zero.
const maxDeviceName = 15

func (o *object) iface() *iface {
	o.need("name")
	name := o.text("name")
	i := &iface{name: name.text, at: o.at, field: o.path}
	if i.state = o.oneOf("state", up, down, absent, ignore); i.state == ignore {
		i.kind = ethernet // the kind is not known, and nothing more is read of it
		clear(o.left)
		o.r.ignore(o.at, o.path, "%s is not configured, because of state: ignore", name.text)
		return i
	}
	o.open = true
	i.kind = kind(o.oneMade("type", string(ethernet), string(bondKind), string(vlanKind), string(linuxBridge), string(dummyKind),
		string(vrfKind), string(vxlanKind), string(ovsBridgeKind), string(ovsInterfaceKind), string(macVLANKind), string(macVTAPKind),
		string(vethKind), string(loopback)))
	if i.kind == loopback {
		o.skipReadOnly("mac-address", "mtu", "accept-all-mac-addresses")
	}
	if i.state == down && i.kind != ethernet {
		i.state = absent // a device that does not exist needs nothing to keep it down
	}
	o.checkName(name, i.kind)
	i.profile = o.profileName()
	i.byMAC = o.oneMade("identifier", "name", "mac-address") == "mac-address"
	i.mac = o.mac("mac-address")
	if i.byMAC && i.kind != ethernet {
		o.r.report(i.at, o.field("identifier"), "only a physical interface is found by its MAC address, not a %s", i.kind)
	} else if i.byMAC && i.mac.text == "" {
		o.r.report(i.at, o.field("mac-address"), "is missing, but identifier uses it to find the interface")
	}
	i.ethernet.number("mtu", o.number("mtu", 68, 65535))
	i.description = o.text("description").text
	i.ethernet.bit("accept-all-mac-addresses", o.flag("accept-all-mac-addresses"))
	if wait, ok := o.left["wait-ip"]; ok {
		i.waitAt = wait.Value.At
	}
	i.wait = o.oneOf("wait-ip", "", "any", "ipv4", "ipv6", "ipv4+ipv6")
	i.controller = o.text("controller")
	i.copyMAC = o.text("copy-mac-from")
	lldp := o.object("lldp")
	i.lldp = lldp.flag("enabled")
	lldp.skipReadOnly("neighbors")
	i.ip4, i.ip6 = o.object("ipv4").family(true), o.object("ipv6").family(false)
	i.ethtool = o.object("ethtool").ethtool()
	o.details(i)
	o.skipReadOnly("permanent-mac-address", "min-mtu", "max-mtu", "driver", "pci-address")
	o.ignoreEmpty("ovs-db", "mptcp")
	if i.kind == loopback {
		i.state = ignore
		own := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("::1/128")}
		if slices.ContainsFunc(slices.Concat(i.ip4.addresses, i.ip6.addresses), func(a address) bool { return !slices.Contains(own, a.Prefix) }) {
			o.r.limit(o.at, o.path, "%s has additional addresses, but no profile is made for a loopback interface; give them to an "+
				"interface of type dummy", i.name)
		}
		o.r.ignore(o.at, o.path, "every machine already has the loopback interface %s", i.name)
	}
	return i
}

// details reads what only one type has.
func (o *object) details(i *iface) {
	section := func(key string, needed ...string) *object {
		part := o.object(key)
		if i.state != absent { // what is to go needs no settings
			part.need(needed...)
		}
		return part
	}
	switch i.kind {
	case ethernet:
		wired := o.object("ethernet")
		i.sriov = wired.object("sr-iov").virtualFunctions()
		wired.link(&i.ethernet)
		i.dot1x = o.object("802.1x").dot1x()
	case bondKind:
		o.object("link-aggregation").bond(i)
	case vlanKind:
		section("vlan", "id", "base-iface").vlan(i)
	case linuxBridge:
		o.object("bridge").bridge(i)
	case vrfKind:
		vrf := section("vrf", "route-table-id")
		i.own.number("table", vrf.number("route-table-id", 1, largest32))
		i.ports = vrf.ports("port")
	case vxlanKind:
		section("vxlan", "id").vxlan(i)
	case macVLANKind, macVTAPKind:
		section(string(i.kind), "base-iface", "mode").macVLAN(i)
	case vethKind:
		i.own.add("peer", section("veth", "peer").text("peer").text)
	case ovsBridgeKind:
		o.object("bridge").ovsBridge(i)
	case ovsInterfaceKind:
		patch := o.object("patch")
		i.peer = patch.text("peer").text
		i.own = settings{{"type", "internal"}}
		if i.peer != "" {
			i.own = settings{{"type", "patch"}}
		}
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

func (o *object) profileName() string {
	w := o.text("profile-name")
	if strings.ContainsRune(w.text, '/') {
		o.r.report(w.at, o.field("profile-name"), "%q has a slash in it", w.text)
	}
	return w.text
}

func (o *object) link(list *settings) {
	negotiate, speed, duplex := o.flag("auto-negotiation"), o.number("speed", 1, largest32), o.oneOf("duplex", "", "full", "half")
	if (speed == nil) != (duplex == "") {
		o.r.report(o.at, o.path, "speed and duplex belong together")
	}
	if negotiate != nil && !*negotiate && speed == nil {
		o.r.report(o.at, o.path, "without auto-negotiation, speed and duplex are required")
	}
	list.flag("auto-negotiate", negotiate)
	list.number("speed", speed) // Mb/s
	list.add("duplex", duplex)
}

// The bits of NetworkManager's vlan.flags.
const (
	vlanReorder = 1
	vlanGVRP    = 2
	vlanLoose   = 4
	vlanMVRP    = 8
)

func (o *object) vlan(i *iface) {
	flags := int64(vlanReorder)
	switch o.oneOf("registration-protocol", "none", "gvrp", "mvrp") {
	case "gvrp":
		flags |= vlanGVRP
	case "mvrp":
		flags |= vlanMVRP
	}
	if reorder := o.flag("reorder-headers"); reorder != nil && !*reorder {
		flags &^= vlanReorder
	}
	if isTrue(o.flag("loose-binding")) {
		flags |= vlanLoose
	}
	i.base = o.text("base-iface")
	i.own.number("flags", &flags)
	i.own.number("id", o.number("id", 0, 4094))
	i.own.add("parent", i.base.text)
	if protocol := o.oneOf("protocol", "", "802.1q", "802.1ad"); protocol == "802.1ad" {
		i.own.add("protocol", protocol)
	}
}

// vxlan reads a network in UDP. One without a base is found by its addresses.
func (o *object) vxlan(i *iface) {
	i.own.number("id", o.number("id", 0, 1<<24-1))
	for _, key := range []string{"local", "remote"} {
		if ip, _, ok := o.ip(key); ok {
			i.own.add(key, ip.String())
		}
	}
	i.own.number("destination-port", o.number("destination-port", 1, 65535))
	i.own.flag("learning", o.flag("learning"))
	i.base = o.text("base-iface")
	i.own.add("parent", i.base.text)
}

// macVLAN reads an interface that shares the cable of another, with its own MAC address.
func (o *object) macVLAN(i *iface) {
	modes := []string{"vepa", "bridge", "private", "passthru", "source"}
	i.base = o.text("base-iface")
	i.own.add("parent", i.base.text)
	mode := o.oneOf("mode", modes...)
	i.own.add("mode", strconv.Itoa(slices.Index(modes, mode)+1)) // as the kernel numbers them
	key := "promiscuous"
	if _, old := o.left["accept-all-mac"]; old {
		key = "accept-all-mac"
	}
	at := o.at
	if e, there := o.left[key]; there {
		at = e.Value.At
	}
	promiscuous := o.flag(key)
	if promiscuous != nil && !*promiscuous && mode != "passthru" {
		o.r.report(at, o.field(key), "cannot be switched off in mode %s, only in passthru", mode)
	}
	i.own.flag("promiscuous", promiscuous)
	if i.kind == macVTAPKind {
		i.own.add("tap", "true")
	}
}

// bridge reads the settings of a Linux bridge. Times are in seconds.
func (o *object) bridge(i *iface) {
	options := o.object("options")
	stp := options.object("stp")
	i.own.flag("stp", stp.flag("enabled"))
	i.own.number("forward-delay", stp.number("forward-delay", 2, 30))
	i.own.number("hello-time", stp.number("hello-time", 1, 10))
	i.own.number("max-age", stp.number("max-age", 6, 40))
	i.own.number("priority", stp.number("priority", 0, 65535))
	i.own.number("ageing-time", options.number("mac-ageing-time", 0, 1000000))
	i.own.number("group-forward-mask", options.number("group-forward-mask", 0, 65535))
	i.own.flag("multicast-snooping", options.flag("multicast-snooping"))
	options.skipReadOnly("gc-timer", "hello-timer", "group-addr")
	for _, entry := range o.objects("port") {
		p := entry.port()
		p.settings.flag("hairpin-mode", entry.flag("stp-hairpin-mode"))
		p.settings.number("path-cost", entry.number("stp-path-cost", 1, 65535))
		p.settings.number("priority", entry.number("stp-priority", 0, 63))
		entry.ignoreEmpty("vlan")
		entry.hints = map[string]string{"vlan": "bridges do not filter VLANs here; make a VLAN interface a port"}
		if p.text != "" {
			i.ports = append(i.ports, p)
		}
	}
}

func (o *object) ports(key string) []port {
	var list []port
	for _, w := range o.texts(key) {
		list = append(list, port{word: w, field: o.field(key)})
	}
	return list
}

// portKey is the key of the ports of a bond, which nmstate once called slaves.
func (o *object) portKey() string {
	if _, old := o.left["slaves"]; old {
		return "slaves"
	}
	return "port"
}

func (o *object) port() port {
	o.need("name")
	return port{word: o.text("name"), field: o.path}
}

const largest32 = 1<<32 - 1

func (o *object) ethtool() settings {
	var list settings
	pause := o.object("pause")
	// Where both ends agree on pauses, no direction is set for itself.
	negotiate := pause.flag("autoneg")
	rx, tx := pause.flag("rx"), pause.flag("tx")
	list.flag("pause-autoneg", negotiate)
	if !isTrue(negotiate) {
		list.flag("pause-rx", rx)
		list.flag("pause-tx", tx)
	}
	feature := o.object("feature")
	for _, key := range feature.order {
		if name := cmp.Or(tables().FeatureNames[key], key); slices.Contains(tables().Features, name) {
			list.flag("feature-"+name, feature.flag(key))
		}
	}
	coalesce := o.object("coalesce")
	for _, key := range []string{"adaptive-rx", "adaptive-tx"} {
		list.bit("coalesce-"+key, coalesce.flag(key))
	}
	for _, key := range tables().CoalesceNumbers {
		list.number("coalesce-"+key, coalesce.number(key, 0, largest32))
	}
	ring := o.object("ring")
	ring.skipReadOnly("rx-max", "rx-jumbo-max", "rx-mini-max", "tx-max")
	for _, key := range []string{"rx", "rx-jumbo", "rx-mini", "tx"} {
		list.number("ring-"+key, ring.number(key, 0, largest32))
	}
	return list
}

// dot1x reads how a machine is let into the network (IEEE 802.1X). Certificates and
// keys are files that the live system has.
func (o *object) dot1x() settings {
	if o.order == nil {
		return nil
	}
	o.need("eap-methods")
	var methods []string
	for _, w := range o.texts("eap-methods") {
		if !slices.Contains([]string{"leap", "md5", "tls", "peap", "ttls", "pwd", "fast"}, w.text) {
			o.r.report(w.at, o.field("eap-methods"), "%q is not a method of authentication", w.text)
		}
		methods = append(methods, w.text)
	}
	var list settings
	list.list("eap", methods)
	for _, key := range []string{"identity", "anonymous-identity", "phase2-auth", "password"} {
		list.add(key, o.text(key).text)
	}
	for _, key := range []string{"ca-cert", "client-cert", "private-key"} {
		list.add(key, o.certificate(key))
	}
	list.add("private-key-password", o.text("private-key-password").text)
	return list
}

// certificate is a file on the machine, by its path.
func (o *object) certificate(key string) string {
	w := o.text(key)
	if w.text != "" && !strings.HasPrefix(w.text, "/") && !strings.HasPrefix(w.text, "pkcs11:") {
		o.r.report(w.at, o.field(key), "%q is not the path of a file on the machine, which starts with a slash", w.text)
	}
	return w.text
}

// virtualFunctions reads what a card is divided into (SR-IOV).
func (o *object) virtualFunctions() settings {
	var list settings
	list.bit("autoprobe-drivers", o.flag("drivers-autoprobe"))
	total := o.number("total-vfs", 0, 65535)
	list.number("total-vfs", total)
	seen := map[int64]bool{}
	for _, entry := range o.objects("vfs") {
		entry.need("id")
		id := entry.number("id", 0, 65535)
		text := entry.virtualFunction()
		switch {
		case id == nil:
		case seen[*id]:
			o.r.report(entry.at, entry.field("id"), "%d appears here a second time", *id)
		case total == nil || *id >= *total:
			o.r.report(entry.at, entry.field("id"), "%d is not below total-vfs", *id)
		default:
			seen[*id] = true
			list = append(list, setting{"vf." + strconv.FormatInt(*id, 10), text})
		}
	}
	return list
}

// virtualFunction is one of them as NetworkManager writes it: attributes by name.
func (o *object) virtualFunction() string {
	var list settings
	list.add("mac", strings.ToUpper(o.mac("mac-address").text))
	list.number("max-tx-rate", o.number("max-tx-rate", 0, largest32))
	list.number("min-tx-rate", o.number("min-tx-rate", 0, largest32))
	list.flag("spoof-check", o.flag("spoof-check"))
	list.flag("trust", o.flag("trust"))
	quality, protocol := o.number("qos", 0, 7), o.oneOf("vlan-proto", "802.1q", "802.1ad")
	if vlan := o.number("vlan-id", 0, 4095); vlan != nil && *vlan > 0 {
		text := strconv.FormatInt(*vlan, 10)
		if quality != nil && *quality > 0 || protocol == "802.1ad" {
			text += "." + strconv.FormatInt(orZero(quality), 10)
		}
		if protocol == "802.1ad" {
			text += ".ad"
		}
		list.add("vlans", text)
	}
	o.skipReadOnly("iface-name")
	var words []string
	for _, s := range list {
		words = append(words, s.key+"="+s.value)
	}
	return strings.Join(words, " ")
}

func orZero(value *int64) int64 {
	if value == nil {
		return 0
	}
	return *value
}
