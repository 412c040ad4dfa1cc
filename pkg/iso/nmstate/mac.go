package nmstate

import (
	"net"
	"strings"
)

// canonicalMAC is an Ethernet address in lower case with colons.
func canonicalMAC(text string) (string, bool) {
	mac, err := net.ParseMAC(strings.TrimSpace(text))
	if err != nil || len(mac) != 6 {
		return "", false
	}
	return mac.String(), true
}
