package nmstate

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// bondModes are the kernel's, at their numbers
// (Documentation/networking/bonding.rst).
var bondModes = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}

// bondOption is what a bonding option may be.
type bondOption struct {
	words  []string // at their numbers; either may be written
	number bool     // of the words NetworkManager knows the numbers alone
	lo, hi int64    // of a number
	list   func(one string) bool
	modes  []string // that it means something in; empty for all
}

// bondOptions are those of the kernel that NetworkManager can set.
var bondOptions = map[string]bondOption{
	"ad_actor_sys_prio": {lo: 1, hi: 65535, modes: []string{"802.3ad"}},
	"ad_actor_system":   {list: isMAC, modes: []string{"802.3ad"}},
	"ad_select":         {words: []string{"stable", "bandwidth", "count"}, modes: []string{"802.3ad"}},
	"ad_user_port_key":  {lo: 0, hi: 1023, modes: []string{"802.3ad"}},
	"all_slaves_active": {words: []string{"dropped", "delivered"}, number: true},
	"arp_all_targets":   {words: []string{"any", "all"}},
	"arp_interval":      {hi: 1<<31 - 1, modes: []string{"balance-rr", "active-backup", "balance-xor", "broadcast"}},
	"arp_ip_target":     {list: isIPv4, modes: []string{"balance-rr", "active-backup", "balance-xor", "broadcast"}},
	"arp_validate":      {words: []string{"none", "active", "backup", "all", "filter", "filter_active", "filter_backup"}, modes: []string{"balance-rr", "active-backup", "balance-xor", "broadcast"}},
	"downdelay":         {hi: 1<<31 - 1},
	"fail_over_mac":     {words: []string{"none", "active", "follow"}},
	"lacp_rate":         {words: []string{"slow", "fast"}, modes: []string{"802.3ad"}},
	"lp_interval":       {lo: 1, hi: 1<<31 - 1},
	"miimon":            {hi: 1<<31 - 1},
	"min_links":         {hi: 1<<31 - 1},
	"num_grat_arp":      {hi: 255},
	"num_unsol_na":      {hi: 255},
	"packets_per_slave": {hi: 65535, modes: []string{"balance-rr"}},
	"peer_notif_delay":  {hi: 1<<31 - 1},
	"primary_reselect":  {words: []string{"always", "better", "failure"}, modes: []string{"active-backup", "balance-tlb", "balance-alb"}},
	"resend_igmp":       {hi: 255},
	"tlb_dynamic_lb":    {hi: 1, modes: []string{"balance-tlb", "balance-alb"}},
	"updelay":           {hi: 1<<31 - 1},
	"use_carrier":       {hi: 1},
	"xmit_hash_policy":  {words: []string{"layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"}, modes: []string{"balance-xor", "802.3ad", "balance-tlb"}},
}

func isMAC(text string) bool {
	_, ok := canonicalMAC(text)
	return ok
}

func isIPv4(text string) bool {
	ip, err := netip.ParseAddr(text)
	return err == nil && ip.Is4()
}

func (o *object) bond(i *iface) {
	mode := o.bondMode()
	i.own = settings{{"mode", mode}}
	options := o.object("options")
	options.hints = map[string]string{
		"active_slave": "it names a device, and device names are not known before the machine boots",
		"balance_slb":  "it is not one of the kernel's",
	}
	for _, key := range slices.Sorted(maps.Keys(bondOptions)) {
		w := options.text(key)
		if w.text == "" {
			continue
		}
		value, problem := bondOptions[key].check(w.text, mode)
		if problem != "" {
			o.r.report(w.at, options.field(key), "%s", problem)
		}
		i.own = append(i.own, setting{key, value})
	}
	primary := options.text("primary")
	if primary.text != "" && !slices.Contains(primaryModes, mode) {
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

// primaryModes are those in which one port is used before the others.
var primaryModes = []string{"active-backup", "balance-tlb", "balance-alb"}

// prefer gives the port that is used before the others a priority above theirs, if there
// is one of that name. The kernel's own option names a device, and device names are not
// known before the machine boots; the port with the highest priority is chosen in the
// same way.
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
	w := o.text("mode")
	if n, err := strconv.Atoi(w.text); err == nil && n >= 0 && n < len(bondModes) {
		return bondModes[n]
	}
	if w.text != "" && !slices.Contains(bondModes, w.text) {
		o.r.report(w.at, o.field("mode"), "%q is not a mode of bonds; it may be %s", w.text, strings.Join(bondModes, ", "))
	}
	return w.text
}

// check gives the value as NetworkManager takes it, or says what is wrong with
// it.
func (b bondOption) check(text, mode string) (value, problem string) {
	if len(b.modes) > 0 && !slices.Contains(b.modes, mode) {
		return "", fmt.Sprintf("means nothing in mode %s", mode)
	}
	switch {
	case b.list != nil:
		for one := range strings.SplitSeq(text, ",") {
			if !b.list(one) {
				return "", fmt.Sprintf("%q is not an address for it", one)
			}
		}
		return text, ""
	case b.words != nil:
		n := slices.Index(b.words, text)
		if written, err := strconv.Atoi(text); err == nil && written >= 0 && written < len(b.words) {
			n = written
		}
		switch {
		case n < 0:
			return "", fmt.Sprintf("%q is not one of %s", text, strings.Join(b.words, ", "))
		case b.number:
			return strconv.Itoa(n), ""
		}
		return b.words[n], ""
	}
	if on, ok := truth(text); ok && b.hi == 1 {
		text = "0"
		if on {
			text = "1"
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < b.lo || n > b.hi {
		return "", fmt.Sprintf("has to be a number from %d to %d, but is %q", b.lo, b.hi, text)
	}
	return text, ""
}

// checkMonitors holds a bond to one way of watching its ports: the kernel takes
// no two at once.
func (o *object) checkMonitors(options settings) {
	value := map[string]string{}
	for _, s := range options {
		value[s.key] = s.value
	}
	on := func(key string) bool { return value[key] != "" && value[key] != "0" }
	switch {
	case on("miimon") && on("arp_interval"):
		o.r.report(o.at, o.path, "miimon and arp_interval exclude each other")
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
	if priority != nil && !slices.Contains(primaryModes, mode) {
		o.r.report(o.at, o.field("priority"), "means nothing in mode %s", mode)
	}
	if n := slices.IndexFunc(i.ports, func(known port) bool { return known.text == p.text }); n >= 0 {
		i.ports[n].settings = p.settings
	} else if p.text != "" {
		i.ports = append(i.ports, p)
	}
}

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
	on("rstp-enable", options.flag("rstp"))
	on("mcast-snooping-enable", options.flag("mcast-snooping-enable"))
	i.own.add("fail-mode", options.oneOf("fail-mode", "", "secure", "standalone"))
	i.own.add("datapath-type", options.oneOf("datapath", "", "system", "netdev"))
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
	vlan.hints = map[string]string{"trunk-tags": "NetworkManager of releases in use has no list of trunks; leave it out, and the trunk takes every VLAN"}
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
