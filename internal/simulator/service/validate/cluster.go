package validate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/installcfg"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

type clusterCheck struct {
	report
	c *model.Cluster
	// machine is the cluster's machine networks as the tick found them.
	machine []model.MachineNetwork
	found   bool // some host has an inventory
}

// Cluster judges a cluster.
func Cluster(c *model.Cluster) []model.Check {
	e := &clusterCheck{c: c, machine: c.MachineNetworks}
	e.found = slices.ContainsFunc(c.Hosts, func(h *model.Host) bool { return h.Inv != nil })
	e.list = make([]model.Check, 0, 48)
	e.configuration()
	e.hostsData()
	e.network()
	e.operators()
	return e.list
}

func (e *clusterCheck) configuration() {
	e.in(catConfiguration)("platform-requirements-satisfied")(e.platform())
	if e.c.PullSecretSet {
		e.add(catConfiguration, "pull-secret-set", model.Passed, "The pull secret is set.")
		return
	}
	e.add(catConfiguration, "pull-secret-set", model.Failed, "The pull secret is not set.")
}

func (e *clusterCheck) hostsData() {
	ready := model.Passed
	for _, h := range e.c.Hosts {
		if !model.OneOf(h.State, model.HostKnown, model.HostPreparing, model.HostPrepared) {
			ready = model.Failed
		}
	}
	if ready == model.Passed {
		e.add(catHostsData, "all-hosts-are-ready-to-install", model.Passed, "All hosts in the cluster are ready to install.")
	} else {
		e.add(catHostsData, "all-hosts-are-ready-to-install", model.Failed, "The cluster has hosts that are not ready to install.")
	}
	status, message := e.masters()
	e.add(catHostsData, "sufficient-masters-count", status, message)
}

// masters compares the hosts' roles with what the control plane needs. Hosts without a role fill it up.
func (e *clusterCheck) masters() (string, string) {
	const exact = "The cluster has the exact amount of dedicated control plane nodes."
	masters, arbiters, workers := castRoles(e.c)
	want := int(e.c.ControlPlaneCount)
	if e.c.IsSingle() {
		if masters == 1 && workers == 0 {
			return model.Passed, exact
		}
		return model.Failed, "Single-node clusters must have a single control plane node and no workers."
	}
	suffix := ""
	if want == 2 && arbiters == 0 {
		fenced := 0
		for _, h := range e.c.Hosts {
			if h.FencingCredentials != "" {
				fenced++
			}
		}
		if fenced < 2 {
			suffix = " and at least 1 arbiter node or the control plane nodes must have fencing credentials"
		}
	}
	if masters != want || suffix != "" {
		return model.Failed, fmt.Sprintf("The cluster must have exactly %d dedicated control plane nodes%s. Add or remove hosts, or change their roles configurations to meet the requirement.", want, suffix)
	}
	return model.Passed, exact
}

// castRoles counts the hosts by role, where open ones fill up the control plane, then an
// arbiter where one is needed, if they are strong enough; the others are workers.
func castRoles(c *model.Cluster) (masters, arbiters, workers int) {
	masters, arbiters, workers, _ = CountRoles(c)
	for _, h := range c.Hosts {
		switch {
		case h.EffectiveRole() != model.RoleAuto:
		case masters < int(c.ControlPlaneCount) && StrongEnough(c, h, model.RoleMaster):
			masters++
		case c.ControlPlaneCount == 2 && arbiters == 0 && StrongEnough(c, h, model.RoleArbiter):
			arbiters++
		default:
			workers++
		}
	}
	return masters, arbiters, workers
}

