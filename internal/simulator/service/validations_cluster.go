package service

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/installcfg"
)

// clusterCheck is the evaluation of one cluster.
type clusterCheck struct {
	report
	s *Service
	c *cluster
	// machine is the cluster's machine networks as the tick found them.
	machine []machineNetwork
	found   bool // some host has an inventory
}

func (s *Service) evaluateCluster(c *cluster) []check {
	e := &clusterCheck{s: s, c: c, machine: c.MachineNetworks}
	e.found = slices.ContainsFunc(c.hosts, func(h *host) bool { return h.inv != nil })
	e.list = make([]check, 0, 48)
	e.configuration()
	e.hostsData()
	e.network()
	e.operators()
	return e.list
}

func (e *clusterCheck) configuration() {
	e.in(catConfiguration)("platform-requirements-satisfied")(e.platform())
	if e.c.PullSecretSet {
		e.add(catConfiguration, "pull-secret-set", passed, "The pull secret is set.")
		return
	}
	e.add(catConfiguration, "pull-secret-set", failed, "The pull secret is not set.")
}

func (e *clusterCheck) hostsData() {
	ready := passed
	for _, h := range e.c.hosts {
		if !oneOf(h.state, hostKnown, hostPreparing, hostPrepared) {
			ready = failed
		}
	}
	if ready == passed {
		e.add(catHostsData, "all-hosts-are-ready-to-install", passed, "All hosts in the cluster are ready to install.")
	} else {
		e.add(catHostsData, "all-hosts-are-ready-to-install", failed, "The cluster has hosts that are not ready to install.")
	}
	status, message := e.masters()
	e.add(catHostsData, "sufficient-masters-count", status, message)
}

// masters compares the hosts' roles with what the control plane needs. Hosts
// without a role fill it up.
func (e *clusterCheck) masters() (string, string) {
	const exact = "The cluster has the exact amount of dedicated control plane nodes."
	masters, arbiters, workers := e.c.castRoles()
	want := int(e.c.ControlPlaneCount)
	if e.c.isSingle() {
		if masters == 1 && workers == 0 {
			return passed, exact
		}
		return failed, "Single-node clusters must have a single control plane node and no workers."
	}
	suffix := ""
	if want == 2 && arbiters == 0 {
		fenced := 0
		for _, h := range e.c.hosts {
			if h.FencingCredentials != "" {
				fenced++
			}
		}
		if fenced < 2 {
			suffix = " and at least 1 arbiter node or the control plane nodes must have fencing credentials"
		}
	}
	if masters != want || suffix != "" {
		return failed, fmt.Sprintf("The cluster must have exactly %d dedicated control plane nodes%s. Add or remove hosts, or change their roles configurations to meet the requirement.", want, suffix)
	}
	return passed, exact
}

// castRoles counts the hosts by role, where open ones fill up the control plane, then an
// arbiter where one is needed, if they are strong enough; the others are workers.
func (c *cluster) castRoles() (masters, arbiters, workers int) {
	masters, arbiters, workers, _ = c.countRoles()
	for _, h := range c.hosts {
		switch {
		case h.role() != roleAuto:
		case masters < int(c.ControlPlaneCount) && c.strongEnough(h, roleMaster):
			masters++
		case c.ControlPlaneCount == 2 && arbiters == 0 && c.strongEnough(h, roleArbiter):
			arbiters++
		default:
			workers++
		}
	}
	return masters, arbiters, workers
}

// countRoles counts the hosts by role; open ones have none yet.
func (c *cluster) countRoles() (masters, arbiters, workers, open int) {
	for _, h := range c.hosts {
		switch h.role() {
		case roleMaster, roleBootstrap:
			masters++
		case roleArbiter:
			arbiters++
		case roleWorker:
			workers++
		default:
			open++
		}
	}
	return masters, arbiters, workers, open
}

func (e *clusterCheck) network() {
	add := e.in(catNetwork)
	add("api-vips-defined")(e.vipsDefined("API", e.c.APIVips))
	add("api-vips-valid")(e.vipsValid("API", e.c.APIVips))
	add("cluster-cidr-defined")(definedOr(len(e.c.ClusterNetworks) > 0, "The Cluster Network CIDR is defined.", "The Cluster Network CIDR is undefined."))
	add("custom-manifests-requirements-satisfied")(e.manifests())
	add("dns-domain-defined")(definedOr(e.c.BaseDNSDomain != "", "The base domain is defined.", "The base domain is undefined and must be provided."))
	add("ingress-vips-defined")(e.vipsDefined("Ingress", e.c.IngressVips))
	add("ingress-vips-valid")(e.vipsValid("Ingress", e.c.IngressVips))
	add("machine-cidr-defined")(e.machineDefined())
	add("machine-cidr-equals-to-calculated-cidr")(e.machineCalculated())
	add("network-prefix-valid")(e.prefixValid())
	add("network-type-valid")(passed, "The cluster has a valid network type")
	add("networks-same-address-families")(e.sameFamilies())
	add("no-cidrs-overlapping")(e.noOverlap())
	add("ntp-server-configured")(e.clocks())
	add("service-cidr-defined")(definedOr(len(e.c.ServiceNetworks) > 0, "The Service Network CIDR is defined.", "The Service Network CIDR is undefined."))
}

