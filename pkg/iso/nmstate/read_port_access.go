package nmstate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// dot1x reads how a machine is let into the network (IEEE 802.1X). Certificates and
// keys are files that the live system has.
func (o *object) dot1x() []setting {
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
	var list []setting
	if len(methods) > 0 {
		list = append(list, setting{"eap", strings.Join(methods, ";") + ";"})
	}
	for _, key := range []string{"identity", "anonymous-identity", "phase2-auth", "password"} {
		list = appendText(list, key, o.text(key).text)
	}
	for _, key := range []string{"ca-cert", "client-cert", "private-key"} {
		list = appendText(list, key, o.certificate(key))
	}
	list = appendText(list, "private-key-password", o.text("private-key-password").text)
	o.end()
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
func (o *object) virtualFunctions() []setting {
	var list []setting
	if probe := o.flag("drivers-autoprobe"); probe != nil {
		list = append(list, setting{"autoprobe-drivers", map[bool]string{true: "1", false: "0"}[*probe]})
	}
	total := o.number("total-vfs", 0, 65535)
	list = appendNumber(list, "total-vfs", total)
	seen := map[int64]bool{}
	for _, entry := range o.objects("vfs") {
		entry.need("id")
		id := entry.number("id", 0, 65535)
		text := entry.virtualFunction()
		entry.end()
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
	o.end()
	return list
}

// virtualFunction is one of them as NetworkManager writes it: attributes by name.
func (o *object) virtualFunction() string {
	var list []string
	add := func(key, value string) {
		if value != "" {
			list = append(list, key+"="+value)
		}
	}
	flag := func(from, to string) {
		if value := o.flag(from); value != nil {
			add(to, strconv.FormatBool(*value))
		}
	}
	number := func(from, to string) {
		if value := o.number(from, 0, largest32); value != nil {
			add(to, strconv.FormatInt(*value, 10))
		}
	}
	add("mac", strings.ToUpper(o.mac("mac-address").text))
	number("max-tx-rate", "max-tx-rate")
	number("min-tx-rate", "min-tx-rate")
	flag("spoof-check", "spoof-check")
	flag("trust", "trust")
	quality, protocol := o.number("qos", 0, 7), o.oneOf("vlan-proto", "802.1q", "802.1ad")
	if vlan := o.number("vlan-id", 0, 4095); vlan != nil && *vlan > 0 {
		text := strconv.FormatInt(*vlan, 10)
		if quality != nil && *quality > 0 || protocol == "802.1ad" {
			text = fmt.Sprintf("%d.%d", *vlan, orZero(quality))
		}
		if protocol == "802.1ad" {
			text += ".ad"
		}
		add("vlans", text)
	}
	o.shown("iface-name")
	return strings.Join(list, " ")
}

func orZero(value *int64) int64 {
	if value == nil {
		return 0
	}
	return *value
}
