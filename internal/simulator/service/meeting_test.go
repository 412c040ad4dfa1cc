package service

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// meeting is a cluster of hosts with an address of each family, of which some have
// reported what they see of the others.
func meeting(n int) *model.Cluster {
	c := &model.Cluster{PrintedCluster: model.PrintedCluster{ControlPlaneCount: 3}}
	for i := range n {
		id := string(rune('a' + i))
		h := &model.Host{PrintedHost: model.PrintedHost{ID: id}, Peers: map[string]model.RemoteHost{}, Inv: &model.Inventory{}}
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
			seen := model.RemoteHost{HostID: b.ID}
			for _, own := range b.Inv.Addresses {
				addr := own.Prefix.Addr()
				seen.L3 = append(seen.L3, model.L3Result{RemoteIP: addr.String(), Successful: answers(addr)})
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

// TestHostsThatWereNotLookedAt registers a host between two looks of the monitor: the
// others are told of it when the monitor has seen it.
func TestHostsThatWereNotLookedAt(t *testing.T) {
	b := newBench(t, nil)
	b.compact(2)
	b.pass(30 * time.Second)
	late := b.boot()
	late.poll()
	told := func() bool {
		text := b.must("GET", b.machines[0].path()+"/instructions", nil).text
		return strings.Contains(text, late.id)
	}
	if state := late.state(); state != model.HostDiscovering || told() {
		t.Errorf("the new host is %s, and the others are told of it: %v", state, told())
	}
	b.pass(10 * time.Second)
	if !told() {
		t.Error("the others are not told of a host that was looked at")
	}
}

// TestTimeServersOfHosts asks who is named to the agents: the cluster's servers, else
// those of its image.
func TestTimeServersOfHosts(t *testing.T) {
	image := &model.InfraEnv{PrintedInfraEnv: model.PrintedInfraEnv{AdditionalNtpSources: "a.example.com,b.example.com"}}
	for want, h := range map[string]*model.Host{
		"a.example.com,b.example.com": {InfraEnv: image},
		"c.example.com":               {InfraEnv: image, Cluster: &model.Cluster{PrintedCluster: model.PrintedCluster{AdditionalNtpSource: "c.example.com"}}},
	} {
		if got := timeServers(h); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	h := &model.Host{InfraEnv: image, Cluster: &model.Cluster{}}
	h.Cluster.Hosts = []*model.Host{h, {InfraEnv: image}}
	if got := timeServers(h); got != "a.example.com,b.example.com" {
		t.Errorf("a cluster that names none: %s", got)
	}
}

// TestUnjudgedIsNoFailure reads a state's info while a check could not be made.
func TestUnjudgedIsNoFailure(t *testing.T) {
	c := model.Checks{List: []model.Check{{ID: "one", Status: model.Failed, Message: "it fails"}, {ID: "two", Status: model.Errored, Message: "it cannot be judged"}}}
	if got := c.Failures(); !slices.Equal(got, []string{"it fails"}) {
		t.Errorf("%q", got)
	}
}

// TestMemoryIsMeasuredWithPatience takes a machine with a little less memory than asked
// for, and tells how much a smaller one has.
func TestMemoryIsMeasuredWithPatience(t *testing.T) {
	judge := func(mib int64) (string, string) {
		e := &hostCheck{c: &model.Cluster{}, h: &model.Host{PrintedHost: model.PrintedHost{Role: model.RoleMaster}, Inv: &model.Inventory{Memory: &model.MemoryInfo{PhysicalBytes: mib << 20}}}}
		e.need.RAMMiB = 16 << 10
		return e.memoryForRole()
	}
	if status, message := judge(16<<10 - 100); status != model.Passed {
		t.Errorf("%s: %s", status, message)
	}
	const want = "Require at least 16.00 GiB RAM for role master, found only 8.00 GiB"
	if status, message := judge(8 << 10); status != model.Failed || message != want {
		t.Errorf("%s: %s", status, message)
	}
}

// TestNetworksWithoutAPlatform reads the install-config of a cluster that names no
// machine network: those of its bootstrap host are in it.
func TestNetworksWithoutAPlatform(t *testing.T) {
	c := meeting(2)
	c.Platform = nil
	c.UserManagedNetworking = new(true)
	c.Hosts[1].Bootstrap = true
	var cidrs []string
	for _, n := range bootstrapNetworks(c) {
		cidrs = append(cidrs, n.Cidr)
	}
	if !slices.Equal(cidrs, []string{"10.0.0.0/24", "2001:db8::/64"}) {
		t.Errorf("%v", cidrs)
	}
	c.Hosts[1].Bootstrap = false
	if list := bootstrapNetworks(c); list != nil {
		t.Errorf("no host is the bootstrap, and its networks are %v", list)
	}
}

// TestPacketSizesOfALonelyHost are not known before it has reported on others, even where
// there are none yet.
func TestPacketSizesOfALonelyHost(t *testing.T) {
	b := newBench(t, nil)
	b.compact(1)
	b.pass(10 * time.Second)
	if got := outcomes(t, b.machines[0].get())["mtu-valid"]; got != [2]string{model.Pending, "Missing MTU report information"} {
		t.Error(got)
	}
}

// TestInstallerReachesItsClusterWithoutProxy whatever else the user has named, once each.
func TestInstallerReachesItsClusterWithoutProxy(t *testing.T) {
	for asked, want := range map[string]string{
		"":                        "127.0.0.1,localhost,.svc,.cluster.local,api-int.c.example.com",
		"lab.example.com,.svc":    "lab.example.com,.svc,127.0.0.1,localhost,.cluster.local,api-int.c.example.com",
		" * ":                     "*",
		"10.0.0.0/24,10.0.0.0/24": "10.0.0.0/24,127.0.0.1,localhost,.svc,.cluster.local,api-int.c.example.com",
	} {
		c := &model.Cluster{PrintedCluster: model.PrintedCluster{Name: "c", BaseDNSDomain: "example.com", NoProxy: asked}}
		if got := directlyReachedByInstaller(c); got != want {
			t.Errorf("%q: %s, want %s", asked, got, want)
		}
	}
}
