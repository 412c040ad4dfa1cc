package validate

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/strfmt"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/openshift/assisted-service/models"
)

// NetworkOfVip is the network of the hosts in which an address lies; empty if none has it.
func NetworkOfVip(c *model.Cluster, ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ""
	}
	best := netip.Prefix{}
	for _, h := range c.Hosts {
		if h.Inv == nil {
			continue
		}
		for _, a := range h.Inv.Addresses {
			if network := a.Prefix.Masked(); network.Contains(addr) && network.Bits() >= best.Bits() {
				best = network
			}
		}
	}
	if !best.IsValid() {
		return ""
	}
	return best.String()
}

// CalculatesNetworks reports whether the service computes the machine networks from the virtual addresses.
func CalculatesNetworks(c *model.Cluster) bool {
	return !c.IsSingle() && !c.UserManaged() && !c.UserBalanced() && !c.AllocatesVips() && !DualStack(c)
}

// DualStack reports whether some kind of the cluster's networks has both families.
func DualStack(c *model.Cluster) bool {
	machine, clusterNets, services := c.CIDRs()
	return len(families(machine)) > 1 || len(families(services)) > 1 || len(families(clusterNets)) > 1
}

// AssignMachineNetworks works out the machine networks of a cluster that is not ready yet,
// by the virtual addresses and the hosts' networks: none where no host has such a network.
// A single node keeps what it has, as does who balances the load itself.
func AssignMachineNetworks(c *model.Cluster) {
	if !model.OneOf(c.Status, model.ClusterInsufficient, model.ClusterPendingInput) {
		return
	}
	switch {
	case c.IsSingle():
		if cidrs := routedNetworks(c); len(c.MachineNetworks) == 0 && len(cidrs) > 0 {
			SetMachineNetworks(c, cidrs)
		}
	case c.UserManaged(), c.UserBalanced(), c.AllocatesVips():
	default:
		calculateMachineNetworks(c)
	}
}

func calculateMachineNetworks(c *model.Cluster) {
	first, second := NetworkOfVip(c, c.VipAt(0)), NetworkOfVip(c, c.VipAt(1))
	if first == "" && DualStack(c) {
		return
	}
	have := func(i int) string {
		if i < len(c.MachineNetworks) {
			return c.MachineNetworks[i].CIDR
		}
		return ""
	}
	if first == have(0) && (second == "" || second == have(1)) {
		return
	}
	SetMachineNetworks(c, []string{first, second})
}

// SetMachineNetworks leaves out what is empty.
func SetMachineNetworks(c *model.Cluster, cidrs []string) {
	c.MachineNetworks = []model.MachineNetwork{}
	for _, cidr := range cidrs {
		if cidr != "" {
			c.MachineNetworks = append(c.MachineNetworks, model.MachineNetwork{CIDR: cidr, ClusterID: c.ID})
		}
	}
}

// routedNetworks lists the networks of the card with the first machine's default route.
func routedNetworks(c *model.Cluster) []string {
	for _, h := range c.Hosts {
		if h.Inv == nil {
			continue
		}
		r := h.Inv.DefaultRoute()
		if r == nil {
			return nil
		}
		var cidrs []string
		for _, a := range h.Inv.Addresses {
			if h.Inv.Interfaces[a.NIC].Name == r.Interface && !a.Prefix.Addr().IsLinkLocalUnicast() {
				if cidr := a.Prefix.Masked().String(); !slices.Contains(cidrs, cidr) {
					cidrs = append(cidrs, cidr)
				}
			}
		}
		return cidrs
	}
	return nil
}

// NodeAddress is the address of the cluster's first machine in the machine network.
func NodeAddress(c *model.Cluster) string {
	for _, h := range c.Hosts {
		if h.Inv == nil {
			continue
		}
		if a, in := h.Inv.InAny(c.MachineNetworks); in {
			return a.Prefix.Addr().String()
		}
	}
	return ""
}

