package service

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// connectivityReport is an agent's answer to the connectivity-check step.
type connectivityReport struct {
	RemoteHosts []remoteHost `json:"remote_hosts"`
}

// remoteHost is what a host found out about another one.
type remoteHost struct {
	HostID string      `json:"host_id,omitempty"`
	L2     []l2Result  `json:"l2_connectivity"`
	L3     []l3Result  `json:"l3_connectivity"`
	MTU    []mtuResult `json:"mtu_report"`
}

type l2Result struct {
	OutgoingIP  string `json:"outgoing_ip_address,omitempty"`
	OutgoingNIC string `json:"outgoing_nic,omitempty"`
	RemoteIP    string `json:"remote_ip_address,omitempty"`
	RemoteMAC   string `json:"remote_mac,omitempty"`
	Successful  bool   `json:"successful,omitempty"`
}

type l3Result struct {
	AverageRTT  float64 `json:"average_rtt_ms,omitempty"`
	OutgoingNIC string  `json:"outgoing_nic,omitempty"`
	PacketLoss  float64 `json:"packet_loss_percentage,omitempty"`
	RemoteIP    string  `json:"remote_ip_address,omitempty"`
	Successful  bool    `json:"successful,omitempty"`
}

type mtuResult struct {
	Successful  bool   `json:"mtu_successful,omitempty"`
	OutgoingNIC string `json:"outgoing_nic,omitempty"`
	RemoteIP    string `json:"remote_ip_address,omitempty"`
}

// setConnectivity keeps a host's report.
func (h *host) setConnectivity(text string) error {
	var r connectivityReport
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return fmt.Errorf("reading the connectivity report: %w", err)
	}
	printed := inString(r)
	if printed == h.Connectivity {
		return nil
	}
	h.Connectivity = printed
	h.peers = make(map[string]remoteHost, len(r.RemoteHosts))
	for _, remote := range r.RemoteHosts {
		h.peers[remote.HostID] = remote
	}
	return nil
}

// reachability is what groups and collisions are computed from. As long as it is the
// same, so are they; the real service computes them anew at each pass.
type reachability struct {
	least int
	hosts []hostReachability
}

// hostReachability is the part of one host.
type hostReachability struct {
	id, connectivity, inventory string
}

func (c *cluster) reachability() reachability {
	r := reachability{least: c.leastGroup()}
	for _, h := range c.hosts {
		r.hosts = append(r.hosts, hostReachability{h.ID, h.Connectivity, h.Inventory})
	}
	return r
}

func (r reachability) is(other reachability) bool {
	return r.least == other.least && slices.Equal(r.hosts, other.hosts)
}

// majority is which hosts of a cluster can reach most of the others.
type majority struct {
	// networks maps a network, or IPv4 and IPv6, to the hosts of its majority.
	networks map[string][]string
	// l3 maps a host to its addresses that the others reach.
	l3   map[string][]string
	text string
}

// updateGroupsAndCollisions computes both before an install, if anything that they depend
// on has changed.
func (c *cluster) updateGroupsAndCollisions() {
	if !oneOf(c.Status, clusterInsufficient, clusterPendingInput, clusterReady) {
		return
	}
	now := c.reachability()
	if c.ConnectivityGroups != "" && now.is(c.reached) {
		return
	}
	c.reached = now
	c.findCollisions()
	c.updateGroups()
}

func (c *cluster) updateGroups() {
	g := majority{networks: map[string][]string{}, l3: map[string][]string{}}
	for _, n := range c.hostNetworks() {
		g.networks[n.CIDR] = c.l2Group(n)
	}
	for _, h := range c.hosts {
		if reached := c.reachedAddresses(h); len(reached) > 0 {
			g.l3[h.ID] = reached
		}
	}
	g.networks["IPv4"] = c.l3Group(netip.Addr.Is4)
	g.networks["IPv6"] = c.l3Group(netip.Addr.Is6)
	g.text = inString(struct {
		Groups map[string][]string `json:"majority_groups"`
		L3     map[string][]string `json:"l3_connected_addresses"`
	}{g.networks, g.l3})
	c.groups = g
	c.ConnectivityGroups = g.text
}

// l2Group finds the largest set of hosts in the network that all see each other,
// greedily from the best connected one. In an IPv6 network a ping tells that, too.
func (c *cluster) l2Group(n hostNetwork) []string {
	network, err := netip.ParsePrefix(n.CIDR)
	if err != nil {
		return []string{}
	}
	within := func(text string) bool {
		addr, err := netip.ParseAddr(text)
		return err == nil && network.Contains(addr)
	}
	return c.group(func(a, b *host) bool {
		peer := a.peers[b.ID]
		return slices.ContainsFunc(peer.L2, func(l l2Result) bool { return l.Successful && within(l.RemoteIP) }) ||
			network.Addr().Is6() && slices.ContainsFunc(peer.L3, func(l l3Result) bool { return l.Successful && within(l.RemoteIP) })
	})
}

