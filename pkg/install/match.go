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
	candidates := newIdentities(hosts)
	for i := range observed {
		host := &observed[i]
		fit := -1
		for _, j := range candidates.of(host) {
			if (fit < 0 || j < fit) && identifies(&hosts[j].Match, host) {
				fit = j
			}
		}
		switch {
		case fit >= 0:
			name := hosts[fit].Name
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

// identities finds hosts of the file by one of the things that their match
// says, so that hundreds of machines need not be held against hundreds of
// hosts.
type identities map[string][]int

func newIdentities(hosts []spec.Host) identities {
	ids := identities{}
	for i := range hosts {
		m := &hosts[i].Match
		key := ""
		switch {
		case m.MAC != "":
			key = "mac " + normaliseMAC(m.MAC)
		case m.Serial != "":
			key = "serial " + m.Serial
		case m.UUID != "":
			key = "uuid " + strings.ToLower(m.UUID)
		case m.Hostname != "":
			key = "hostname " + m.Hostname
		default:
			key = "bmc " + normaliseAddress(m.BMC)
		}
		ids[key] = append(ids[key], i)
	}
	return ids
}

// of are the places of the hosts that a machine may be.
func (ids identities) of(host *Host) []int {
	inventory := &host.Inventory
	keys := []string{
		"serial " + inventory.Serial, "uuid " + strings.ToLower(host.ID), "uuid " + strings.ToLower(inventory.UUID),
		"hostname " + inventory.Hostname, "bmc " + normaliseAddress(inventory.BMC),
	}
	for _, i := range inventory.Interfaces {
		keys = append(keys, "mac "+normaliseMAC(i.MAC))
	}
	var places []int
	for _, key := range keys {
		places = append(places, ids[key]...)
	}
	return places
}

func normaliseAddress(text string) string {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return text
	}
	return address.Unmap().String()
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
	check(match.BMC, match.BMC != "" && sameAddress(inventory.BMC, match.BMC))
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
