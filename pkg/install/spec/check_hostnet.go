package spec

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

const lastVLAN = 4094

func (k *checker) hostNetworks() {
	used := map[netip.Addr]string{}
	v := k.cluster.Spec.Network.VIPs
	for _, text := range append(slices.Clone(v.API), v.Ingress...) {
		if ip, err := netip.ParseAddr(text); err == nil {
			used[ip] = "a virtual address of the cluster"
		}
	}
	for i := range k.cluster.Spec.Hosts {
		h := &k.cluster.Spec.Hosts[i]
		if h.Net == nil || k.isBroken(i) || k.Failed[hostField(i, "net")] {
			continue
		}
		k.interfaces(i, h.Net)
		var addresses []addressAt
		if h.Net.NMState != nil {
			addresses = k.nmstate(i, h)
		} else {
			addresses = k.shortForm(i, h)
		}
		k.unused(i, addresses, used)
	}
	k.nodeAddresses(used)
}

type addressAt struct {
	ip    netip.Addr
	field string
}

func (k *checker) unused(i int, addresses []addressAt, used map[netip.Addr]string) {
	for _, address := range addresses {
		if owner, taken := used[address.ip]; taken {
			k.Report(address.field, fmt.Sprintf("%s is %s already", address.ip, owner), "")
			continue
		}
		used[address.ip] = "the address of " + k.hostLabel(i)
	}
}

func (k *checker) interfaces(i int, n *HostNet) {
	var names []string
	for j, nic := range n.Interfaces {
		field := fmt.Sprintf("%s[%d]", hostField(i, "net.interfaces"), j)
		k.Required(field+".name", nic.Name, "name the interface")
		k.InterfaceName(field+".name", nic.Name)
		k.Required(field+".mac", nic.MAC, "write the MAC address of the interface")
		k.MAC(field+".mac", nic.MAC)
		k.ReportIf(slices.Contains(names, nic.Name), field+".name", fmt.Sprintf("%q appears here twice", nic.Name), "")
		names = append(names, nic.Name)
		for _, other := range n.Interfaces[:j] {
			if nic.MAC != "" && other.MAC == nic.MAC {
				k.Report(field+".mac", fmt.Sprintf("%s belongs to the interface %s already", nic.MAC, other.Name), "")
			}
		}
	}
}

func (k *checker) nmstate(i int, h *Host) []addressAt {
	n, field := h.Net, hostField(i, "net.nmstate")
	for name, given := range map[string]bool{
		"ip": n.IP != "", "ip6": n.IP6 != "", "gateway": n.Gateway != "", "gateway6": n.Gateway6 != "", "dns": n.DNS != nil,
		"search":    n.Search != nil,
		"interface": n.Interface != "", "mac": n.MAC != "", "bond": n.Bond != nil, "vlan": n.VLAN != 0, "routes": n.Routes != nil,
		"mtu": n.MTU != 0,
	} {
		k.ReportIf(given, hostField(i, "net."+name), "cannot be set together with nmstate, which describes the whole network",
			"keep one of them; with nmstate, only interfaces can be set")
	}
	if n.NMState.Text() == "" || k.IsFailed(field) {
		return nil
	}
	doc, macs, err := readNMState(n)
	if err != nil {
		k.Report(field, "the nmstate document cannot be read: "+err.Error(), "")
		return nil
	}
	for _, name := range doc.unnamed {
		k.Report(field, fmt.Sprintf("the interface of the machine that %s describes is not known", name),
			fmt.Sprintf("give %s a mac-address, or write interfaces: [{name: %s, mac: ADDRESS}]", name, name))
	}
	if len(macs) == 0 && len(doc.unnamed) == 0 {
		k.Report(field, "has no interface of the machine",
			"describe at least one ethernet interface, or write interfaces: [{name: NAME, mac: ADDRESS}]")
	}
	var list []addressAt
	for _, address := range doc.addresses {
		list = append(list, addressAt{address.Addr(), field})
	}
	return list
}

