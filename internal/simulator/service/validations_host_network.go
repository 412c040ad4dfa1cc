package service

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// silence is how long a host may be silent before it counts as disconnected.
const silence = 3 * time.Minute

func (e *hostCheck) network() {
	add := e.in(catNetwork)
	if e.live {
		add("connected")(e.connected())
		add("media-connected")(e.mediaConnected())
	}
	if e.c != nil {
		add("machine-cidr-defined")(e.machineCIDRDefined())
		add("belongs-to-machine-cidr")(e.belongsToMachineCIDR())
		add("ignition-downloadable")(e.ignitionDownloadable())
		add("belongs-to-majority-group")(e.belongsToMajority())
		add("mtu-valid")(e.mtu())
	}
	add("valid-platform-network-settings")(e.platformNetwork())
	if e.live {
		add("ntp-synced")(e.ntpSynced())
		add("time-synced-between-host-and-service")(e.timeSynced())
	}
	add("container-images-available")(e.imagesAvailable())
	if e.c != nil {
		add("sufficient-network-latency-requirement-for-role")(e.latency())
		add("sufficient-packet-loss-requirement-for-role")(e.packetLoss())
	}
	add("has-default-route")(e.defaultRoute())
	if e.c != nil {
		e.domains(add)
		add("dns-wildcard-not-configured")(e.wildcard())
		add("non-overlapping-subnets")(e.overlapping())
	}
	add("no-ip-collisions-in-network")(e.ipCollisions())
	if e.c != nil {
		add("no-iscsi-nic-belongs-to-machine-cidr")(e.iscsi())
	}
}

func (h *host) connected(now time.Time) bool {
	return now.Sub(time.Time(h.CheckedInAt)) <= silence
}

func (e *hostCheck) connected() (string, string) {
	if e.h.connected(e.now) {
		return passed, "Host is connected"
	}
	return failed, "Host is disconnected"
}

func (e *hostCheck) mediaConnected() (string, string) {
	if e.h.MediaStatus == "disconnected" {
		return failed, infoMediaDisconnected
	}
	return passed, "Media device is connected"
}

func (e *hostCheck) machineCIDRDefined() (string, string) {
	switch {
	case e.c.isDay2():
		return passed, "No Machine Network CIDR needed: Day2 cluster"
	case e.c.userManaged():
		return passed, "No Machine Network CIDR needed: User Managed Networking"
	case len(e.c.before.machine) > 0:
		return passed, "Machine Network CIDR is defined"
	case e.c.VipDHCPAllocation != nil && *e.c.VipDHCPAllocation:
		return failed, "Machine Network CIDR is undefined"
	}
	return failed, "Machine Network CIDR is undefined; the Machine Network CIDR can be defined by setting either the API or Ingress virtual IPs"
}

func (e *hostCheck) belongsToMachineCIDR() (string, string) {
	switch {
	case e.c.isDay2():
		return passed, "No machine network CIDR validation needed: Day2 cluster"
	case e.c.userManaged() && !e.c.isSingle():
		return passed, "No machine network CIDR validation needed: User Managed Networking"
	case e.h.inv == nil || len(e.c.before.machine) == 0:
		return pending, "Missing inventory or machine network CIDR"
	}
	within := 0
	for _, n := range e.c.before.machine {
		if network, err := netip.ParsePrefix(n.CIDR); err == nil {
			if _, in := e.h.inv.in(network); in {
				within++
			}
		}
	}
	switch {
	case e.c.userBalanced() && within == 0:
		return failed, "Host does not belong to any machine network CIDR. Verify that the host belongs to at least one CIDR listed under machine networks"
	case e.c.userBalanced():
		return passed, "Host belongs to at least one machine network CIDR"
	case within < len(e.c.before.machine):
		return failed, "Host does not belong to machine network CIDRs. Verify that the host belongs to every CIDR listed under machine networks"
	}
	return passed, "Host belongs to all machine network CIDRs"
}

func (e *hostCheck) ignitionDownloadable() (string, string) {
	switch {
	case e.h.Kind != kindAddedHost:
		return hidden, ""
	case e.h.apiCheck == nil:
		return pending, "Ignition is not yet available, pending API connectivity"
	case e.h.apiCheck.IsSuccess:
		return passed, "Ignition is downloadable"
	}
	text := "This host has failed to download the ignition file from the cluster, please ensure the host can reach the cluster"
	if e.h.apiCheck.URL != "" {
		text = fmt.Sprintf("This host has failed to download the ignition file from %s with the following error: %s. Please ensure the host can reach this URL",
			e.h.apiCheck.URL, e.h.apiCheck.DownloadError)
	}
	return failed, text
}

