package decide

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Matches says which observed host is which host of the file.
type Matches struct {
	ByName  map[string]*model.Host // name in the file → observed host
	Names   map[string]string
	Part    []*model.Host // all that take part: the hosts of the cluster and those that the file names
	unknown []*model.Host // of the cluster, but no host of the file; their inventory is known
	unread  []*model.Host // of the cluster, and cannot be told yet: no inventory
	pool    []*model.Host // bound to no cluster, and not named: nobody's business until they are bound
	doubles map[string][]*model.Host
	several map[string][]string // id of a machine → further names in the file that fit it
}

// MatchHosts finds the machine of every host of the file. All that a host's
// match says has to fit, and exactly: never a prefix. A machine that belongs to
// another cluster is not even looked at.
func MatchHosts(hosts []spec.Host, observed *model.Observed) Matches {
	m := Matches{ByName: map[string]*model.Host{}, Names: map[string]string{}, doubles: map[string][]*model.Host{}, several: map[string][]string{}}
	candidates := newIdentities(hosts)
	for i := range observed.Hosts {
		host := &observed.Hosts[i]
		if boundToAnother(observed, host) {
			continue
		}
		var fits []int
		for _, j := range candidates.of(host) {
			if !slices.Contains(fits, j) && identifies(&hosts[j].Match, host) {
				fits = append(fits, j)
			}
		}
		slices.Sort(fits)
		m.add(hosts, host, fits)
	}
	return m
}

// add puts a machine where it belongs; fits are the places of the hosts of the
// file that it may be.
func (m *Matches) add(hosts []spec.Host, host *model.Host, fits []int) {
	switch {
	case len(fits) > 0:
		name := hosts[fits[0]].Name
		m.Part = append(m.Part, host)
		for _, j := range fits[1:] {
			m.several[host.ID] = append(m.several[host.ID], hosts[j].Name)
		}
		if m.ByName[name] != nil {
			m.doubles[name] = append(m.doubles[name], host)
			return
		}
		m.ByName[name] = host
		m.Names[host.ID] = name
	case host.Unbound():
		m.pool = append(m.pool, host)
	case !host.Inventory.Known:
		m.Part = append(m.Part, host)
		m.unread = append(m.unread, host)
	default:
		m.Part = append(m.Part, host)
		m.unknown = append(m.unknown, host)
	}
}

// Call is what people call a host: by its name in the file, or else by the one
// that the service has for it.
func (m *Matches) Call(h *model.Host) string { return cmp.Or(m.Names[h.ID], h.Hostname, h.ID) }

// id is what keys and scopes call a host: by its name in the file, or else by
// its id, since the service's names are neither unique nor stable.
func (m *Matches) id(h *model.Host) string { return cmp.Or(m.Names[h.ID], h.ID) }

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
			key = "mac " + setting.MAC(m.MAC)
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
func (ids identities) of(host *model.Host) []int {
	inventory := &host.Inventory
	keys := []string{
		"serial " + inventory.Serial, "uuid " + strings.ToLower(host.ID), "uuid " + strings.ToLower(inventory.UUID),
		"hostname " + inventory.Hostname, "bmc " + normaliseAddress(inventory.BMC),
	}
	for _, i := range inventory.Interfaces {
		keys = append(keys, "mac "+setting.MAC(i.MAC))
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
func identifies(match *spec.Match, host *model.Host) bool {
	known, fits := 0, true
	check := func(want string, same bool) {
		if want != "" {
			known++
			fits = fits && same
		}
	}
	inventory := host.Inventory
	check(match.UUID, strings.EqualFold(match.UUID, host.ID) || (inventory.UUID != "" && strings.EqualFold(match.UUID, inventory.UUID)))
	check(match.MAC, slices.ContainsFunc(inventory.Interfaces, func(i model.Interface) bool {
		return setting.MAC(i.MAC) == setting.MAC(match.MAC)
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

// boundToAnother says whether a machine is bound to another cluster.
func boundToAnother(o *model.Observed, h *model.Host) bool {
	return o.Cluster != nil && h.ClusterID != "" && h.ClusterID != o.Cluster.ID
}
