package spec

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// Networks that the service takes where the file names none.
var (
	defaultClusterNetwork = netip.MustParsePrefix("10.128.0.0/14")
	defaultServiceNetwork = netip.MustParsePrefix("172.30.0.0/16")
)

const (
	defaultHostPrefix4 = 23
	defaultHostPrefix6 = 64
	maxHostPrefix4     = 25 // leaves a node 128 addresses, the least that the service takes
	minMTU             = 1280
	maxMTU             = 65520
	lastSDNMinor       = 14 // OpenShiftSDN ended here
	minorUserLB        = 16 // first with a user-managed load balancer
)

func (k *checker) networks() {
	n := k.cluster.Spec.Network
	machine := k.Prefixes("spec.network.machine", "machine network", n.Machine)
	service := k.Prefixes("spec.network.service", "service network", n.Service)
	cluster := k.clusterNetworks()
	k.overlaps(machine, cluster, service)
	k.families(machine, cluster, service)
	k.networkKind()
	k.podMTU(n)
	k.networkDefaults()
}

func (k *checker) clusterNetworks() []values.NamedNetwork {
	var list []values.NamedNetwork
	if k.TooMany("spec.network.cluster", len(k.cluster.Spec.Network.Cluster)) {
		return nil
	}
	for i, network := range k.cluster.Spec.Network.Cluster {
		field := fmt.Sprintf("spec.network.cluster[%d]", i)
		if !k.Required(field+".cidr", network.CIDR, "write the network that pods get their addresses from") {
			continue
		}
		if prefix, ok := k.Prefix(field+".cidr", network.CIDR); ok {
			list = append(list, values.NamedNetwork{Prefix: prefix, Field: field + ".cidr", Kind: "cluster network"})
			k.hostPrefix(field, prefix, network.HostPrefix)
		}
	}
	return list
}

func (k *checker) hostPrefix(field string, network netip.Prefix, bits int) {
	field, most, fallback := field+".hostPrefix", maxHostPrefix4, defaultHostPrefix4
	if network.Addr().Is6() {
		most, fallback = 128, defaultHostPrefix6
	}
	if bits == 0 && !k.cluster.Present(field) {
		bits = fallback
	}
	c := k.cluster
	nodes := c.ControlPlaneCount() + c.WorkerCount() + c.ArbiterCount()
	switch {
	case bits <= network.Bits() && nodes != 1 || bits < network.Bits():
		k.Report(field, fmt.Sprintf("/%d leaves no space in %s for the networks of several nodes", bits, network),
			"use a longer host prefix, or a larger network")
	case bits > most:
		k.Report(field, fmt.Sprintf("/%d is too long", bits), fmt.Sprintf("use at most %d, so that a node has addresses for its pods", most))
	case bits-network.Bits() < 31 && 1<<(bits-network.Bits()) < nodes:
		k.Report(field, fmt.Sprintf("%s has space for %d nodes with /%d each, but there are %d",
			network, 1<<(bits-network.Bits()), bits, nodes),
			"use a longer host prefix, or a larger network")
	}
}

func (k *checker) overlaps(machine, cluster, service []values.NamedNetwork) {
	var all []values.NamedNetwork
	if len(k.cluster.Spec.Network.Cluster) == 0 {
		all = append(all, values.NamedNetwork{Prefix: defaultClusterNetwork, Kind: "default cluster network"})
	}
	if len(k.cluster.Spec.Network.Service) == 0 {
		all = append(all, values.NamedNetwork{Prefix: defaultServiceNetwork, Kind: "default service network"})
	}
	all = append(append(append(all, machine...), cluster...), service...)
	for i, later := range all {
		for _, earlier := range all[:i] {
			if later.Prefix.Overlaps(earlier.Prefix) && later.Field != "" {
				k.Report(later.Field, fmt.Sprintf("the %s %s overlaps the %s %s", later.Kind, later.Prefix, earlier.Kind, earlier.Prefix), "")
			}
		}
	}
	k.overlapsOVN(all)
}

