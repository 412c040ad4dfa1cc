package validate

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/openshift/assisted-service/models"
)

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

func (e *hostCheck) connected() (string, string) {
	if e.h.Connected(e.now) {
		return model.Passed, "Host is connected"
	}
	return model.Failed, "Host is disconnected"
}

func (e *hostCheck) mediaConnected() (string, string) {
	if e.h.MediaStatus == "disconnected" {
		return model.Failed, model.InfoMediaDisconnected
	}
	return model.Passed, "Media device is connected"
}

func (e *hostCheck) machineCIDRDefined() (string, string) {
	switch {
	case e.c.IsDay2():
		return model.Passed, "No Machine Network CIDR needed: Day2 cluster"
	case e.c.UserManaged():
		return model.Passed, "No Machine Network CIDR needed: User Managed Networking"
	case len(e.c.Before.Machine) > 0:
		return model.Passed, "Machine Network CIDR is defined"
	case e.c.VipDHCPAllocation != nil && *e.c.VipDHCPAllocation:
		return model.Failed, "Machine Network CIDR is undefined"
	}
	return model.Failed, "Machine Network CIDR is undefined; the Machine Network CIDR can be defined by setting either the API or Ingress virtual IPs"
}

func (e *hostCheck) belongsToMachineCIDR() (string, string) {
	switch {
	case e.c.IsDay2():
		return model.Passed, "No machine network CIDR validation needed: Day2 cluster"
	case e.c.UserManaged() && !e.c.IsSingle():
		return model.Passed, "No machine network CIDR validation needed: User Managed Networking"
	case e.h.Inv == nil || len(e.c.Before.Machine) == 0:
		return model.Pending, "Missing inventory or machine network CIDR"
	}
	within := 0
	for _, n := range e.c.Before.Machine {
		if network, err := netip.ParsePrefix(n.CIDR); err == nil {
			if _, in := e.h.Inv.In(network); in {
				within++
			}
		}
	}
	switch {
	case e.c.UserBalanced() && within == 0:
		return model.Failed, "Host does not belong to any machine network CIDR. Verify that the host belongs to at least one CIDR listed under machine networks"
	case e.c.UserBalanced():
		return model.Passed, "Host belongs to at least one machine network CIDR"
	case within < len(e.c.Before.Machine):
		return model.Failed, "Host does not belong to machine network CIDRs. Verify that the host belongs to every CIDR listed under machine networks"
	}
	return model.Passed, "Host belongs to all machine network CIDRs"
}

func (e *hostCheck) ignitionDownloadable() (string, string) {
	switch {
	case e.h.Kind != model.KindAddedHost:
		return model.Hidden, ""
	case e.h.APICheck == nil:
		return model.Pending, "Ignition is not yet available, pending API connectivity"
	case e.h.APICheck.IsSuccess:
		return model.Passed, "Ignition is downloadable"
	}
	text := "This host has failed to download the ignition file from the cluster, please ensure the host can reach the cluster"
	if e.h.APICheck.URL != "" {
		text = fmt.Sprintf("This host has failed to download the ignition file from %s with the following error: %s. Please ensure the host can reach this URL",
			e.h.APICheck.URL, e.h.APICheck.DownloadError)
	}
	return model.Failed, text
}

func (e *hostCheck) belongsToMajority() (string, string) {
	groups := e.c.Before.Groups
	switch {
	case e.h.Kind == model.KindAddedHost:
		return model.Passed, "Day2 host is not required to be connected to other hosts in the cluster"
	case e.c.IsSingle():
		return model.Passed, "Host has connectivity to the majority of hosts in the cluster"
	case groups.Text == "":
		return model.Pending, "Machine Network CIDR or Connectivity Majority Groups missing"
	}
	in := false
	switch {
	case e.c.UserManaged() || e.c.UserBalanced():
		in = e.isPinged(groups.L3[e.h.ID])
	case len(e.c.Before.Machine) == 0:
		return model.Pending, "Not enough information to calculate host majority groups"
	default:
		in = !slices.ContainsFunc(e.c.Before.Machine, func(n model.MachineNetwork) bool {
			return !slices.Contains(groups.Networks[n.CIDR], e.h.ID)
		})
	}
	switch {
	case in:
		return model.Passed, "Host has connectivity to the majority of hosts in the cluster"
	case len(e.c.Hosts) < leastGroup(e.c):
		return model.Pending, "Not enough hosts in cluster to calculate connectivity groups"
	}
	return model.Failed, "No connectivity to the majority of hosts in the cluster"
}

