package nmstate

import (
	"bytes"
	"net"
	"strings"
)

// canonicalMAC is an Ethernet address in lower case with colons. Zeros, as they
// stand in many a template, and addresses of groups are no device's.
func canonicalMAC(text string) (string, bool) {
	mac, err := net.ParseMAC(strings.TrimSpace(text))
	const group = 1 // the first bit on the wire, IEEE 802-2014 §8.2.2
	if err != nil || len(mac) != 6 || mac[0]&group != 0 || bytes.Equal(mac, make([]byte, 6)) {
		return "", false
	}
	return mac.String(), true
}