// families checks that machine, cluster and service networks are all dual stack or
// none.
func (k *checker) families(machine, cluster, service []values.NamedNetwork) {
	dual := values.IsDual(machine) || values.IsDual(cluster) || values.IsDual(service) || len(k.cluster.Spec.Network.VIPs.API) == 2
	lists := []struct {
		field, example string
		read           []values.NamedNetwork
		given          int
	}{
		{"spec.network.machine", "", machine, len(k.cluster.Spec.Network.Machine)},
		{"spec.network.cluster", "such as 10.128.0.0/14 and fd01::/48", cluster, len(k.cluster.Spec.Network.Cluster)},
		{"spec.network.service", "such as 172.30.0.0/16 and fd02::/112", service, len(k.cluster.Spec.Network.Service)},
	}
	for _, list := range lists {
		switch {
		case len(list.read) != list.given:
		case dual && !values.IsDual(list.read):
			remedy := strings.TrimSpace("write one IPv4 and one IPv6 network " + list.example)
			message := "dual stack needs networks of both families here"
			if list.given == 0 {
				message = "is missing: " + message
			}
			k.Report(list.field, message, remedy)
		case !dual && len(list.read) > 0 && len(lists[0].read) > 0 && list.read[0].Prefix.Addr().Is4() != lists[0].read[0].Prefix.Addr().Is4():
			k.Report(list.field, "has another address family than the machine network", "")
		case !dual && list.given == 0 && len(lists[0].read) > 0 && lists[0].read[0].Prefix.Addr().Is6():
			k.Report(list.field, "is missing, and the default of the service is IPv4", "write an IPv6 network")
		case !dual && list.field == "spec.network.service" && len(list.read) > 1:
			k.Report(list.field, "a cluster has one service network of each family", "")
		}
	}
	if dual && len(machine) > 0 && len(service) > 0 && machine[0].Prefix.Addr().Is4() != service[0].Prefix.Addr().Is4() {
		k.Report("spec.network.service", "the address families are in another order than in spec.network.machine",
			"the first family is the primary family; use the same order everywhere")
	}
}

func (k *checker) networkKind() {
	n, p := k.cluster.Spec.Network, k.cluster.Spec.Platform.Type
	if n.Type == openShiftSDN && !k.cluster.olderThan(lastSDNMinor+1) {
		k.Report("spec.network.type", fmt.Sprintf("OpenShiftSDN ended with 4.%d", lastSDNMinor), "use OVNKubernetes")
	}
	if valueOf(n.UserManaged) && p != NoneType && p != External && p != VSphere {
		k.Report("spec.network.userManaged", fmt.Sprintf("a user-managed network needs platform none, external or vsphere, not %s", p),
			"for a load balancer of your own write loadBalancer: user-managed")
	}
	if n.UserManaged != nil && !*n.UserManaged && p == NoneType {
		k.Report("spec.network.userManaged", "with platform none the network is always user-managed", "leave it out")
	}
	k.ownManifests(n.Type)
	if n.LoadBalancer != UserManaged {
		return
	}
	const field = "spec.network.loadBalancer"
	switch {
	case p != BareMetal && p != VSphere:
		k.Report(field, fmt.Sprintf("a user-managed load balancer needs platform baremetal or vsphere, not %s", p), "")
	case k.cluster.olderThan(minorUserLB):
		k.tooOld(field, "user-managed load balancers", minorUserLB)
	case len(n.VIPs.API) > 1 || len(n.VIPs.Ingress) > 1:
		k.Report(field, "a user-managed load balancer cannot have dual-stack vips", "")
	}
}

// ownManifests wants manifests for a plug-in that OpenShift does not bring, unless the service's check of them
// is ignored.
func (k *checker) ownManifests(kind NetworkType) {
	const check = "custom-manifests-requirements-satisfied"
	others := []NetworkType{"Calico", "Cilium", "CiscoACI", "None"}
	ignored := k.cluster.Spec.IgnoreValidations.Cluster
	switch {
	case !slices.Contains(others, kind) || len(k.cluster.ManifestFiles()) > 0 || k.IsFailed("spec.manifests"):
	case slices.Contains(ignored, "all") || slices.Contains(ignored, check):
	default:
		k.Report("spec.network.type", fmt.Sprintf("%s needs the manifests of its vendor, and there are none",
			kind), "add them to spec.manifests")
	}
}