// Elsewhere says that a virtual address of a user's load balancer lies in no machine network.
func Elsewhere(name, ip string, networks []model.MachineNetwork) string {
	var tried []string
	for _, n := range networks {
		tried = append(tried, fmt.Sprintf("machine network CIDR <%s> verification failed: %s <%s> does not belong to machine-network-cidr <%s>",
			n.CIDR, name, ip, n.CIDR))
	}
	return fmt.Sprintf("%s '%s' failed verification: none of the machine networks is satisfying the requirements, description: %s", name, ip,
		strings.Join(tried, "; "))
}

// InAny reports whether an address lies in one of the networks.
func InAny(ip string, networks []model.MachineNetwork) bool { return networkWith(ip, networks) != "" }

func networkWith(ip string, networks []model.MachineNetwork) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ""
	}
	for _, n := range networks {
		if network, err := netip.ParsePrefix(n.CIDR); err == nil && network.Contains(addr) {
			return n.CIDR
		}
	}
	return ""
}

// UpdateGroupsAndCollisions computes both before an install, if anything that they depend on has changed.
func UpdateGroupsAndCollisions(c *model.Cluster) {
	if !model.OneOf(c.Status, model.ClusterInsufficient, model.ClusterPendingInput, model.ClusterReady) {
		return
	}
	now := []string{strconv.Itoa(leastGroup(c))}
	for _, h := range c.Hosts {
		now = append(now, h.ID, h.Connectivity, h.Inventory)
	}
	if c.ConnectivityGroups != "" && slices.Equal(now, c.Reached) {
		return
	}
	c.Reached = now
	findCollisions(c)
	updateGroups(c)
}

func updateGroups(c *model.Cluster) {
	g := model.Majority{Networks: map[string][]string{}, L3: map[string][]string{}}
	for _, n := range HostNetworks(c) {
		g.Networks[n.Cidr] = l2Group(c, n.Cidr)
	}
	for _, h := range c.Hosts {
		if reached := reachedAddresses(c, h); len(reached) > 0 {
			g.L3[h.ID] = reached
		}
	}
	g.Networks["IPv4"] = l3Group(c, netip.Addr.Is4)
	g.Networks["IPv6"] = l3Group(c, netip.Addr.Is6)
	g.Text = model.InString(struct {
		Groups map[string][]string `json:"majority_groups"`
		L3     map[string][]string `json:"l3_connected_addresses"`
	}{g.Networks, g.L3})
	c.Groups = g
	c.ConnectivityGroups = g.Text
}

// l2Group is the largest set of hosts in the network that see each other, greedily; over IPv6 by ping too.
func l2Group(c *model.Cluster, cidr string) []string {
	network, err := netip.ParsePrefix(cidr)
	if err != nil {
		return []string{}
	}
	within := func(text string) bool {
		addr, err := netip.ParseAddr(text)
		return err == nil && network.Contains(addr)
	}
	return mutualGroup(c, func(a, b *model.Host) bool {
		peer := a.Peers[b.ID]
		return slices.ContainsFunc(peer.L2Connectivity, func(l *models.L2Connectivity) bool {
			return l.Successful &&
				within(l.RemoteIPAddress)
		}) ||
			network.Addr().Is6() && slices.ContainsFunc(
				peer.L3Connectivity, func(l *models.L3Connectivity) bool { return l.Successful && within(l.RemoteIPAddress) },
			)
	})
}

// l3Group is the same over pings of one family: all addresses of a seen host answer.
func l3Group(c *model.Cluster, family func(netip.Addr) bool) []string {
	return mutualGroup(c, func(a, b *model.Host) bool {
		if b.Inv == nil {
			return false
		}
		some := false
		for _, own := range b.Inv.Addresses {
			addr := own.Prefix.Addr()
			if !family(addr) {
				continue
			}
			some = true
			if !slices.ContainsFunc(a.Peers[b.ID].L3Connectivity, func(l *models.L3Connectivity) bool {
				return l.Successful &&
					l.RemoteIPAddress == addr.String()
			}) {
				return false
			}
		}
		return some
	})
}