func (e *hostCheck) belongsToMajority() (string, string) {
	groups := e.c.before.groups
	switch {
	case e.h.Kind == kindAddedHost:
		return passed, "Day2 host is not required to be connected to other hosts in the cluster"
	case e.c.isSingle():
		return passed, "Host has connectivity to the majority of hosts in the cluster"
	case groups.text == "":
		return pending, "Machine Network CIDR or Connectivity Majority Groups missing"
	}
	in := false
	switch {
	case e.c.userManaged() || e.c.userBalanced():
		in = e.isPinged(groups.l3[e.h.ID])
	case len(e.c.before.machine) == 0:
		return pending, "Not enough information to calculate host majority groups"
	default:
		in = !slices.ContainsFunc(e.c.before.machine, func(n machineNetwork) bool {
			return !slices.Contains(groups.networks[n.CIDR], e.h.ID)
		})
	}
	switch {
	case in:
		return passed, "Host has connectivity to the majority of hosts in the cluster"
	case len(e.c.hosts) < e.c.leastGroup():
		return pending, "Not enough hosts in cluster to calculate connectivity groups"
	}
	return failed, "No connectivity to the majority of hosts in the cluster"
}

// isPinged tells whether all others reach the host in each family of the cluster's networks.
func (e *hostCheck) isPinged(reached []string) bool {
	machine, clusterNets, services := e.c.cidrs()
	wanted := families(slices.Concat(machine, clusterNets, services))
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(four bool) bool {
		return !slices.ContainsFunc(reached, func(address string) bool { return strings.Contains(address, ".") == four })
	})
}

func (e *hostCheck) mtu() (string, string) {
	switch {
	case e.h.inv == nil:
		return pending, "Missing host inventory"
	case e.h.Kind == kindAddedHost:
		return passed, "Day2 host is not required to be connected to other hosts in the cluster"
	case e.c.isSingle():
		return hidden, ""
	case e.h.Connectivity == "":
		return pending, "Missing MTU report information"
	}
	for _, remote := range e.h.peers {
		for _, m := range remote.MTU {
			if !m.Successful && (e.c.userManaged() || inAny(m.RemoteIP, e.c.before.machine)) {
				return failed, fmt.Sprintf("MTU is broken. Interface: %s, remote IP address: %s", m.OutgoingNIC, m.RemoteIP)
			}
		}
	}
	return passed, "MTU is ok"
}

func (e *hostCheck) platformNetwork() (string, string) {
	if e.h.inv == nil || e.h.inv.SystemVendor == nil {
		return pending, "Missing inventory"
	}
	return passed, fmt.Sprintf("Platform %s is allowed", e.h.inv.SystemVendor.ProductName)
}

func (e *hostCheck) ntpSynced() (string, string) {
	for _, source := range e.h.ntp {
		if source.State == "synced" {
			return passed, "Host NTP is synced"
		}
	}
	if len(e.h.ntp) == 0 && hostUnbound(e.h.state) {
		return hidden, ""
	}
	return failed, "Host couldn't synchronize with any NTP server"
}

func (e *hostCheck) imagesAvailable() (string, string) {
	var broken []string
	for name, r := range e.h.imageResults {
		if r.Result != "success" {
			broken = append(broken, name)
		}
	}
	if len(broken) > 0 {
		slices.Sort(broken)
		return failed, fmt.Sprintf("Failed to fetch container images needed for installation from %s. This may be due to a network hiccup. Retry to install again. If this problem persists, check your network settings to make sure you’re not blocked.",
			strings.Join(broken, ","))
	}
	return passed, "All required container images were either pulled successfully or no attempt was made to pull them"
}

// alone tells that there is nobody to measure the distance to.
func (e *hostCheck) alone() bool {
	return len(e.c.hosts) == 1 || e.h.role() == roleAuto || e.h.Kind == kindAddedHost
}

func (e *hostCheck) latency() (string, string) {
	const fine = "Network latency requirement has been satisfied."
	switch {
	case e.h.inv == nil:
		return pending, "The inventory is not available yet."
	case e.alone() || e.need.LatencyMs == nil:
		return passed, fine
	case e.h.Connectivity == "":
		return pending, "Missing network latency information."
	}
	slow := e.beyond(func(l l3Result) float64 { return l.AverageRTT }, *e.need.LatencyMs, " ms")
	if slow == "" {
		return passed, fine
	}
	return failed, fmt.Sprintf(`A total network latency above the tolerated threshold of %.2f ms was encountered when performing network latency tests between host %s and %s\n`,
		*e.need.LatencyMs, e.h.ID, slow)
}

