package nmstate

func (o *object) ovsBridge(i *iface) {
	on := func(key string, value *bool) { // what is off where nothing is said
		if isTrue(value) {
			i.own.add(key, "true")
		}
	}
	o.flag("allow-extra-patch-ports") // is about what others add later
	options := o.object("options")
	options.oldSwitch("stp")
	stp := options.object("stp")
	on("stp-enable", stp.flag("enabled"))
	stp.end()
	on("rstp-enable", options.flag("rstp"))
	on("mcast-snooping-enable", options.flag("mcast-snooping-enable"))
	i.own.add("fail-mode", options.oneOf("fail-mode", "", "secure", "standalone"))
	i.own.add("datapath-type", options.oneOf("datapath", "", "system", "netdev"))
	options.end()
	for _, entry := range o.objects("port") {
		i.ports = append(i.ports, entry.ovsPort()...)
	}
	o.end()
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
func (o *object) ovsPort() []port {
	named := o.port()
	p := &ovsPort{name: named.text}
	vlan := o.object("vlan")
	p.settings.add("vlan-mode", vlan.oneOf("mode", "", "access", "native-tagged", "native-untagged", "trunk", "dot1q-tunnel"))
	p.settings.number("tag", vlan.number("tag", 0, 4095))
	vlan.hints = map[string]string{"trunk-tags": "NetworkManager of releases in use has no list of trunks; leave it out, and the trunk takes every VLAN"}
	vlan.ignoreEmpty("trunk-tags")
	vlan.end()
	aggregation := o.object("link-aggregation")
	members := aggregation.ovsBond(p)
	aggregation.end()
	o.end()
	if len(members) == 0 && named.text != "" {
		members = []port{named}
	}
	for n := range members {
		members[n].ovs = p
	}
	return members
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
	p.settings.add("bond-mode", mode)
	p.settings.add("lacp", lacp)
	p.settings.number("bond-updelay", o.number("bond-updelay", 0, largest32))
	p.settings.number("bond-downdelay", o.number("bond-downdelay", 0, largest32))
	key := o.portKey()
	var members []port
	for _, entry := range o.objects(key) {
		if member := entry.port(); member.text != "" {
			members = append(members, member)
		}
		entry.end()
	}
	if len(members) == 0 {
		o.r.report(o.at, o.field(key), "names no interface")
	}
	return members
}