func mutualGroup(c *model.Cluster, sees func(a, b *model.Host) bool) []string {
	hosts := slices.Clone(c.Hosts)
	least := leastGroup(c)
	if len(hosts) < least {
		return []string{}
	}
	degree := make(map[*model.Host]int, len(hosts))
	linked := make(map[[2]*model.Host]bool, len(hosts)*len(hosts)/2)
	for i, a := range hosts {
		for _, b := range hosts[i+1:] {
			if sees(a, b) && sees(b, a) {
				linked[[2]*model.Host{a, b}], linked[[2]*model.Host{b, a}] = true, true
				degree[a]++
				degree[b]++
			}
		}
	}
	slices.SortStableFunc(hosts, func(a, b *model.Host) int { return degree[b] - degree[a] })
	var members []*model.Host
	for _, h := range hosts {
		if !slices.ContainsFunc(members, func(m *model.Host) bool { return !linked[[2]*model.Host{h, m}] }) {
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

// leastGroup is three hosts, or two where two machines with fencing are the control plane.
func leastGroup(c *model.Cluster) int {
	fenced := 0
	for _, h := range c.Hosts {
		switch role := h.EffectiveRole(); {
		case role == model.RoleArbiter, role == model.RoleMaster && h.FencingCredentials == "":
			return 3
		case role == model.RoleMaster:
			fenced++
		}
	}
	if c.ControlPlaneCount == 2 && fenced == 2 {
		return 2
	}
	return 3
}

func reachedAddresses(c *model.Cluster, h *model.Host) []string {
	votes := map[string]int{}
	for _, other := range c.Hosts {
		answered := map[string]bool{}
		for _, l := range other.Peers[h.ID].L3Connectivity {
			if l.Successful && other != h {
				answered[l.RemoteIPAddress] = true
			}
		}
		for address := range answered {
			votes[address]++
		}
	}
	var reached []string
	for address, n := range votes {
		if n == len(c.Hosts)-1 {
			reached = append(reached, address)
		}
	}
	slices.Sort(reached)
	return reached
}

// HostNetworks lists the networks that the cluster's hosts sit in, each with its hosts.
func HostNetworks(c *model.Cluster) []*models.HostNetwork {
	list := []*models.HostNetwork{}
	known := map[netip.Prefix]*models.HostNetwork{}
	for _, h := range c.Hosts {
		if h.Inv == nil {
			continue
		}
		for _, a := range h.Inv.Addresses {
			network := a.Prefix.Masked()
			n := known[network]
			if n == nil {
				n = &models.HostNetwork{Cidr: network.String()}
				known[network], list = n, append(list, n)
			}
			if id := strfmt.UUID(h.ID); !slices.Contains(n.HostIds, id) {
				n.HostIds = append(n.HostIds, id)
			}
		}
	}
	slices.SortFunc(list, func(a, b *models.HostNetwork) int { return strings.Compare(a.Cidr, b.Cidr) })
	return list
}

// findCollisions keeps addresses that two cards answered one host from: the last host's word counts.
func findCollisions(c *model.Cluster) {
	hosts := slices.Clone(c.Hosts)
	slices.SortFunc(hosts, func(a, b *model.Host) int { return strings.Compare(a.ID, b.ID) })
	c.Collisions = map[string][]string{}
	for _, h := range hosts {
		if h.Connectivity != "" {
			c.Collisions = collisionsOf(h)
		}
	}
	c.IPCollisions = model.InString(c.Collisions)
}

// collisionsOf are the addresses that answered one network card of this host from two others.
func collisionsOf(h *model.Host) map[string][]string {
	type place struct{ nic, address string }
	answered, found := map[place]string{}, map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(h.Peers)) {
		for _, l := range h.Peers[id].L2Connectivity {
			at := place{l.OutgoingNic, l.RemoteIPAddress}
			if before := answered[at]; before != "" && before != l.RemoteMac {
				found[l.RemoteIPAddress] = []string{min(before, l.RemoteMac), max(before, l.RemoteMac)}
			}
			answered[at] = l.RemoteMac
		}
	}
	return found
}