func definedOr(ok bool, good, bad string) (string, string) {
	if ok {
		return passed, good
	}
	return failed, bad
}

// platform asks for the manifests that one platform cannot do without.
func (e *clusterCheck) platform() (string, string) {
	if p := e.c.Platform; p != nil && p.Type == "external" && p.External != nil && p.External.PlatformName == "oci" && !e.c.makesUseOf("Custom manifest") {
		return failed, "The custom manifest required for Oracle Cloud Infrastructure platform integration has not been added. Add a custom manifest to continue."
	}
	return passed, "Platform requirements satisfied"
}

// manifests asks for those of a network that OpenShift does not bring.
func (e *clusterCheck) manifests() (string, string) {
	kind := e.c.NetworkType
	var overrides installcfg.InstallerConfigBaremetal
	if e.c.InstallConfigOverrides != "" && json.NewDecoder(strings.NewReader(e.c.InstallConfigOverrides)).Decode(&overrides) == nil {
		kind = cmp.Or(overrides.Networking.NetworkType, kind)
	}
	switch {
	case !oneOf(kind, "Cilium", "Calico", "CiscoACI", "None"):
		return passed, "No custom manifests are required"
	case e.c.makesUseOf("Custom manifest"):
		return passed, "Custom manifests are uploaded"
	}
	return failed, fmt.Sprintf("Custom manifests are required for: %s network type. Please upload manifests via the custom manifests API.", kind)
}

func (e *clusterCheck) machineDefined() (string, string) {
	switch {
	case e.c.userManaged() && !e.c.isSingle():
		return passed, "No Machine Network CIDR needed: User Managed Networking"
	case len(e.machine) > 0:
		return passed, "The Machine Network CIDR is defined."
	case !e.found:
		return pending, "Hosts have not been discovered yet"
	case e.c.VipDHCPAllocation != nil && *e.c.VipDHCPAllocation:
		return failed, "The Machine Network CIDR is undefined; setting the Machine Network CIDR initiates the VIPs DHCP lease allocation."
	case e.c.isSingle():
		return failed, "The Machine Network CIDR is undefined; Setting Machine Network CIDR is required for single node cluster"
	}
	return failed, "The Machine Network CIDR is undefined; the Machine Network CIDR can be defined by setting either the API or Ingress virtual IPs."
}

func (e *clusterCheck) machineCalculated() (string, string) {
	switch {
	case e.c.userManaged():
		return passed, "The Cluster Machine CIDR is not required: User Managed Networking"
	case e.c.userBalanced():
		return passed, "Calculating machine network CIDR is not enabled: User Managed Load Balancer"
	case len(e.c.APIVips) == 0 && len(e.c.IngressVips) == 0:
		return pending, "The Machine Network CIDR, API virtual IPs, or Ingress virtual IPs are undefined."
	case !e.found:
		return pending, "Hosts have not been discovered yet"
	}
	var problems []string
	for i, v := range e.c.APIVips {
		calculated := e.c.networkOfVip(v.IP)
		switch {
		case calculated == "":
			problems = append(problems, "No suitable matching CIDR found for VIP "+v.IP)
		case i < len(e.machine) && e.machine[i].CIDR != calculated:
			problems = append(problems, fmt.Sprintf("The Cluster Machine CIDR %s is different than the calculated CIDR %s.", e.machine[i].CIDR, calculated))
		}
	}
	if len(problems) > 0 {
		return failed, listed(problems...)
	}
	return passed, "The Cluster Machine CIDR is equivalent to the calculated CIDR."
}

func (e *clusterCheck) prefixValid() (string, string) {
	if len(e.c.ClusterNetworks) == 0 {
		return pending, "The Cluster Network CIDR is undefined."
	}
	for _, n := range e.c.ClusterNetworks {
		if n.HostPrefix <= 0 {
			return failed, fmt.Sprintf("Invalid Cluster Network prefix: Host prefix, now %d, must be a positive integer.", n.HostPrefix)
		}
		network, err := netip.ParsePrefix(n.CIDR)
		if err != nil {
			continue
		}
		width := network.Addr().BitLen()
		if int(n.HostPrefix) > width-7 {
			return failed, fmt.Sprintf("Host prefix, now %d, must be less than or equal to %d to allow at least 128 addresses", n.HostPrefix, width-7)
		}
		if room := int(n.HostPrefix) - network.Bits(); room < 0 || room < 31 && 1<<room < max(4, len(e.c.hosts)) {
			return failed, fmt.Sprintf("Cluster network CIDR prefix %d does not contain enough addresses for %d hosts each one with %d prefix (%d addresses)",
				network.Bits(), max(4, len(e.c.hosts)), n.HostPrefix, 1<<min(62, width-int(n.HostPrefix)))
		}
	}
	return passed, "The Cluster Network prefix is valid."
}