// CountRoles counts the hosts by role; open ones have none yet.
func CountRoles(c *model.Cluster) (masters, arbiters, workers, open int) {
	for _, h := range c.Hosts {
		switch h.EffectiveRole() {
		case model.RoleMaster, model.RoleBootstrap:
			masters++
		case model.RoleArbiter:
			arbiters++
		case model.RoleWorker:
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
	add("network-type-valid")(model.Passed, "The cluster has a valid network type")
	add("networks-same-address-families")(e.sameFamilies())
	add("no-cidrs-overlapping")(e.noOverlap())
	add("ntp-server-configured")(e.clocks())
	add("service-cidr-defined")(definedOr(len(e.c.ServiceNetworks) > 0, "The Service Network CIDR is defined.", "The Service Network CIDR is undefined."))
}

func definedOr(ok bool, good, bad string) (string, string) {
	if ok {
		return model.Passed, good
	}
	return model.Failed, bad
}

// platform asks for the manifests that one platform cannot do without.
func (e *clusterCheck) platform() (string, string) {
	if p := e.c.Platform; p != nil && p.Type == "external" && p.External != nil && p.External.PlatformName == "oci" && !e.c.MakesUseOf("Custom manifest") {
		return model.Failed, "The custom manifest required for Oracle Cloud Infrastructure platform integration has not been added. Add a custom manifest to continue."
	}
	return model.Passed, "Platform requirements satisfied"
}

// manifests asks for those of a network that OpenShift does not bring.
func (e *clusterCheck) manifests() (string, string) {
	kind := e.c.NetworkType
	var overrides installcfg.InstallerConfigBaremetal
	if e.c.InstallConfigOverrides != "" && json.NewDecoder(strings.NewReader(e.c.InstallConfigOverrides)).Decode(&overrides) == nil {
		kind = cmp.Or(overrides.Networking.NetworkType, kind)
	}
	switch {
	case !model.OneOf(kind, "Cilium", "Calico", "CiscoACI", "None"):
		return model.Passed, "No custom manifests are required"
	case e.c.MakesUseOf("Custom manifest"):
		return model.Passed, "Custom manifests are uploaded"
	}
	return model.Failed, fmt.Sprintf("Custom manifests are required for: %s network type. Please upload manifests via the custom manifests API.", kind)
}

func (e *clusterCheck) machineDefined() (string, string) {
	switch {
	case e.c.UserManaged() && !e.c.IsSingle():
		return model.Passed, "No Machine Network CIDR needed: User Managed Networking"
	case len(e.machine) > 0:
		return model.Passed, "The Machine Network CIDR is defined."
	case !e.found:
		return model.Pending, "Hosts have not been discovered yet"
	case e.c.VipDHCPAllocation != nil && *e.c.VipDHCPAllocation:
		return model.Failed, "The Machine Network CIDR is undefined; setting the Machine Network CIDR initiates the VIPs DHCP lease allocation."
	case e.c.IsSingle():
		return model.Failed, "The Machine Network CIDR is undefined; Setting Machine Network CIDR is required for single node cluster"
	}
	return model.Failed, "The Machine Network CIDR is undefined; the Machine Network CIDR can be defined by setting either the API or Ingress virtual IPs."
}

func (e *clusterCheck) machineCalculated() (string, string) {
	switch {
	case e.c.UserManaged():
		return model.Passed, "The Cluster Machine CIDR is not required: User Managed Networking"
	case e.c.UserBalanced():
		return model.Passed, "Calculating machine network CIDR is not enabled: User Managed Load Balancer"
	case len(e.c.APIVips) == 0 && len(e.c.IngressVips) == 0:
		return model.Pending, "The Machine Network CIDR, API virtual IPs, or Ingress virtual IPs are undefined."
	case !e.found:
		return model.Pending, "Hosts have not been discovered yet"
	}
	var problems []string
	for i, v := range e.c.APIVips {
		calculated := NetworkOfVip(e.c, v.IP)
		switch {
		case calculated == "":
			problems = append(problems, "No suitable matching CIDR found for VIP "+v.IP)
		case i < len(e.machine) && e.machine[i].CIDR != calculated:
			problems = append(problems, fmt.Sprintf("The Cluster Machine CIDR %s is different than the calculated CIDR %s.", e.machine[i].CIDR, calculated))
		}
	}
	if len(problems) > 0 {
		return model.Failed, wire.Problems(problems...)
	}
	return model.Passed, "The Cluster Machine CIDR is equivalent to the calculated CIDR."
}

func (e *clusterCheck) prefixValid() (string, string) {
	if len(e.c.ClusterNetworks) == 0 {
		return model.Pending, "The Cluster Network CIDR is undefined."
	}
	for _, n := range e.c.ClusterNetworks {
		if n.HostPrefix <= 0 {
			return model.Failed, fmt.Sprintf("Invalid Cluster Network prefix: Host prefix, now %d, must be a positive integer.", n.HostPrefix)
		}
		network, err := netip.ParsePrefix(n.CIDR)
		if err != nil {
			continue
		}
		width := network.Addr().BitLen()
		if int(n.HostPrefix) > width-7 {
			return model.Failed, fmt.Sprintf("Host prefix, now %d, must be less than or equal to %d to allow at least 128 addresses", n.HostPrefix, width-7)
		}
		if room := int(n.HostPrefix) - network.Bits(); room < 0 || room < 31 && 1<<room < max(4, len(e.c.Hosts)) {
			return model.Failed, fmt.Sprintf("Cluster network CIDR prefix %d does not contain enough addresses for %d hosts each one with %d prefix (%d addresses)",
				network.Bits(), max(4, len(e.c.Hosts)), n.HostPrefix, 1<<min(62, width-int(n.HostPrefix)))
		}
	}
	return model.Passed, "The Cluster Network prefix is valid."
}

// undefinedNetworks is the pending answer while a network is missing.
func (e *clusterCheck) undefinedNetworks() (string, bool) {
	machineNeeded := !e.c.UserManaged() || e.c.IsSingle()
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

func (e *clusterCheck) sameFamilies() (string, string) {
	if text, missing := e.undefinedNetworks(); missing {
		return model.Pending, text
	}
	machine, clusterNets, services := e.c.CIDRs()
	if !slices.Equal(families(services), families(clusterNets)) {
		return model.Failed, "Address families of networks (ServiceNetworks, ClusterNetworks) are not the same."
	}
	if (!e.c.UserManaged() || e.c.IsSingle()) && !slices.Equal(families(services), families(machine)) {
		return model.Failed, "Address families of networks (MachineNetworks, ServiceNetworks, ClusterNetworks) are not the same."
	}
	return model.Passed, "Same address families for all networks."
}

func (e *clusterCheck) noOverlap() (string, string) {
	if text, missing := e.undefinedNetworks(); missing {
		if e.c.UserManaged() {
			text = "At least one of the CIDRs (Cluster Network, Service Network) is undefined."
		}
		return model.Pending, text
	}
	if len(e.c.ClusterNetworks) != len(e.c.ServiceNetworks) {
		return model.Errored, "A mismatch between the number of Cluster and Service networks"
	}
	machine, clusterNets, services := e.c.CIDRs()
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
			if pair.a == own && e.c.UserManaged() && !e.c.IsSingle() {
				continue
			}
			x, err := netip.ParsePrefix(pair.a)
			y, err2 := netip.ParsePrefix(pair.b)
			if err == nil && err2 == nil && x.Overlaps(y) {
				return model.Failed, fmt.Sprintf("CIDRS Overlapping: %s: CIDRS %s and %s overlap.", pair.names, pair.a, pair.b)
			}
		}
	}
	return model.Passed, "No CIDRS are overlapping."
}

// timeLimit is how far apart the clocks of two hosts may be.
const timeLimit = 4 * time.Minute

// clocks compares the hosts' clocks with each other.
func (e *clusterCheck) clocks() (string, string) {
	var least, most time.Duration
	first := true
	for _, h := range e.c.Hosts {
		if h.Timestamp == 0 || !model.OneOf(h.State, model.HostDiscovering, model.HostPendingInput, model.HostInsufficient, model.HostKnown) {
			continue
		}
		ahead := time.Unix(h.Timestamp, 0).Sub(time.Time(h.CheckedInAt))
		if first {
			least, most, first = ahead, ahead, false
		}
		least, most = min(least, ahead), max(most, ahead)
	}
	if most-least > timeLimit {
		return model.Failed, fmt.Sprintf("Hosts' clocks are not synchronized (there's more than a %d minutes gap between clocks), please configure an NTP server via DHCP or set clocks manually.", int(timeLimit.Minutes()))
	}
	return model.Passed, "No ntp problems found"
}
