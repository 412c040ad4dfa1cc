package nmstate

import (
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
var features = strings.Fields(`esp-hw-offload esp-tx-csum-hw-offload fcoe-mtu gro gso highdma hw-tc-offload l2-fwd-offload loopback lro
	macsec-hw-offload ntuple rx rx-all rx-fcs rx-gro-hw rx-gro-list rx-udp-gro-forwarding rx-udp_tunnel-port-offload rx-vlan-filter
	rx-vlan-stag-filter rx-vlan-stag-hw-parse rxhash rxvlan sg tls-hw-record tls-hw-rx-offload tls-hw-tx-offload tso tx
	tx-checksum-fcoe-crc tx-checksum-ip-generic tx-checksum-ipv4 tx-checksum-ipv6 tx-checksum-sctp tx-esp-segmentation
	tx-fcoe-segmentation tx-gre-csum-segmentation tx-gre-segmentation tx-gso-list tx-gso-partial tx-gso-robust
	tx-ipxip4-segmentation tx-ipxip6-segmentation tx-nocache-copy tx-scatter-gather tx-scatter-gather-fraglist
	tx-sctp-segmentation tx-tcp-ecn-segmentation tx-tcp-mangleid-segmentation tx-tcp-segmentation tx-tcp6-segmentation
	tx-tunnel-remcsum-segmentation tx-udp-segmentation tx-udp_tnl-csum-segmentation tx-udp_tnl-segmentation
	tx-vlan-stag-hw-insert txvlan`)

// coalesceNumbers are the settings of interrupt coalescing.
var coalesceNumbers = strings.Fields(`pkt-rate-high pkt-rate-low rx-frames rx-frames-high rx-frames-irq rx-frames-low rx-usecs rx-usecs-high
	rx-usecs-irq rx-usecs-low sample-interval stats-block-usecs tx-frames tx-frames-high tx-frames-irq tx-frames-low tx-usecs
	tx-usecs-high tx-usecs-irq tx-usecs-low`)

const largest32 = 1<<32 - 1

// ethtool reads what is set in the driver of an interface.
func (o *object) ethtool() []setting {
	var list []setting
	pause := o.object("pause")
	// Where both ends agree on pauses, no direction is said for itself.
	negotiate := pause.flag("autoneg")
	rx, tx := pause.flag("rx"), pause.flag("tx")
	list = appendFlag(list, "pause-autoneg", negotiate)
	if !isTrue(negotiate) {
		list = appendFlag(appendFlag(list, "pause-rx", rx), "pause-tx", tx)
	}
	pause.end()
	list = append(list, o.object("feature").features()...)
	coalesce := o.object("coalesce")
	for _, key := range []string{"adaptive-rx", "adaptive-tx"} {
		if on := coalesce.flag(key); on != nil {
			list = append(list, setting{"coalesce-" + key, map[bool]string{true: "1", false: "0"}[*on]})
		}
	}
	for _, key := range coalesceNumbers {
		list = appendNumber(list, "coalesce-"+key, coalesce.number(key, 0, largest32))
	}
	coalesce.end()
	ring := o.object("ring")
	ring.shown("rx-max", "rx-jumbo-max", "rx-mini-max", "tx-max")
	for _, key := range []string{"rx", "rx-jumbo", "rx-mini", "tx"} {
		list = appendNumber(list, "ring-"+key, ring.number(key, 0, largest32))
	}
	ring.end()
	o.end()
	return list
}

// features reads which features are on.
func (o *object) features() []setting {
	var list []setting
	for _, key := range o.order {
		name := key
		if short, known := featureNames[key]; known {
			name = short
		}
		if slices.Contains(features, name) {
			list = appendFlag(list, "feature-"+name, o.flag(key))
		}
	}
	o.end()
	return list
}

func appendFlag(list []setting, key string, value *bool) []setting {
	if value == nil {
		return list
	}
	return append(list, setting{key, strconv.FormatBool(*value)})
}

func appendNumber(list []setting, key string, value *int64) []setting {
	if value == nil {
		return list
	}
	return append(list, setting{key, strconv.FormatInt(*value, 10)})
}

func appendText(list []setting, key, value string) []setting {
	if value == "" {
		return list
	}
	return append(list, setting{key, value})
}
