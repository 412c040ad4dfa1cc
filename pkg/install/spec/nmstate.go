package spec

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// StaticNetwork is the network of a host as an nmstate document, and the
// interfaces that it speaks of: by their names in the document, which the service
// replaces by the machine's own, with their MAC addresses in lower case with colons.
// ok is false for a host that uses DHCP, or that is not one of the cluster's own.
//
// The short form becomes one interface, a bond of several, or a VLAN on either,
// with the addresses, routes and DNS that the host, or else network.defaults, names. A
// family without an address is switched off; a host with neither address uses
// DHCP and router advertisement on that interface. The document is the same
// every time.
func (c *Cluster) StaticNetwork(h *Host) (nmstate string, macs []NIC, ok bool) {
	if h == nil || h.Net == nil {
		return "", nil, false
	}
	if h.Net.NMState != nil {
		_, macs, _ := readNMState(h.Net)
		return currentWords(h.Net.NMState.Text()), macs, true
	}
	plan := c.planNetwork(h)
	return plan.nmstate().YAML(), plan.macs(), true
}

// The key of a bond's ports in nmstate: the one that it has now, and the former one, which
// was removed.
const (
	portsKey       = "port"
	formerPortsKey = "slaves"
)

// currentWords is an nmstate document with the key that the ports of bonds have now. All
// else stays as it is written.
func currentWords(text string) string {
	if !strings.Contains(text, formerPortsKey) {
		return text
	}
	root, problems := parseTree([]byte(text))
	if len(problems) > 0 {
		return text
	}
	places := formerPorts(root)
	slices.SortFunc(places, func(a, b yamltree.Position) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	lines := strings.SplitAfter(text, "\n")
	for _, at := range slices.Backward(slices.Compact(places)) { // so that what stands before stays where it is; an alias is in two places
		line := []rune(lines[at.Line-1])
		before, key := string(line[:at.Column-1]), string(line[at.Column-1:])
		lines[at.Line-1] = before + strings.Replace(key, formerPortsKey, portsKey, 1)
	}
	return strings.Join(lines, "")
}

// formerPorts is where the former key stands.
func formerPorts(n *yamltree.Node) (found []yamltree.Position) {
	for _, item := range n.Items {
		found = append(found, formerPorts(item)...)
	}
	for _, entry := range n.Entries {
		if _, both := entry.Value.Get(portsKey); entry.Key == "link-aggregation" && !both {
			for _, below := range entry.Value.Entries {
				if below.Key == formerPortsKey {
					found = append(found, below.At)
				}
			}
		}
		found = append(found, formerPorts(entry.Value)...)
	}
	return found
}

type netPlan struct {
	nics        []NIC // one, or the ports of the bond
	bond        *Bond
	bondName    string
	vlan, mtu   int
	v4, v6      familyPlan
	dns, search []string
	routes      []Route
	unnamed     []string // ports without a MAC address
	sharesBond  bool     // whether the bond is that of the defaults
}

type familyPlan struct {
	ip        netip.Prefix // zero if not static
	automatic bool         // from the network
	gateway   string
	gatewayAt string // the field of the gateway: "host." and its name in the host's net, or that of the defaults
}

func (c *Cluster) planNetwork(h *Host) netPlan {
	n, d := h.Net, c.Spec.Network.Defaults
	p := netPlan{bond: n.Bond, vlan: n.VLAN, mtu: cmp.Or(n.MTU, d.MTU), routes: n.Routes, dns: n.DNS, search: n.Search}
	if p.bond == nil && d.Bond != nil && n.Interface == "" && n.MAC == "" {
		p.bond, p.sharesBond = d.Bond, true
	}
	if p.vlan == 0 && d.VLAN != 0 && !c.Present(c.HostField(h, "net.vlan")) {
		p.vlan = d.VLAN
	}
	for _, text := range []string{n.IP, n.IP6} {
		switch prefix, err := netip.ParsePrefix(text); {
		case err != nil:
		case prefix.Addr().Is4() && text == n.IP:
			p.v4.ip = prefix
		case prefix.Addr().Is6() && (text == n.IP6 || n.IP6 == ""):
			p.v6.ip = prefix
		}
	}
	static := p.v4.ip.IsValid() || p.v6.ip.IsValid()
	if static && p.dns == nil {
		p.dns = d.DNS
	}
	if static && p.search == nil {
		p.search = d.Search
	}
	none := !static && n.IP == "" && n.IP6 == ""
	p.v4.automatic = n.IP == wordDHCP || none
	p.v6.automatic = n.IP6 == wordAuto || none
	p.gateways(n, d)
	p.ports(h)
	return p
}

// The words that stand for an address that is not static.
const (
	wordDHCP = "dhcp"
	wordAuto = "auto"
)

// gateways takes the gateway of each family with a static address, from the host or
// else the defaults; gateway may be an IPv6 address.
func (p *netPlan) gateways(n *HostNet, d NetworkDefaults) {
	for _, candidate := range []struct{ text, at string }{
		{n.Gateway, "host.gateway"}, {n.Gateway6, "host.gateway6"},
		{d.Gateway, "spec.network.defaults.gateway"}, {d.Gateway6, "spec.network.defaults.gateway6"},
	} {
		ip, err := netip.ParseAddr(candidate.text)
		family := &p.v4
		if ip.Is6() {
			family = &p.v6
		}
		if err == nil && family.ip.IsValid() && family.gateway == "" {
			family.gateway, family.gatewayAt = candidate.text, candidate.at
		}
	}
}

func (p *netPlan) ports(h *Host) {
	n := h.Net
	if p.bond == nil {
		nic := NIC{Name: n.Interface, MAC: n.MAC}
		if len(n.Interfaces) == 1 && nic.MAC == "" && (nic.Name == "" || nic.Name == n.Interfaces[0].Name) {
			nic = n.Interfaces[0]
		}
		if found, ok := nicNamed(n.Interfaces, nic.Name); ok && nic.MAC == "" {
			nic = found
		}
		nic.MAC = cmp.Or(nic.MAC, h.Match.MAC)
		if nic.Name == "" {
			nic = nicWithMAC(n.Interfaces, nic.MAC, 0)
		}
		p.nics = []NIC{nic}
		return
	}
	p.bondName = cmp.Or(p.bond.Name, "bond0")
	for i, port := range p.bond.Ports {
		if mac, ok := values.ParseMAC(port); ok {
			p.nics = append(p.nics, nicWithMAC(n.Interfaces, mac, i))
		} else if nic, ok := nicNamed(n.Interfaces, port); ok {
			p.nics = append(p.nics, nic)
		} else {
			p.unnamed = append(p.unnamed, port)
		}
	}
}

func nicNamed(nics []NIC, name string) (NIC, bool) {
	if i := slices.IndexFunc(nics, func(nic NIC) bool { return nic.Name == name }); i >= 0 {
		return nics[i], true
	}
	return NIC{}, false
}

// nicWithMAC is the interface with a MAC address; without a name it gets one by its
// number.
func nicWithMAC(nics []NIC, mac string, i int) NIC {
	name := "nic" + strconv.Itoa(i)
	if known := slices.IndexFunc(nics, func(nic NIC) bool { return nic.MAC == mac }); known >= 0 {
		return nics[known]
	}
	for {
		if _, taken := nicNamed(nics, name); !taken {
			return NIC{Name: name, MAC: mac}
		}
		name = "p" + name
	}
}

func (p *netPlan) macs() []NIC {
	list := make([]NIC, len(p.nics))
	for i, nic := range p.nics {
		list[i] = NIC{Name: nic.Name, MAC: values.CanonicalMAC(nic.MAC)}
	}
	return list
}

// top is the name of the interface that has the addresses.
func (p *netPlan) top() string {
	if p.vlan == 0 {
		return p.base()
	}
	return p.base() + "." + strconv.Itoa(p.vlan)
}

func (p *netPlan) base() string {
	if p.bond == nil {
		return p.nics[0].Name
	}
	return p.bondName
}

// nmstate is the whole document. See nmstate.io for its words.
func (p *netPlan) nmstate() *yamltree.Node {
	doc := yamltree.NewMap(yamltree.Pair("interfaces", p.interfaces()))
	if len(p.dns) > 0 || len(p.search) > 0 {
		config := yamltree.NewMap()
		if len(p.dns) > 0 {
			config.Add("server", p.dns)
		}
		if len(p.search) > 0 {
			config.Add("search", p.search)
		}
		doc.Add("dns-resolver", yamltree.NewMap(yamltree.Pair("config", config)))
	}
	if routes := p.routeList(); len(routes.Items) > 0 {
		doc.Add("routes", yamltree.NewMap(yamltree.Pair("config", routes)))
	}
	return doc
}

func (p *netPlan) interfaces() *yamltree.Node {
	list := yamltree.NewList()
	for _, nic := range p.nics {
		list.Append(p.layer(nic.Name, "ethernet", p.bond == nil && p.vlan == 0))
	}
	if p.bond != nil {
		list.Append(p.layer(p.bondName, "bond", p.vlan == 0, yamltree.Pair("link-aggregation", p.aggregation())))
	}
	if p.vlan != 0 {
		list.Append(p.layer(p.top(), "vlan", true, yamltree.Pair("vlan",
			yamltree.NewMap(yamltree.Pair("base-iface", p.base()), yamltree.Pair("id", p.vlan)))))
	}
	return list
}

// layer is one interface. Only the topmost has addresses.
func (p *netPlan) layer(name, kind string, top bool, details ...yamltree.Entry) *yamltree.Node {
	n := yamltree.NewMap(yamltree.Pair("name", name), yamltree.Pair("type", kind), yamltree.Pair("state", "up"))
	n.Entries = append(n.Entries, details...)
	if p.mtu != 0 {
		n.Add("mtu", p.mtu)
	}
	var v4, v6 familyPlan
	if top {
		v4, v6 = p.v4, p.v6
	}
	n.Add("ipv4", v4.node(p.dns, "dhcp"))
	n.Add("ipv6", v6.node(p.dns, "dhcp", "autoconf"))
	return n
}

// node is the family in nmstate. The keys of how say that the address comes from the
// network; DNS servers that are named replace those that come with it.
func (f familyPlan) node(dns []string, how ...string) *yamltree.Node {
	static := f.ip.IsValid()
	n := yamltree.NewMap(yamltree.Pair("enabled", static || f.automatic))
	if !static && !f.automatic {
		return n
	}
	for _, way := range how {
		n.Add(way, !static)
	}
	switch {
	case static:
		n.Add("address", yamltree.NewList(yamltree.NewMap(yamltree.Pair("ip", f.ip.Addr().String()),
			yamltree.Pair("prefix-length", f.ip.Bits()))))
	case len(dns) > 0:
		n.Add("auto-dns", false)
	}
	return n
}

func (p *netPlan) aggregation() *yamltree.Node {
	mode := cmp.Or(p.bond.Mode, "active-backup")
	if mode == "lacp" {
		mode = "802.3ad"
	}
	options := map[string]string{"miimon": "100"}
	if p.bond.Options != nil {
		options = p.bond.Options
	}
	n := yamltree.NewMap(yamltree.Pair("mode", string(mode)))
	if len(options) > 0 {
		list := yamltree.NewMap()
		for _, key := range slices.Sorted(maps.Keys(options)) {
			list.Add(key, options[key])
		}
		n.Add("options", list)
	}
	ports := yamltree.NewList()
	for _, nic := range p.nics {
		ports.Append(nic.Name)
	}
	n.Add("port", ports)
	return n
}

func (p *netPlan) routeList() *yamltree.Node {
	list := yamltree.NewList()
	add := func(destination, gateway string, metric int) {
		route := yamltree.NewMap(yamltree.Pair("destination", destination), yamltree.Pair("next-hop-address", gateway),
			yamltree.Pair("next-hop-interface", p.top()))
		if metric != 0 {
			route.Add("metric", metric)
		}
		list.Append(route)
	}
	if p.v4.gateway != "" {
		add("0.0.0.0/0", p.v4.gateway, 0)
	}
	if p.v6.gateway != "" {
		add("::/0", p.v6.gateway, 0)
	}
	for _, route := range p.routes {
		add(route.Destination, route.Gateway, route.Metric)
	}
	return list
}