func (k *checker) shortForm(i int, h *Host) []addressAt {
	n, at := h.Net, func(name string) string { return hostField(i, "net."+name) }
	ip4 := k.hostAddress(at("ip"), n.IP, wordDHCP, n.IP6 == "")
	ip6 := k.hostAddress(at("ip6"), n.IP6, wordAuto, true)
	k.ReportIf(ip6.IsValid() && ip6.Addr().Is4(), at("ip6"), fmt.Sprintf("%s is IPv4", ip6), "write it as ip")
	k.OptionalAddress(at("gateway"), n.Gateway)
	k.OptionalAddress(at("gateway6"), n.Gateway6)
	k.Addresses(at("dns"), n.DNS)
	k.Domains(at("search"), n.Search)
	k.mtu(at("mtu"), n.MTU)
	k.InterfaceName(at("interface"), n.Interface)
	k.MAC(at("mac"), n.MAC)
	if n.VLAN != 0 || k.cluster.Spec.Network.Defaults.VLAN == 0 {
		k.vlan(at("vlan"), n.VLAN)
	}
	plan := k.cluster.planNetwork(h)
	if top := plan.top(); plan.vlan != 0 && !k.IsFailed(at("vlan")) && !values.InterfaceName.MatchString(top) {
		k.Report(at("vlan"), fmt.Sprintf("makes the interface %q, but this name is too long", top),
			"use a shorter name for the interface or the bond")
	}
	k.ports(i, h, plan)
	k.way(i, plan)
	k.routes(i, n.Routes, plan)
	var list []addressAt
	for name, ip := range map[string]netip.Prefix{"ip": ip4, "ip6": ip6} {
		if ip.IsValid() {
			list = append(list, addressAt{ip.Addr(), at(name)})
		}
	}
	slices.SortFunc(list, func(a, b addressAt) int { return a.ip.Compare(b.ip) })
	return list
}

// hostAddress reads a static address: the zero prefix for none, or a wrong one.
func (k *checker) hostAddress(field, text, word string, either bool) netip.Prefix {
	if text == "" || text == word || k.IsFailed(field) {
		return netip.Prefix{}
	}
	ip, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		k.Report(field, fmt.Sprintf("%q is not an address "+
			"with a prefix length", text), fmt.Sprintf("write it as 192.168.10.11/24, or %s", word))
		return netip.Prefix{}
	case !either && ip.Addr().Is6():
		k.Report(field, fmt.Sprintf("%s is IPv6", ip), "write it as ip6")
		return netip.Prefix{}
	case values.IsEdge(ip.Addr(), ip) || ip.Addr().IsLoopback() || ip.Addr().IsMulticast() || ip.Addr().IsUnspecified():
		k.Report(field, fmt.Sprintf("%s is not an address that a machine can have", ip), "")
		return netip.Prefix{}
	}
	machine := slices.DeleteFunc(k.machineNetworks(), func(network netip.Prefix) bool { return network.Addr().Is4() != ip.Addr().Is4() })
	if len(machine) > 0 && !values.Inside(ip.Addr(), machine) {
		k.Report(field, fmt.Sprintf("%s is not in the machine network %s", ip.Addr(), values.Joined(machine)), "")
	}
	return ip
}

func (k *checker) ports(i int, h *Host, plan netPlan) {
	n, field := h.Net, hostField(i, "net")
	switch {
	case plan.sharesBond:
		for _, port := range plan.unnamed {
			k.defaultAstray(astray{
				field: "spec.network.defaults.bond.ports", key: port, of: i, own: field + ".interfaces",
				message: fmt.Sprintf("it is not known which interface of %s %s is", k.hostLabel(i), port),
				remedy:  fmt.Sprintf("write net.interfaces: [{name: %s, mac: ADDRESS}] for each host, or net.mac for a host without the bond", port),
			})
		}
		return
	case n.Bond == nil:
		if plan.nics[0].MAC == "" {
			k.Report(field, "the interface of the machine is not known", "write mac: ADDRESS here, or match: {mac: ADDRESS}")
		}
		return
	}
	bond := field + ".bond"
	if n.Interface != "" || n.MAC != "" {
		k.Report(bond, "cannot be set with a single interface", "name the bond with bond.name, and its ports with interfaces")
	}
	k.bond(bond, n.Bond)
	for j, port := range n.Bond.Ports {
		if slices.Contains(plan.unnamed, port) && !slices.Contains(n.Bond.Ports[:j], port) {
			k.Report(fmt.Sprintf("%s.ports[%d]", bond, j), fmt.Sprintf("the interface of the machine that %s describes is not known", port),
				fmt.Sprintf("write net.interfaces: [{name: %s, mac: ADDRESS}], or the MAC address here", port))
		}
	}
}