// isPinged tells whether all others reach the host in each family of the cluster's networks.
func (e *hostCheck) isPinged(reached []string) bool {
	machine, clusterNets, services := e.c.CIDRs()
	wanted := families(slices.Concat(machine, clusterNets, services))
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(four bool) bool {
		return !slices.ContainsFunc(reached, func(address string) bool { return strings.Contains(address, ".") == four })
	})
}

func (e *hostCheck) mtu() (string, string) {
	switch {
	case e.h.Inv == nil:
		return model.Pending, "Missing host inventory"
	case e.h.Kind == model.KindAddedHost:
		return model.Passed, "Day2 host is not required to be connected to other hosts in the cluster"
	case e.c.IsSingle():
		return model.Hidden, ""
	case e.h.Connectivity == "":
		return model.Pending, "Missing MTU report information"
	}
	for _, remote := range e.h.Peers {
		for _, m := range remote.MtuReport {
			if !m.MtuSuccessful && (e.c.UserManaged() || InAny(m.RemoteIPAddress, e.c.Before.Machine)) {
				return model.Failed, fmt.Sprintf("MTU is broken. Interface: %s, remote IP address: %s", m.OutgoingNic, m.RemoteIPAddress)
			}
		}
	}
	return model.Passed, "MTU is ok"
}

func (e *hostCheck) platformNetwork() (string, string) {
	if e.h.Inv == nil || e.h.Inv.SystemVendor == nil {
		return model.Pending, "Missing inventory"
	}
	return model.Passed, fmt.Sprintf("Platform %s is allowed", e.h.Inv.SystemVendor.ProductName)
}

func (e *hostCheck) ntpSynced() (string, string) {
	for _, source := range e.h.NTP {
		if source.SourceState == models.SourceStateSynced {
			return model.Passed, "Host NTP is synced"
		}
	}
	if len(e.h.NTP) == 0 && model.HostUnbound(e.h.State) {
		return model.Hidden, ""
	}
	return model.Failed, "Host couldn't synchronize with any NTP server"
}

func (e *hostCheck) imagesAvailable() (string, string) {
	var broken []string
	for name, r := range e.h.ImageResults {
		if r.Result != "success" {
			broken = append(broken, name)
		}
	}
	if len(broken) > 0 {
		slices.Sort(broken)
		return model.Failed, fmt.Sprintf("Failed to fetch container images needed for installation from %s. This may be due to a network hiccup. Retry to install again. If this problem persists, check your network settings to make sure you’re not blocked.",
			strings.Join(broken, ","))
	}
	return model.Passed, "All required container images were either pulled successfully or no attempt was made to pull them"
}

// alone tells that there is nobody to measure the distance to.
func (e *hostCheck) alone() bool {
	return len(e.c.Hosts) == 1 || e.h.EffectiveRole() == model.RoleAuto || e.h.Kind == model.KindAddedHost
}

func (e *hostCheck) latency() (string, string) {
	const fine = "Network latency requirement has been satisfied."
	switch {
	case e.h.Inv == nil:
		return model.Pending, "The inventory is not available yet."
	case e.alone() || e.need.LatencyMs == nil:
		return model.Passed, fine
	case e.h.Connectivity == "":
		return model.Pending, "Missing network latency information."
	}
	slow := e.beyond(func(l *models.L3Connectivity) float64 { return l.AverageRTTMs }, *e.need.LatencyMs, " ms")
	if slow == "" {
		return model.Passed, fine
	}
	return model.Failed, fmt.Sprintf(`A total network latency above the tolerated threshold of %.2f ms was encountered when performing network latency tests between host %s and %s\n`,
		*e.need.LatencyMs, e.h.ID, slow)
}

