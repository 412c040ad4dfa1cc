package validate

import (
	"net/netip"
	"testing"

	"github.com/go-openapi/strfmt"
	"github.com/google/go-cmp/cmp"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// meeting is a cluster of hosts with an address of each family, of which some have
// reported what they see of the others.
func meeting(n int) *model.Cluster {
	c := &model.Cluster{PrintedCluster: model.PrintedCluster{ControlPlaneCount: 3}}
	for i := range n {
		id := string(rune('a' + i))
		h := &model.Host{PrintedHost: model.PrintedHost{ID: id}, Peers: map[string]models.ConnectivityRemoteHost{}, Inv: &model.Inventory{}}
		for _, text := range []string{"10.0.0.1" + id2(i) + "/24", "2001:db8::1" + id2(i) + "/64"} {
			h.Inv.Addresses = append(h.Inv.Addresses, model.Address{Prefix: netip.MustParsePrefix(text)})
		}
		c.Hosts = append(c.Hosts, h)
	}
	return c
}

func id2(i int) string { return string(rune('0' + i)) }

// pings has the first n hosts reach each other at the addresses that answer.
func pings(c *model.Cluster, n int, answers func(netip.Addr) bool) {
	for _, a := range c.Hosts[:n] {
		for _, b := range c.Hosts[:n] {
			if a == b {
				continue
			}
			seen := models.ConnectivityRemoteHost{HostID: strfmt.UUID(b.ID)}
			for _, own := range b.Inv.Addresses {
				addr := own.Prefix.Addr()
				seen.L3Connectivity = append(seen.L3Connectivity, &models.L3Connectivity{RemoteIPAddress: addr.String(), Successful: answers(addr)})
			}
			a.Peers[b.ID] = seen
		}
	}
}

// TestMajorityGroups holds what makes a group: three hosts that see each other, however
// many there are besides; every address of a family; and in an IPv6 network a ping.
func TestMajorityGroups(t *testing.T) {
	all := func(netip.Addr) bool { return true }
	for name, tc := range map[string]struct {
		hosts, meet int
		answers     func(netip.Addr) bool
		v4, v6, l2  int // sizes of the groups; l2 is that of the IPv6 network
		reached     int // hosts whose addresses all others reach
	}{
		"all of three":                {3, 3, all, 3, 3, 3, 3},
		"three of seven":              {7, 3, all, 3, 3, 3, 0},
		"two of three are no group":   {3, 2, all, 0, 0, 0, 0},
		"one family answers":          {3, 3, netip.Addr.Is4, 3, 0, 0, 3},
		"one address does not answer": {4, 4, func(a netip.Addr) bool { return a.String() != "10.0.0.13" }, 3, 4, 4, 4},
	} {
		t.Run(name, func(t *testing.T) {
			c := meeting(tc.hosts)
			pings(c, tc.meet, tc.answers)
			updateGroups(c)
			groups := c.Groups.Networks
			got := [4]int{len(groups["IPv4"]), len(groups["IPv6"]), len(groups["2001:db8::/64"]), len(c.Groups.L3)}
			if want := [4]int{tc.v4, tc.v6, tc.l2, tc.reached}; got != want {
				t.Errorf("groups of %v hosts, want %v: %s", got, want, c.ConnectivityGroups)
			}
			if len(groups["10.0.0.0/24"]) != 0 {
				t.Error("a ping alone makes a group in an IPv4 network")
			}
		})
	}
}

// TestCollisions are those that a single host sees behind one of its network cards.
func TestCollisions(t *testing.T) {
	sees := func(id string, answers ...*models.L2Connectivity) *model.Host {
		h := &model.Host{Peers: map[string]models.ConnectivityRemoteHost{}}
		h.ID, h.Connectivity = id, "reported"
		for i, a := range answers {
			h.Peers[string(rune('x'+i))] = models.ConnectivityRemoteHost{L2Connectivity: []*models.L2Connectivity{a}}
		}
		return h
	}
	answer := func(nic, mac string) *models.L2Connectivity {
		return &models.L2Connectivity{OutgoingNic: nic, RemoteIPAddress: "10.0.0.1", RemoteMac: mac}
	}
	collision := map[string][]string{"10.0.0.1": {"m1", "m2"}}
	for name, tc := range map[string]struct {
		hosts []*model.Host
		want  map[string][]string
	}{
		"two cards answer":            {[]*model.Host{sees("a", answer("eth0", "m2"), answer("eth0", "m1"))}, collision},
		"one answers twice":           {[]*model.Host{sees("a", answer("eth0", "m1"), answer("eth0", "m1"))}, map[string][]string{}},
		"in two networks":             {[]*model.Host{sees("a", answer("eth0", "m1"), answer("eth1", "m2"))}, map[string][]string{}},
		"two hosts see one each":      {[]*model.Host{sees("a", answer("eth0", "m1")), sees("b", answer("eth0", "m2"))}, map[string][]string{}},
		"only the first host sees":    {[]*model.Host{sees("a", answer("eth0", "m1"), answer("eth0", "m2")), sees("b", answer("eth0", "m1"))}, map[string][]string{}},
		"the last one has not spoken": {[]*model.Host{sees("a", answer("eth0", "m1"), answer("eth0", "m2")), {}}, collision},
	} {
		c := &model.Cluster{Hosts: tc.hosts}
		findCollisions(c)
		if diff := cmp.Diff(tc.want, c.Collisions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