func (k *checker) bond(field string, b *Bond) {
	k.InterfaceName(field+".name", b.Name)
	k.ReportIf(len(b.Ports) == 0, field+".ports", "is missing", "list the interfaces of the bond")
	for j, port := range b.Ports {
		if slices.Contains(b.Ports[:j], port) {
			k.Report(fmt.Sprintf("%s.ports[%d]", field, j), fmt.Sprintf("%s appears here twice", port), "")
		}
	}
}

func (k *checker) vlan(field string, id int) {
	if (id != 0 || k.cluster.Present(field)) && (id < 1 || id > lastVLAN) {
		k.Report(field, fmt.Sprintf("%d cannot be a VLAN id", id), fmt.Sprintf("use 1 to %d", lastVLAN))
	}
}

// way checks that static addresses have a gateway in their subnet, and DNS.
func (k *checker) way(i int, plan netPlan) {
	for _, family := range []struct {
		familyPlan
		name, everything string
	}{{plan.v4, "gateway", "0.0.0.0/0"}, {plan.v6, "gateway6", "::/0"}} {
		if !family.ip.IsValid() {
			continue
		}
		gateway, err := netip.ParseAddr(family.gateway)
		switch {
		case family.gateway == "":
			// A route to everything, or the other family, does for a gateway.
			routed := slices.ContainsFunc(plan.routes, func(route Route) bool { return route.Destination == family.everything })
			other := plan.v4.ip.IsValid() && plan.v6.ip.IsValid() && (plan.v4.gateway != "" || plan.v6.gateway != "")
			if !routed && !other && !plan.v4.automatic && !plan.v6.automatic {
				k.defaultMissing(i, family.name, "a default route")
			}
		case err != nil:
		case gateway == family.ip.Addr():
			k.Report(hostField(i, "net."+family.name), fmt.Sprintf("%s is the host's own address", gateway), "")
		case !family.ip.Contains(gateway) && !gateway.IsLinkLocalUnicast():
			at := family.gatewayAt
			if name, ofHost := strings.CutPrefix(at, "host."); ofHost {
				at = hostField(i, "net."+name)
			}
			k.gatewayAstray(i, at, fmt.Sprintf("the gateway %s is not in the subnet %s of %s", gateway, family.ip.Masked(), k.hostLabel(i)))
		}
	}
	if (plan.v4.ip.IsValid() || plan.v6.ip.IsValid()) && !plan.v4.automatic && !plan.v6.automatic && len(plan.dns) == 0 {
		k.defaultMissing(i, "dns", "DNS servers")
	}
}

func (k *checker) routes(i int, routes []Route, plan netPlan) {
	for j, route := range routes {
		field := fmt.Sprintf("%s[%d]", hostField(i, "net.routes"), j)
		destination, err := netip.ParsePrefix(route.Destination)
		if err != nil || destination.Masked() != destination {
			k.Report(field+".destination", fmt.Sprintf("%q is not a network", route.Destination), "write it as CIDR, such as 10.0.0.0/8")
		}
		gateway, ok := k.Address(field+".gateway", route.Gateway)
		subnets := []netip.Prefix{plan.v4.ip, plan.v6.ip}
		subnets = slices.DeleteFunc(subnets, func(p netip.Prefix) bool { return !p.IsValid() || p.Addr().Is4() != gateway.Is4() })
		if ok && len(subnets) > 0 && !values.Inside(gateway, subnets) && !gateway.IsLinkLocalUnicast() {
			k.Report(field+".gateway", fmt.Sprintf("%s is not in the subnet %s of %s", gateway, subnets[0].Masked(), k.hostLabel(i)), "")
		}
		if ok && err == nil && gateway.Is4() != destination.Addr().Is4() {
			k.Report(field, "destination and gateway are of different families", "")
		}
		k.ReportIf(route.Metric < 0, field+".metric", "is negative", "")
	}
}