func (e *hostCheck) packetLoss() (string, string) {
	const fine = "Packet loss requirement has been satisfied."
	switch {
	case e.h.inv == nil:
		return pending, "The inventory is not available yet."
	case e.alone() || e.need.PacketLoss == nil:
		return passed, fine
	case e.h.Connectivity == "":
		return pending, "Missing packet loss information."
	}
	lossy := e.beyond(func(l l3Result) float64 { return l.PacketLoss }, *e.need.PacketLoss, "%")
	if lossy == "" {
		return passed, fine
	}
	return failed, fmt.Sprintf(`A total packet loss above the tolerated threshold of %.2f%% was encountered when performing connectivity validation between host %s and %s\n`,
		*e.need.PacketLoss, e.h.ID, lossy)
}

// beyond names the hosts of the same role that a measurement is too high for.
func (e *hostCheck) beyond(measure func(l3Result) float64, limit float64, unit string) string {
	var names []string
	for _, other := range e.c.hosts {
		remote, known := e.h.peers[other.ID]
		if !known || other == e.h || other.role() != e.h.role() || len(names) > 2 {
			continue
		}
		for _, l := range remote.L3 {
			if v := measure(l); v > limit {
				names = append(names, fmt.Sprintf("%s (%.2f%s)", other.name(), v, unit))
				break
			}
		}
	}
	return strings.Join(names, ", ")
}

func (e *hostCheck) defaultRoute() (string, string) {
	if e.h.inv == nil {
		return pending, "Missing default routing information."
	}
	if e.h.inv.defaultRoute() != nil {
		return passed, "Host has been configured with at least one default route."
	}
	return failed, "Host has not yet been configured with a default route."
}

func (inv *inventory) defaultRoute() *route {
	for i := range inv.Routes {
		r := &inv.Routes[i]
		to, err := netip.ParseAddr(r.Destination)
		if err != nil || !to.IsUnspecified() || r.Interface == "" {
			continue
		}
		if gw, err := netip.ParseAddr(r.Gateway); err == nil && !gw.IsUnspecified() {
			return r
		}
	}
	return nil
}

func (e *hostCheck) overlapping() (string, string) {
	if e.h.inv == nil {
		return pending, "Missing inventory"
	}
	list := e.h.inv.addresses
	for i, a := range list {
		for _, b := range list[i+1:] {
			if a.nic == b.nic || a.prefix.Addr().IsLinkLocalUnicast() || !a.prefix.Overlaps(b.prefix) {
				continue
			}
			x, y := e.h.inv.Interfaces[a.nic].Name, e.h.inv.Interfaces[b.nic].Name
			if a.prefix.Masked() == b.prefix.Masked() {
				return failed, fmt.Sprintf("Address networks are overlapping: Address network %s appears on multiple interfaces [%s, %s]", a.prefix.Masked(), x, y)
			}
			return failed, fmt.Sprintf("Address networks are overlapping: Address networks %s in interface %s and %s in interface %s overlap", a.prefix.Masked(), x, b.prefix.Masked(), y)
		}
	}
	return passed, "Host subnets are not overlapping"
}

func (e *hostCheck) ipCollisions() (string, string) {
	switch {
	case e.c == nil:
		return passed, "Cluster has not yet been defined, skipping validation."
	case e.h.inv == nil:
		return passed, "Host inventory has not yet been defined, skipping validation."
	case e.c.isDay2():
		return passed, "Skipping validation for day 2 host " + e.h.ID
	case !e.c.before.searched:
		return passed, "IP collisions have not yet been evaluated"
	}
	var lines strings.Builder
	for _, ip := range slices.Sorted(maps.Keys(e.c.before.collisions)) {
		addr, err := netip.ParseAddr(ip)
		if err != nil || !slices.ContainsFunc(e.h.inv.addresses, func(a netAddress) bool { return a.prefix.Addr() == addr }) {
			continue
		}
		fmt.Fprintf(&lines, "Collisions detected for host ID %s, IP address: %s Mac addresses: %s\n", e.h.ID, ip, strings.Join(e.c.before.collisions[ip], ","))
	}
	if lines.Len() > 0 {
		return failed, lines.String()
	}
	return passed, "No IP collisions were detected by host " + e.h.ID
}

// iscsi judges only hosts that boot from iSCSI; until the machine network is
// known it cannot tell.
func (e *hostCheck) iscsi() (string, string) {
	if e.c.isDay2() || e.c.userManaged() && !e.c.isSingle() {
		return hidden, ""
	}
	if e.h.inv == nil || len(e.c.before.machine) == 0 {
		return pending, "Missing inventory or machine network CIDR"
	}
	return hidden, ""
}
