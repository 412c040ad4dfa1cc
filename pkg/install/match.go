package install

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// matches says which observed host is which host of the file.
type matches struct {
	byName  map[string]*Host // name in the file → observed host
	names   map[string]string
	unknown []*Host // no host of the file; their inventory is known
	unread  []*Host // cannot be told yet: no inventory
	doubles map[string][]*Host
}

// matchHosts finds the machine of every host of the file. All that a host's
// match says has to fit, and exactly: never a prefix.
func matchHosts(hosts []spec.Host, observed []Host) matches {
	m := matches{byName: map[string]*Host{}, names: map[string]string{}, doubles: map[string][]*Host{}}
	for i := range observed {
		host := &observed[i]
		var fits []string
		for j := range hosts {
			if identifies(&hosts[j].Match, host) {
				fits = append(fits, hosts[j].Name)
			}
		}
		switch {
		case len(fits) > 0:
			name := fits[0]
			if taken := m.byName[name]; taken != nil {
				m.doubles[name] = append(m.doubles[name], host)
				continue
			}
			m.byName[name] = host
			m.names[host.ID] = name
		case !host.Inventory.Known:
			m.unread = append(m.unread, host)
		default:
			m.unknown = append(m.unknown, host)
		}
	}
	return m
}

// identifies says whether a machine is the one that match describes.
func identifies(match *spec.Match, host *Host) bool {
	known, fits := 0, true
	check := func(want string, same bool) {
		if want != "" {
			known++
			fits = fits && same
		}
	}
	inventory := host.Inventory
	check(match.UUID, strings.EqualFold(match.UUID, host.ID) || (inventory.UUID != "" && strings.EqualFold(match.UUID, inventory.UUID)))
	check(match.MAC, slices.ContainsFunc(inventory.Interfaces, func(i Interface) bool {
		return normaliseMAC(i.MAC) == normaliseMAC(match.MAC)
	}))
	check(match.Serial, inventory.Serial == match.Serial)
	check(match.Hostname, inventory.Hostname == match.Hostname)
	check(match.BMC, sameAddress(inventory.BMC, match.BMC))
	return known > 0 && fits
}

func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x.Unmap() == y.Unmap()
}

func normaliseMAC(mac string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(mac)), "-", ":")
}

// label is what a person recognises a machine by.
func (h *Host) label() string {
	var parts []string
	for _, i := range h.Inventory.Interfaces {
		if i.MAC != "" {
			parts = append(parts, "MAC "+i.MAC)
			break
		}
	}
	if h.Inventory.Serial != "" {
		parts = append(parts, "serial "+h.Inventory.Serial)
	}
	if bmc := h.Inventory.BMC; bmc != "" && bmc != "0.0.0.0" && bmc != "::/0" {
		parts = append(parts, "BMC "+bmc)
	}
	name := h.Hostname
	if name == "" {
		name = h.ID
	}
	if len(parts) == 0 {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, strings.Join(parts, ", "))
}
