package nmstate

// ovsBridge is a switch of Open vSwitch. Its ports are things of their own, which
// interfaces belong to.
type ovsBridge struct {
	settings []setting
	ports    []port // interfaces, each with its ovsPort
}

// ovsPort is a port of such a switch; several interfaces make it a bond.
type ovsPort struct {
	name     string
	settings []setting
}

// ovsBridge reads the settings of a switch of Open vSwitch.
func (o *object) ovsBridge() *ovsBridge {
	b := &ovsBridge{}
	o.flag("allow-extra-patch-ports") // is about what others add later
	options := o.object("options")
	options.oldSwitch("stp")
	stp := options.object("stp")
	b.on("stp-enable", stp.flag("enabled"))
	stp.end()
	b.on("rstp-enable", options.flag("rstp"))
	b.on("mcast-snooping-enable", options.flag("mcast-snooping-enable"))
	b.settings = appendText(b.settings, "fail-mode", options.oneOf("fail-mode", "", "secure", "standalone"))
	b.settings = appendText(b.settings, "datapath-type", options.oneOf("datapath", "", "system", "netdev"))
	options.end()
	for _, entry := range o.objects("port") {
		entry.ovsPort(b)
	}
	o.end()
	return b
}

// on adds what is off where nothing is said.
func (b *ovsBridge) on(key string, value *bool) {
	if isTrue(value) {
		b.settings = appendFlag(b.settings, key, value)
	}
}

// oldSwitch reads a truth value where there is a map today.
func (o *object) oldSwitch(key string) {
	if e, there := o.left[key]; there && e.Value.Scalar() {
		if value := o.flag(key); isTrue(value) {
			o.r.report(e.At, o.field(key), "is a map: write %s: {enabled: true}", key)
		}
	}
}

// ovsPort reads an entry of port: an interface, or a bond of several.
func (o *object) ovsPort(b *ovsBridge) {
	o.need("name")
	name := o.text("name")
	p := &ovsPort{name: name.text}
	vlan := o.object("vlan")
	p.settings = appendText(p.settings, "vlan-mode", vlan.oneOf("mode", "", "access", "native-tagged", "native-untagged", "trunk", "dot1q-tunnel"))
	p.settings = appendNumber(p.settings, "tag", vlan.number("tag", 0, 4095))
	vlan.hints = map[string]string{"trunk-tags": "NetworkManager of releases in use has no list of trunks; leave it out, and the trunk takes every VLAN"}
	vlan.ignoreEmpty("trunk-tags")
	vlan.end()
	aggregation := o.object("link-aggregation")
	members := aggregation.ovsBond(p)
	aggregation.end()
	o.end()
	if len(members) == 0 && name.text != "" {
		members = []port{{word: name, field: o.path}}
	}
	for _, member := range members {
		member.ovs = p
		b.ports = append(b.ports, member)
	}
}

func (o *object) ovsBond(p *ovsPort) []port {
	if o.order == nil {
		return nil
	}
	mode := o.oneOf("mode", "active-backup", "balance-slb", "balance-tcp", "lacp")
	lacp := ""
	if mode == "lacp" || mode == "balance-tcp" {
		mode, lacp = "balance-tcp", "active" // as nmstate sets it up
	}
	p.settings = append(p.settings, setting{"bond-mode", mode})
	p.settings = appendText(p.settings, "lacp", lacp)
	p.settings = appendNumber(p.settings, "bond-updelay", o.number("bond-updelay", 0, largest32))
	p.settings = appendNumber(p.settings, "bond-downdelay", o.number("bond-downdelay", 0, largest32))
	key := "port"
	if _, old := o.left["slaves"]; old {
		key = "slaves"
	}
	var members []port
	for _, entry := range o.objects(key) {
		entry.need("name")
		if w := entry.text("name"); w.text != "" {
			members = append(members, port{word: w, field: entry.path})
		}
		entry.end()
	}
	if len(members) == 0 {
		o.r.report(o.at, o.field(key), "names no interface")
	}
	return members
}
