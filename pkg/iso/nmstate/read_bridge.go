package nmstate

import "strconv"

// bridge reads the settings of a Linux bridge: nmstate's names, with
// NetworkManager's beside them. Times are in seconds.
func (o *object) bridge() *bridge {
	b := &bridge{}
	options := o.object("options")
	stp := options.object("stp")
	b.flag(stp, "enabled", "stp")
	b.number(stp, "forward-delay", "forward-delay", 2, 30)
	b.number(stp, "hello-time", "hello-time", 1, 10)
	b.number(stp, "max-age", "max-age", 6, 40)
	b.number(stp, "priority", "priority", 0, 65535)
	stp.end()
	b.number(options, "mac-ageing-time", "ageing-time", 0, 1000000)
	b.number(options, "group-forward-mask", "group-forward-mask", 0, 65535)
	b.flag(options, "multicast-snooping", "multicast-snooping")
	options.shown("gc-timer", "hello-timer", "group-addr")
	options.end()
	for _, entry := range o.objects("port") {
		entry.need("name")
		p := port{word: entry.text("name"), field: entry.path}
		p.settings.hairpin = entry.flag("stp-hairpin-mode")
		p.settings.pathCost = entry.number("stp-path-cost", 1, 65535)
		p.settings.bridgePriority = entry.number("stp-priority", 0, 63)
		entry.ignoreEmpty("vlan")
		entry.hints = map[string]string{"vlan": "bridges do not filter VLANs here; make a VLAN interface a port"}
		entry.end()
		if p.text != "" {
			b.ports = append(b.ports, p)
		}
	}
	o.end()
	return b
}

func (b *bridge) flag(o *object, from, to string) {
	if value := o.flag(from); value != nil {
		b.settings = append(b.settings, setting{to, strconv.FormatBool(*value)})
	}
}

func (b *bridge) number(o *object, from, to string, lo, hi int64) {
	if value := o.number(from, lo, hi); value != nil {
		b.settings = append(b.settings, setting{to, strconv.FormatInt(*value, 10)})
	}
}
