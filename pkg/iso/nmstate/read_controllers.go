package nmstate

import (
	_ "embed" // tables.yaml
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed tables.yaml
var tablesText []byte

// table is what the kernel and NetworkManager know by name; tables.yaml says how it is read.
type table struct {
	BondModes, PrimaryModes      []string
	BondOptions                  map[string]bondOption
	Features                     []string
	FeatureNames                 map[string]string
	CoalesceNumbers              []string
	ProfileTypes, ProfileMethods []string
	InterfaceKeys                []string
}

var tables = sync.OnceValue(func() (t table) {
	if err := yaml.UnmarshalStrict(tablesText, &t); err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return t
})

type bondOption struct {
	Words  []string
	Number bool
	Range  []int64
	List   string
	Modes  []string
}

func isMAC(text string) bool {
	_, ok := canonicalMAC(text)
	return ok
}

func (o *object) bond(i *iface) {
	mode := o.bondMode()
	i.own = settings{{"mode", mode}}
	options := o.object("options")
	options.hints = map[string]string{
		"active_slave": "it names a device, and device names are not known before the machine boots",
		"balance_slb":  "it is not an option of the kernel",
	}
	for _, key := range slices.Sorted(maps.Keys(tables().BondOptions)) {
		w := options.text(key)
		if w.text == "" {
			continue
		}
		value, problem := tables().BondOptions[key].check(w.text, mode)
		if problem != "" {
			o.r.report(w.at, options.field(key), "%s", problem)
		}
		i.own = append(i.own, setting{key, value})
	}
	primary := options.text("primary")
	if primary.text != "" && !slices.Contains(tables().PrimaryModes, mode) {
		o.r.report(primary.at, options.field("primary"), "means nothing in mode %s", mode)
	}
	options.checkMonitors(i.own)
	i.ports = o.ports(o.portKey())
	for _, config := range o.objects("ports-config") {
		config.bondPort(i, mode)
	}
	if primary.text != "" && !i.prefer(primary.text) {
		o.r.report(primary.at, options.field("primary"), "%s is not a port of the bond", primary.text)
	}
}

// prefer gives a port, if there is one of that name, a priority above the others, which
// has the kernel choose it. The kernel's own option names a device, and device names are
// not known before the machine boots.
func (i *iface) prefer(name string) bool {
	n := slices.IndexFunc(i.ports, func(p port) bool { return p.text == name })
	if n < 0 {
		return false
	}
	others := slices.DeleteFunc(i.ports[n].settings, func(s setting) bool { return s.key == "prio" })
	i.ports[n].settings = append(settings{{"prio", "2147483647"}}, others...)
	return true
}

// bondMode is the mode by its name, which may be written as its number.
func (o *object) bondMode() string {
	o.need("mode")
	w, modes := o.text("mode"), tables().BondModes
	if n, err := strconv.Atoi(w.text); err == nil && n >= 0 && n < len(modes) {
		return modes[n]
	}
	if w.text != "" && !slices.Contains(modes, w.text) {
		o.r.report(w.at, o.field("mode"), "%q is not a mode of bonds; it may be %s", w.text, strings.Join(modes, ", "))
	}
	return w.text
}

// check gives the value as NetworkManager takes it, or says what is wrong with it.
func (b bondOption) check(text, mode string) (value, problem string) {
	if len(b.Modes) > 0 && !slices.Contains(b.Modes, mode) {
		return "", fmt.Sprintf("means nothing in mode %s", mode)
	}
	switch {
	case b.List != "":
		for one := range strings.SplitSeq(text, ",") {
			ip, err := netip.ParseAddr(one)
			if b.List == "mac" && !isMAC(one) || b.List == "ipv4" && (err != nil || !ip.Is4()) {
				return "", fmt.Sprintf("%q is not an address for it", one)
			}
		}
		return text, ""
	case b.Words != nil:
		n := slices.Index(b.Words, text)
		if written, err := strconv.Atoi(text); err == nil && written >= 0 && written < len(b.Words) {
			n = written
		}
		switch {
		case n < 0:
			return "", fmt.Sprintf("%q is not one of %s", text, strings.Join(b.Words, ", "))
		case b.Number:
			return strconv.Itoa(n), ""
		}
		return b.Words[n], ""
	}
	lo, hi := b.Range[0], b.Range[1]
	if on, ok := truth(text); ok && hi == 1 {
		text = "0"
		if on {
			text = "1"
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < lo || n > hi {
		return "", fmt.Sprintf("has to be a number from %d to %d, but is %q", lo, hi, text)
	}
	return text, ""
}

// checkMonitors holds a bond to one way of watching its ports, as the kernel does.
func (o *object) checkMonitors(options settings) {
	value := map[string]string{}
	for _, s := range options {
		value[s.key] = s.value
	}
	on := func(key string) bool { return value[key] != "" && value[key] != "0" }
	switch {
	case on("miimon") && on("arp_interval"):
		o.r.report(o.at, o.path, "miimon and arp_interval cannot be used together")
	case on("arp_interval") != (value["arp_ip_target"] != ""):
		o.r.report(o.at, o.path, "arp_interval and arp_ip_target belong together")
	case !on("miimon") && (on("updelay") || on("downdelay")):
		o.r.report(o.at, o.path, "updelay and downdelay need miimon")
	}
}

// bondPort reads an entry of ports-config, which may name a port that is in port, too.
func (o *object) bondPort(i *iface, mode string) {
	p := o.port()
	priority := o.number("priority", -1<<31, 1<<31-1)
	p.settings.number("prio", priority)
	p.settings.number("queue-id", o.number("queue-id", 0, 65535))
	if priority != nil && !slices.Contains(tables().PrimaryModes, mode) {
		o.r.report(o.at, o.field("priority"), "means nothing in mode %s", mode)
	}
	if n := slices.IndexFunc(i.ports, func(known port) bool { return known.text == p.text }); n >= 0 {
		i.ports[n].settings = p.settings
	} else if p.text != "" {
		i.ports = append(i.ports, p)
	}
}

func (o *object) ovsBridge(i *iface) {
	on := func(key string, value *bool) { // off by default
		if isTrue(value) {
			i.own.add(key, "true")
		}
	}
	o.flag("allow-extra-patch-ports") // is about what others add later
	options := o.object("options")
	options.oldSwitch("stp")
	stp := options.object("stp")
	on("stp-enable", stp.flag("enabled"))
	on("rstp-enable", options.flag("rstp"))
	on("mcast-snooping-enable", options.flag("mcast-snooping-enable"))
	i.own.add("fail-mode", options.oneOf("fail-mode", "", "secure", "standalone"))
	i.own.add("datapath-type", options.oneMade("datapath", "", "system", "netdev"))
	for _, entry := range o.objects("port") {
		i.ports = append(i.ports, entry.ovsPort()...)
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
func (o *object) ovsPort() []port {
	named := o.port()
	p := &ovsPort{name: named.text}
	vlan := o.object("vlan")
	p.settings.add("vlan-mode", vlan.oneOf("mode", "", "access", "native-tagged", "native-untagged", "trunk", "dot1q-tunnel"))
	p.settings.number("tag", vlan.number("tag", 0, 4095))
	vlan.hints = map[string]string{"trunk-tags": "the NetworkManager versions of current releases have no list of trunks; omit it, " +
		"and the trunk accepts all VLANs"}
	vlan.ignoreEmpty("trunk-tags")
	members := o.object("link-aggregation").ovsBond(p)
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
	}
	if len(members) == 0 {
		o.r.report(o.at, o.field(key), "names no interface")
	}
	return members
}