// podMTU is OVN-Kubernetes' and OpenShiftSDN's; others have a configuration of their
// own.
func (k *checker) podMTU(n Network) {
	k.mtu(fieldMTU, n.MTU)
	if n.MTU == 0 || k.IsFailed(fieldMTU) {
		return
	}
	switch n.Type {
	case "", ovnKubernetes, openShiftSDN:
	default:
		k.Report(fieldMTU, fmt.Sprintf("it cannot be set for the network type %s, which has a separate configuration", n.Type),
			"set it in the manifests of the network type, and omit it here")
	}
}

func (k *checker) mtu(field string, mtu int) {
	if (mtu != 0 || k.cluster.Present(field)) && (mtu < minMTU || mtu > maxMTU) {
		k.Report(field, fmt.Sprintf("%d cannot be an MTU", mtu), fmt.Sprintf("use %d to %d", minMTU, maxMTU))
	}
}

func (k *checker) networkDefaults() {
	d := k.cluster.Spec.Network.Defaults
	const field = defaultsField
	k.OptionalAddress(field+".gateway", d.Gateway)
	if ip, ok := k.OptionalAddress(field+".gateway6", d.Gateway6); ok && ip.Is4() {
		k.Report(field+".gateway6", "is an IPv4 address", "write it as gateway")
	}
	k.Addresses(field+".dns", d.DNS)
	k.Domains(field+".search", d.Search)
	k.mtu(field+".mtu", d.MTU)
	k.vlan(field+".vlan", d.VLAN)
	if d.Bond != nil {
		k.bond(field+".bond", d.Bond)
	}
	k.TimeServers(field+".ntp", d.NTP)
	k.TimeServers("spec.network.ntp", k.cluster.Spec.Network.NTP)
	if len(d.NTP) > 0 && len(k.cluster.Spec.Network.NTP) > 0 {
		k.Report(field+".ntp", "adds servers to spec.network.ntp, but those must be the only servers", "keep one of the two lists")
	}
}

func (k *checker) vips() {
	v := k.cluster.Spec.Network.VIPs
	if !k.vipsFit(v) {
		return
	}
	api := k.vipList("spec.network.vips.api", v.API)
	ingress := k.vipList("spec.network.vips.ingress", v.Ingress)
	if len(v.API) != len(v.Ingress) {
		k.Report("spec.network.vips", fmt.Sprintf("there are %d addresses for the API and %d for ingress", len(v.API), len(v.Ingress)),
			"give the same number of addresses for both")
	}
	machine := k.machineNetworks()
	for _, address := range append(api, ingress...) {
		k.vipNetwork(address, machine)
	}
	if k.cluster.Spec.Network.LoadBalancer == UserManaged {
		return
	}
	for _, a := range api {
		for _, i := range ingress {
			if a.ip == i.ip {
				k.Report(i.field, fmt.Sprintf("%s is already the address of the API", i.ip), "use another address, unless "+
					"loadBalancer is user-managed")
			}
		}
	}
}

// vipsFit reports whether virtual addresses are allowed on the platform, so that they are checked.
func (k *checker) vipsFit(v VIPs) bool {
	c := k.cluster
	given := len(v.API)+len(v.Ingress) > 0
	const field = "spec.network.vips"
	switch {
	case c.SingleNode():
		k.ReportIf(given, field, "a single node has no virtual addresses: its own address is the cluster's", "leave them out")
		return false
	case c.Spec.Platform.Type == NoneType || c.Spec.Platform.Type == External || valueOf(c.Spec.Network.UserManaged):
		k.ReportIf(given, field, fmt.Sprintf("with platform %s the cluster has no virtual addresses: a load balancer outside has them",
			c.Spec.Platform.Type), "omit them, and point DNS at the load balancer")
		return false
	case !given:
		k.Report(field, "is missing", "write an unused address of the machine network each for api and ingress")
		return false
	}
	return true
}

func (k *checker) vipList(field string, texts []string) []addressAt {
	var list []addressAt
	for i, text := range texts {
		at := fmt.Sprintf("%s[%d]", field, i)
		if k.IsFailed(at) {
			continue
		}
		if ip, ok := k.Address(at, text); ok {
			list = append(list, addressAt{ip, at})
		}
	}
	if len(texts) > 2 || len(list) == 2 && list[0].ip.Is4() == list[1].ip.Is4() {
		k.Report(field, "use one virtual address, or one of each address family", "")
	}
	return list
}