// l3Group is the same over pings, for one address family: of a host that another one
// sees, all addresses of the family answer.
func (c *cluster) l3Group(family func(netip.Addr) bool) []string {
	return c.group(func(a, b *host) bool {
		if b.inv == nil {
			return false
		}
		some := false
		for _, own := range b.inv.addresses {
			addr := own.prefix.Addr()
			if !family(addr) {
				continue
			}
			some = true
			if !slices.ContainsFunc(a.peers[b.ID].L3, func(l l3Result) bool { return l.Successful && l.RemoteIP == addr.String() }) {
				return false
			}
		}
		return some
	})
}

// group finds the hosts that all see each other. What of the cluster they are does not
// matter, only how many.
func (c *cluster) group(sees func(a, b *host) bool) []string {
	hosts := slices.Clone(c.hosts)
	least := c.leastGroup()
	if len(hosts) < least {
		return []string{}
	}
	degree := make(map[*host]int, len(hosts))
	linked := make(map[[2]*host]bool, len(hosts)*len(hosts)/2)
	for i, a := range hosts {
		for _, b := range hosts[i+1:] {
			if sees(a, b) && sees(b, a) {
				linked[[2]*host{a, b}], linked[[2]*host{b, a}] = true, true
				degree[a]++
				degree[b]++
			}
		}
	}
	slices.SortStableFunc(hosts, func(a, b *host) int { return degree[b] - degree[a] })
	var members []*host
	for _, h := range hosts {
		if !slices.ContainsFunc(members, func(m *host) bool { return !linked[[2]*host{h, m}] }) {
			members = append(members, h)
		}
	}
	if len(members) < least {
		return []string{}
	}
	result := make([]string, 0, len(members))
	for _, m := range members {
		result = append(result, m.ID)
	}
	slices.Sort(result)
	return result
}

// leastGroup is how many hosts make a group: three, or two where two machines with
// fencing are the control plane.
func (c *cluster) leastGroup() int {
	fenced := 0
	for _, h := range c.hosts {
		switch role := h.role(); {
		case role == roleArbiter, role == roleMaster && h.FencingCredentials == "":
			return 3
		case role == roleMaster:
			fenced++
		}
	}
	if c.ControlPlaneCount == 2 && fenced == 2 {
		return 2
	}
	return 3
}

// reachedAddresses lists the host's addresses that all the others can ping.
func (c *cluster) reachedAddresses(h *host) []string {
	votes := map[string]int{}
	for _, other := range c.hosts {
		answered := map[string]bool{}
		for _, l := range other.peers[h.ID].L3 {
			if l.Successful && other != h {
				answered[l.RemoteIP] = true
			}
		}
		for address := range answered {
			votes[address]++
		}
	}
	var reached []string
	for address, n := range votes {
		if n == len(c.hosts)-1 {
			reached = append(reached, address)
		}
	}
	slices.Sort(reached)
	return reached
}

// hostNetworks lists the networks that the cluster's hosts sit in, each with its
// hosts.
func (c *cluster) hostNetworks() []hostNetwork {
	list := []hostNetwork{}
	index := map[netip.Prefix]int{}
	for _, h := range c.hosts {
		if h.inv == nil {
			continue
		}
		for _, a := range h.inv.addresses {
			network := a.prefix.Masked()
			i, ok := index[network]
			if !ok {
				i = len(list)
				index[network] = i
				list = append(list, hostNetwork{CIDR: network.String()})
			}
			if !slices.Contains(list[i].HostIDs, h.ID) {
				list[i].HostIDs = append(list[i].HostIDs, h.ID)
			}
		}
	}
	slices.SortFunc(list, func(a, b hostNetwork) int { return strings.Compare(a.CIDR, b.CIDR) })
	return list
}

// findCollisions keeps the addresses that answered one host from two network cards. Of
// several hosts that report something, the service keeps what the last one says.
func (c *cluster) findCollisions() {
	hosts := slices.Clone(c.hosts)
	slices.SortFunc(hosts, func(a, b *host) int { return strings.Compare(a.ID, b.ID) })
	c.collisions = map[string][]string{}
	for _, h := range hosts {
		if h.Connectivity != "" {
			c.collisions = h.collisions()
		}
	}
	c.IPCollisions = inString(c.collisions)
}

// collisions are the addresses that answered this host, behind one of its own network
// cards, from two others.
func (h *host) collisions() map[string][]string {
	type place struct{ nic, address string }
	answered, found := map[place]string{}, map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(h.peers)) {
		for _, l := range h.peers[id].L2 {
			at := place{l.OutgoingNIC, l.RemoteIP}
			if before := answered[at]; before != "" && before != l.RemoteMAC {
				found[l.RemoteIP] = []string{min(before, l.RemoteMAC), max(before, l.RemoteMAC)}
			}
			answered[at] = l.RemoteMAC
		}
	}
	return found
}