// undefinedNetworks is the pending answer while a network is missing.
func (e *clusterCheck) undefinedNetworks() (string, bool) {
	machineNeeded := !e.c.userManaged() || e.c.isSingle()
	if len(e.c.ClusterNetworks) > 0 && len(e.c.ServiceNetworks) > 0 && (!machineNeeded || len(e.machine) > 0) {
		return "", false
	}
	if machineNeeded {
		return "At least one of the CIDRs (Machine Network, Cluster Network, Service Network) is undefined.", true
	}
	return "At least one of the CIDRs (Cluster Network, Service Network) is undefined.", true
}

func families(cidrs []string) []bool {
	var list []bool
	for _, text := range cidrs {
		if p, err := netip.ParsePrefix(text); err == nil && !slices.Contains(list, p.Addr().Is4()) {
			list = append(list, p.Addr().Is4())
		}
	}
	return list
}

func (c *cluster) cidrs() (machine, clusterNets, services []string) {
	for _, n := range c.MachineNetworks {
		machine = append(machine, n.CIDR)
	}
	for _, n := range c.ClusterNetworks {
		clusterNets = append(clusterNets, n.CIDR)
	}
	for _, n := range c.ServiceNetworks {
		services = append(services, n.CIDR)
	}
	return machine, clusterNets, services
}

func (e *clusterCheck) sameFamilies() (string, string) {
	if text, missing := e.undefinedNetworks(); missing {
		return pending, text
	}
	machine, clusterNets, services := e.c.cidrs()
	if !slices.Equal(families(services), families(clusterNets)) {
		return failed, "Address families of networks (ServiceNetworks, ClusterNetworks) are not the same."
	}
	if (!e.c.userManaged() || e.c.isSingle()) && !slices.Equal(families(services), families(machine)) {
		return failed, "Address families of networks (MachineNetworks, ServiceNetworks, ClusterNetworks) are not the same."
	}
	return passed, "Same address families for all networks."
}

func (e *clusterCheck) noOverlap() (string, string) {
	if text, missing := e.undefinedNetworks(); missing {
		if e.c.userManaged() {
			text = "At least one of the CIDRs (Cluster Network, Service Network) is undefined."
		}
		return pending, text
	}
	if len(e.c.ClusterNetworks) != len(e.c.ServiceNetworks) {
		return errored, "A mismatch between the number of Cluster and Service networks"
	}
	machine, clusterNets, services := e.c.cidrs()
	own := "" // the last one goes with all families that come after it
	for i := range clusterNets {
		if i < len(machine) {
			own = machine[i]
		}
		for _, pair := range []struct{ names, a, b string }{
			{"MachineNetworkCIDR and ServiceNetworkCIDR", own, services[i]},
			{"MachineNetworkCIDR and ClusterNetworkCidr", own, clusterNets[i]},
			{"ServiceNetworkCidr and ClusterNetworkCidr", services[i], clusterNets[i]},
		} {
			if pair.a == own && e.c.userManaged() && !e.c.isSingle() {
				continue
			}
			x, err := netip.ParsePrefix(pair.a)
			y, err2 := netip.ParsePrefix(pair.b)
			if err == nil && err2 == nil && x.Overlaps(y) {
				return failed, fmt.Sprintf("CIDRS Overlapping: %s: CIDRS %s and %s overlap.", pair.names, pair.a, pair.b)
			}
		}
	}
	return passed, "No CIDRS are overlapping."
}

// timeLimit is how far apart the clocks of two hosts may be.
const timeLimit = 4 * time.Minute

// clocks compares the hosts' clocks with each other.
func (e *clusterCheck) clocks() (string, string) {
	var least, most time.Duration
	first := true
	for _, h := range e.c.hosts {
		if h.Timestamp == 0 || !oneOf(h.state, hostDiscovering, hostPendingInput, hostInsufficient, hostKnown) {
			continue
		}
		ahead := time.Unix(h.Timestamp, 0).Sub(time.Time(h.CheckedInAt))
		if first {
			least, most, first = ahead, ahead, false
		}
		least, most = min(least, ahead), max(most, ahead)
	}
	if most-least > timeLimit {
		return failed, fmt.Sprintf("Hosts' clocks are not synchronized (there's more than a %d minutes gap between clocks), please configure an NTP server via DHCP or set clocks manually.", int(timeLimit.Minutes()))
	}
	return passed, "No ntp problems found"
}