func (e *hostCheck) packetLoss() (string, string) {
	const fine = "Packet loss requirement has been satisfied."
	switch {
	case e.h.Inv == nil:
		return model.Pending, "The inventory is not available yet."
	case e.alone() || e.need.PacketLoss == nil:
		return model.Passed, fine
	case e.h.Connectivity == "":
		return model.Pending, "Missing packet loss information."
	}
	lossy := e.beyond(func(l *models.L3Connectivity) float64 { return l.PacketLossPercentage }, *e.need.PacketLoss, "%")
	if lossy == "" {
		return model.Passed, fine
	}
	return model.Failed, fmt.Sprintf(`A total packet loss above the tolerated threshold of %.2f%% was encountered when performing connectivity validation between host %s and %s\n`,
		*e.need.PacketLoss, e.h.ID, lossy)
}

// beyond names the hosts of the same role that a measurement is too high for.
func (e *hostCheck) beyond(measure func(*models.L3Connectivity) float64, limit float64, unit string) string {
	var names []string
	for _, other := range e.c.Hosts {
		remote, known := e.h.Peers[other.ID]
		if !known || other == e.h || other.EffectiveRole() != e.h.EffectiveRole() || len(names) > 2 {
			continue
		}
		for _, l := range remote.L3Connectivity {
			if v := measure(l); v > limit {
				names = append(names, fmt.Sprintf("%s (%.2f%s)", other.Name(), v, unit))
				break
			}
		}
	}
	return strings.Join(names, ", ")
}

func (e *hostCheck) defaultRoute() (string, string) {
	if e.h.Inv == nil {
		return model.Pending, "Missing default routing information."
	}
	if e.h.Inv.DefaultRoute() != nil {
		return model.Passed, "Host has been configured with at least one default route."
	}
	return model.Failed, "Host has not yet been configured with a default route."
}

func (e *hostCheck) overlapping() (string, string) {
	if e.h.Inv == nil {
		return model.Pending, "Missing inventory"
	}
	list := e.h.Inv.Addresses
	for i, a := range list {
		for _, b := range list[i+1:] {
			if a.NIC == b.NIC || a.Prefix.Addr().IsLinkLocalUnicast() || !a.Prefix.Overlaps(b.Prefix) {
				continue
			}
			x, y := e.h.Inv.Interfaces[a.NIC].Name, e.h.Inv.Interfaces[b.NIC].Name
			if a.Prefix.Masked() == b.Prefix.Masked() {
				return model.Failed, fmt.Sprintf("Address networks are overlapping: Address network %s appears on multiple interfaces [%s, %s]", a.Prefix.Masked(), x, y)
			}
			return model.Failed, fmt.Sprintf("Address networks are overlapping: Address networks %s in interface %s and %s in interface %s overlap", a.Prefix.Masked(), x, b.Prefix.Masked(), y)
		}
	}
	return model.Passed, "Host subnets are not overlapping"
}

func (e *hostCheck) ipCollisions() (string, string) {
	switch {
	case e.c == nil:
		return model.Passed, "Cluster has not yet been defined, skipping validation."
	case e.h.Inv == nil:
		return model.Passed, "Host inventory has not yet been defined, skipping validation."
	case e.c.IsDay2():
		return model.Passed, "Skipping validation for day 2 host " + e.h.ID
	case !e.c.Before.Searched:
		return model.Passed, "IP collisions have not yet been evaluated"
	}
	var lines strings.Builder
	for _, ip := range slices.Sorted(maps.Keys(e.c.Before.Collisions)) {
		addr, err := netip.ParseAddr(ip)
		if err != nil || !slices.ContainsFunc(e.h.Inv.Addresses, func(a model.Address) bool { return a.Prefix.Addr() == addr }) {
			continue
		}
		fmt.Fprintf(&lines, "Collisions detected for host ID %s, IP address: %s Mac addresses: %s\n", e.h.ID, ip, strings.Join(e.c.Before.Collisions[ip], ","))
	}
	if lines.Len() > 0 {
		return model.Failed, lines.String()
	}
	return model.Passed, "No IP collisions were detected by host " + e.h.ID
}