// kernelName matches names that a machine gives to its interfaces by where they are. The service takes them
// without a MAC address.
var kernelName = regexp.MustCompile(`^en[PsvxXbucaipod]`)

// readNMState finds which interfaces an nmstate document, or net.interfaces, ties to
// MAC addresses, and which neither does. Virtual ones, and those with the kernel's names, need none.
func readNMState(n *HostNet) (doc *nmstateDoc, macs []NIC, err error) {
	root, problems := parseTree([]byte(n.NMState.Text()))
	if len(problems) > 0 {
		return nil, nil, fmt.Errorf("line %d %s", problems[0].At.Line, problems[0].Message)
	}
	if root.Kind != yamltree.Map {
		return nil, nil, fmt.Errorf("has to be a map, but is %s", root.Kind)
	}
	doc = &nmstateDoc{}
	doc.read(root)
	// A name of the kernel's kind that the document does not have is one that it was to have.
	mistaken := slices.ContainsFunc(n.Interfaces, func(nic NIC) bool {
		return kernelName.MatchString(nic.Name) && !strings.Contains(n.NMState.Text(), nic.Name)
	})
	for _, nic := range doc.nics {
		if known, ok := nicNamed(n.Interfaces, nic.Name); ok {
			nic.MAC = known.MAC
		}
		switch {
		case nic.MAC != "":
			macs = append(macs, NIC{Name: nic.Name, MAC: values.CanonicalMAC(nic.MAC)})
		case mistaken || !kernelName.MatchString(nic.Name):
			doc.unnamed = append(doc.unnamed, nic.Name)
		}
	}
	// A document may name a port only in its bond, its bridge or its VLAN: it is
	// tied to the machine all the same.
	tied := func(name string) bool { return slices.ContainsFunc(macs, func(m NIC) bool { return m.Name == name }) }
	for _, nic := range n.Interfaces {
		if nic.Name != "" && nic.MAC != "" && !tied(nic.Name) {
			macs = append(macs, NIC{Name: nic.Name, MAC: values.CanonicalMAC(nic.MAC)})
		}
	}
	for _, port := range doc.bondPorts {
		if !tied(port) && !kernelName.MatchString(port) && !slices.Contains(doc.unnamed, port) {
			doc.unnamed = append(doc.unnamed, port) // the service takes no other port of a bond
		}
	}
	return doc, macs, nil
}

// nmstateDoc is what the rest of the cluster is checked against.
type nmstateDoc struct {
	nics      []NIC // of ethernet interfaces
	bondPorts []string
	unnamed   []string
	addresses []netip.Prefix
}

func (doc *nmstateDoc) read(root *yamltree.Node) {
	interfaces, _ := root.Get("interfaces")
	if interfaces == nil {
		return
	}
	for _, item := range interfaces.Items {
		name, kind, mac := textOf(item, "name"), textOf(item, "type"), textOf(item, "mac-address")
		if name != "" && (kind == "ethernet" || kind == "" || kind == "infiniband") {
			doc.nics = append(doc.nics, NIC{Name: name, MAC: mac})
		}
		if bond, ok := item.Get("link-aggregation"); ok && kind == "bond" {
			if ports, ok := bond.Get("port"); ok {
				for _, port := range ports.Items {
					doc.bondPorts = append(doc.bondPorts, port.Text)
				}
			}
		}
		for _, family := range []string{"ipv4", "ipv6"} {
			doc.addressesOf(item, family)
		}
	}
}

func (doc *nmstateDoc) addressesOf(item *yamltree.Node, family string) {
	settings, ok := item.Get(family)
	if !ok {
		return
	}
	list, ok := settings.Get("address")
	if !ok {
		return
	}
	for _, address := range list.Items {
		// Every machine has those of its loopback and its links.
		if prefix, err := netip.ParsePrefix(textOf(address, "ip") + "/" + textOf(address, "prefix-length")); err == nil &&
			!prefix.Addr().IsLoopback() && !prefix.Addr().IsLinkLocalUnicast() {
			doc.addresses = append(doc.addresses, prefix)
		}
	}
}

func textOf(n *yamltree.Node, key string) string {
	if value, ok := n.Get(key); ok {
		return value.Text
	}
	return ""
}