func (k *checker) machineNetworks() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range k.cluster.Spec.Network.Machine {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			list = append(list, prefix.Masked())
		}
	}
	return list
}

// innerNetworks are those that only pods and services have addresses of, as far as they can be read: what is wrong with
// the others is reported at their own fields.
func (k *checker) innerNetworks() []values.NamedNetwork {
	n := k.cluster.Spec.Network
	var list []values.NamedNetwork
	add := func(kind, text string) {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			list = append(list, values.NamedNetwork{Prefix: prefix.Masked(), Kind: kind})
		}
	}
	if len(n.Cluster) == 0 {
		add("default cluster network", defaultClusterNetwork.String())
	}
	if len(n.Service) == 0 {
		add("default service network", defaultServiceNetwork.String())
	}
	for _, network := range n.Cluster {
		add("cluster network", network.CIDR)
	}
	for _, text := range n.Service {
		add("service network", text)
	}
	return list
}

func (k *checker) vipNetwork(address addressAt, machine []netip.Prefix) {
	if len(machine) > 0 && !values.Inside(address.ip, machine) {
		k.Report(address.field, fmt.Sprintf("%s is not in the machine network %s", address.ip, values.Joined(machine)),
			"use an unused address of the machine network")
		return
	}
	if len(machine) == 0 { // otherwise networks that overlap are reported
		for _, taken := range k.innerNetworks() {
			k.ReportIf(taken.Prefix.Contains(address.ip), address.field,
				fmt.Sprintf("%s is in the %s %s, where no machine is", address.ip, taken.Kind, taken.Prefix),
				"use an unused address of the network that the machines are in")
		}
	}
	for _, network := range machine {
		if network.Contains(address.ip) && values.IsEdge(address.ip, network) {
			k.Report(address.field, fmt.Sprintf("%s is the first or last address of %s, which no machine can have", address.ip, network), "")
		}
	}
	d := k.cluster.Spec.Network.Defaults
	if values.SameAddress(d.Gateway, address.ip) || values.SameAddress(d.Gateway6, address.ip) {
		k.Report(address.field, fmt.Sprintf("%s is the gateway's address", address.ip), "use an unused address of the machine network")
	}
}

// astray is a default that does not do for a host. It is one problem, of the default,
// however many hosts there are.
type astray struct {
	field, key string // the default; what of it, where several things can be wrong
	of         int    // the first host
	own        string // the field of the host that the problem is about if it is the only one; "" if it is the default's
	message    string
	remedy     string
	more       int // hosts for which it does not do either
}

const defaultsField = "spec.network.defaults"

func (k *checker) defaultAstray(wrong astray) {
	for i := range k.astray {
		if k.astray[i].field == wrong.field && k.astray[i].key == wrong.key {
			if k.astray[i].of != wrong.of {
				k.astray[i].more++
			}
			return
		}
	}
	k.astray = append(k.astray, wrong)
}

// defaultMissing reports what neither a host nor the defaults have. A default that is
// no address is reported already.
func (k *checker) defaultMissing(host int, name, need string) {
	field := defaultsField + "." + name
	if k.IsFailed(field) || slices.ContainsFunc(k.problems.List, func(p Problem) bool { return p.Field == field }) {
		return
	}
	k.defaultAstray(astray{
		field: field, of: host, own: hostField(host, "net."+name),
		message: fmt.Sprintf("is missing: %s has a static address and needs %s", k.hostLabel(host), need),
		remedy:  fmt.Sprintf("write %s here, or in the net of each host", name),
	})
}

func (k *checker) gatewayAstray(host int, field, message string) {
	if !strings.HasPrefix(field, defaultsField) {
		k.Report(field, message, "")
		return
	}
	k.defaultAstray(astray{field: field, of: host, message: message, remedy: "correct it, or write the gateway of these hosts in their net"})
}

func (k *checker) defaultsAstray() {
	for _, wrong := range k.astray {
		if wrong.more == 0 && wrong.own != "" {
			wrong.field = wrong.own
		}
		switch {
		case wrong.more == 1:
			wrong.message += "; one more host has the same problem"
		case wrong.more > 1:
			wrong.message += fmt.Sprintf("; %d more hosts have the same problem", wrong.more)
		}
		k.Report(wrong.field, wrong.message, wrong.remedy)
	}
}