// iscsi judges only hosts that boot from iSCSI; until the machine network is known it cannot tell.
func (e *hostCheck) iscsi() (string, string) {
	if e.c.IsDay2() || e.c.UserManaged() && !e.c.IsSingle() {
		return model.Hidden, ""
	}
	if e.h.Inv == nil || len(e.c.Before.Machine) == 0 {
		return model.Pending, "Missing inventory or machine network CIDR"
	}
	return model.Hidden, ""
}

func (e *hostCheck) domains(add adder) {
	base := e.c.Name + "." + e.c.BaseDNSDomain
	for _, d := range []struct{ id, lookup, shown, target string }{
		{"api-domain-name-resolved-correctly", "api." + base, "api." + base, "API load balancer"},
		{"api-int-domain-name-resolved-correctly", "api-int." + base, "api-int." + base, "internal API load balancer"},
		{"apps-domain-name-resolved-correctly", "console-openshift-console.apps." + base, "*.apps." + base, "application ingress"},
	} {
		status, message := e.resolves(d.lookup, d.shown, d.target)
		add(d.id)(status, message)
	}
}

func (e *hostCheck) resolves(lookup, shown, target string) (string, string) {
	fine := fmt.Sprintf("Domain name resolution for the %s domain was successful or not required", shown)
	if e.c.Imported {
		if !slices.ContainsFunc(e.c.Hosts, func(h *model.Host) bool { return h.APICheck != nil && h.APICheck.IsSuccess }) {
			return model.Pending, fmt.Sprintf("DNS validation for the %s domain cannot be completed at the moment. This could be due to other validations", shown)
		}
	} else if !e.c.UserManaged() && !e.c.UserBalanced() {
		return model.Passed, fine
	}
	if e.c.IsSingle() && !e.c.IsDay2() {
		return model.Passed, fine // the node brings its own name server
	}
	if e.c.BaseDNSDomain == "" {
		return model.Errored, fmt.Sprintf("DNS validation for the %s domain cannot be completed because the cluster does not have base_dns_domain set. Please update the cluster with the correct base_dns_domain", target)
	}
	if e.h.Resolutions == nil {
		return model.Errored, "Error while evaluating DNS resolution on this host"
	}
	if all, _ := e.resolved(lookup); len(all) == 0 {
		return model.Failed, fmt.Sprintf("Couldn't resolve domain name %s on the host. To continue installation, create the necessary DNS entries to resolve this domain name to your cluster's %s IP address", shown, target)
	}
	return model.Passed, fine
}

// resolved are the addresses that a host found for a name; false if it was not asked.
func (e *hostCheck) resolved(name string) ([]string, bool) {
	for _, r := range e.h.Resolutions {
		if model.Value(r.DomainName) != name {
			continue
		}
		var all []string
		for _, a := range r.IPV4Addresses {
			all = append(all, a.String())
		}
		for _, a := range r.IPV6Addresses {
			all = append(all, a.String())
		}
		return all, true
	}
	return nil, false
}

func (e *hostCheck) wildcard() (string, string) {
	if e.c.IsDay2() {
		return model.Passed, "DNS wildcard check is not required for day2"
	}
	if e.h.Resolutions == nil {
		return model.Pending, "DNS wildcard check cannot be performed yet because the host has not yet performed DNS resolution"
	}
	base := "validateNoWildcardDNS." + e.c.Name + "." + e.c.BaseDNSDomain
	for _, name := range []string{base, base + "."} {
		all, found := e.resolved(name)
		if !found {
			return model.Errored, "Internal error - DNS wildcard check cannot be performed because the DNS validation result doesn't contain the wildcard domain"
		}
		if len(all) > 0 {
			return model.Failed, fmt.Sprintf("DNS wildcard configuration was detected for domain *.%s.%s - the installation will not be able to complete while this record exists. Please remove it to proceed. The domain resolves to addresses %s",
				e.c.Name, e.c.BaseDNSDomain, strings.Join(all, ", "))
		}
	}
	return model.Passed, "DNS wildcard check was successful"
}
