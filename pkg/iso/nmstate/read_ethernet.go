package nmstate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// featureNames are the kernel's names of features, and those of the ethtool program,
// where NetworkManager has another one. Both are nmstate's.
var featureNames = map[string]string{
	"rx-checksum": "rx", "rx-checksumming": "rx",
	"rx-gro": "gro", "generic-receive-offload": "gro",
	"tx-generic-segmentation": "gso", "generic-segmentation-offload": "gso",
	"rx-lro": "lro", "large-receive-offload": "lro",
	"rx-ntuple-filter": "ntuple", "ntuple-filters": "ntuple",
	"rx-hashing": "rxhash", "receive-hashing": "rxhash",
	"rx-vlan-hw-parse": "rxvlan", "rx-vlan-offload": "rxvlan",
	"tx-vlan-hw-insert": "txvlan", "tx-vlan-offload": "txvlan",
}

// features are those that NetworkManager can set (nm-settings(5), ethtool).
var features = []string{
	"esp-hw-offload", "esp-tx-csum-hw-offload", "fcoe-mtu", "gro", "gso", "highdma", "hw-tc-offload", "l2-fwd-offload", "loopback",
	"lro", "macsec-hw-offload", "ntuple", "rx", "rx-all", "rx-fcs", "rx-gro-hw", "rx-gro-list", "rx-udp-gro-forwarding",
	"rx-udp_tunnel-port-offload", "rx-vlan-filter", "rx-vlan-stag-filter", "rx-vlan-stag-hw-parse", "rxhash", "rxvlan", "sg",
	"tls-hw-record", "tls-hw-rx-offload", "tls-hw-tx-offload", "tso", "tx", "tx-checksum-fcoe-crc", "tx-checksum-ip-generic",
	"tx-checksum-ipv4", "tx-checksum-ipv6", "tx-checksum-sctp", "tx-esp-segmentation", "tx-fcoe-segmentation",
	"tx-gre-csum-segmentation", "tx-gre-segmentation", "tx-gso-list", "tx-gso-partial", "tx-gso-robust", "tx-ipxip4-segmentation",
	"tx-ipxip6-segmentation", "tx-nocache-copy", "tx-scatter-gather", "tx-scatter-gather-fraglist", "tx-sctp-segmentation",
	"tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation", "tx-tcp-segmentation", "tx-tcp6-segmentation",
	"tx-tunnel-remcsum-segmentation", "tx-udp-segmentation", "tx-udp_tnl-csum-segmentation", "tx-udp_tnl-segmentation",
	"tx-vlan-stag-hw-insert", "txvlan",
}

// coalesceNumbers are the settings of interrupt coalescing.
var coalesceNumbers = []string{
	"pkt-rate-high", "pkt-rate-low", "rx-frames", "rx-frames-high", "rx-frames-irq", "rx-frames-low", "rx-usecs", "rx-usecs-high",
	"rx-usecs-irq", "rx-usecs-low", "sample-interval", "stats-block-usecs", "tx-frames", "tx-frames-high", "tx-frames-irq",
	"tx-frames-low", "tx-usecs", "tx-usecs-high", "tx-usecs-irq", "tx-usecs-low",
}

const largest32 = 1<<32 - 1

func (o *object) ethtool() settings {
	var list settings
	pause := o.object("pause")
	// Where both ends agree on pauses, no direction is said for itself.
	negotiate := pause.flag("autoneg")
	rx, tx := pause.flag("rx"), pause.flag("tx")
	list.flag("pause-autoneg", negotiate)
	if !isTrue(negotiate) {
		list.flag("pause-rx", rx)
		list.flag("pause-tx", tx)
	}
	feature := o.object("feature")
	for _, key := range feature.order {
		if name := cmp.Or(featureNames[key], key); slices.Contains(features, name) {
			list.flag("feature-"+name, feature.flag(key))
		}
	}
	coalesce := o.object("coalesce")
	for _, key := range []string{"adaptive-rx", "adaptive-tx"} {
		list.bit("coalesce-"+key, coalesce.flag(key))
	}
	for _, key := range coalesceNumbers {
		list.number("coalesce-"+key, coalesce.number(key, 0, largest32))
	}
	ring := o.object("ring")
	ring.shown("rx-max", "rx-jumbo-max", "rx-mini-max", "tx-max")
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
			o.r.report(entry.at, entry.field("id"), "%d stands here a second time", *id)
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
	o.shown("iface-name")
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
