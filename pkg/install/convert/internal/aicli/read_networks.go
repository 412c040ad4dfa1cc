package aicli

import (
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// network carries a static network over: nmstate as it is, or below
// network_yaml, or in a file.
func (r *reader) network(n *source.Node) {
	config := n
	var table *source.Node
	if n.Kind == source.MapNode {
		table = n.Get("mac_interface_map")
		if inner := n.Get("network_yaml"); inner != nil {
			config = r.Embed(inner)
		}
	} else if n.Kind == source.TextNode && !strings.Contains(n.Text, "\n") {
		r.Lose(n, "is a file with the network of a host: write it as spec.hosts[].net.nmstate: {file: PATH}")
		return
	} else {
		config = r.Embed(n)
	}
	if config == nil {
		return
	}
	macs := networkMACs(config, table)
	i := r.HostWithMAC(macs...)
	if i < 0 && r.anyUnaddressed() {
		r.Wrong(n, "it is not known which of the hosts this network is for", "write the MAC address of each machine into hosts[].mac")
		return
	}
	if i < 0 {
		i = r.AddHost(n)
		r.Present[settings.HostField(i, "hostname")] = true
	}
	r.networkTable(i, table)
	if config == n { // nmstate beside the table: the keys but that one
		bare := *n
		bare.Children = slices.DeleteFunc(slices.Clone(n.Children), func(c *source.Node) bool { return c.Key == "mac_interface_map" })
		config = &bare
	}
	r.Network(i, nil, config)
	if len(macs) > 0 && r.Host(i).Match.MAC == "" {
		r.Host(i).Match.MAC = macs[0]
	}
	if table == nil && r.Host(i).Net != nil && len(macs) == 0 && r.Host(i).Match.MAC != "" {
		r.NameInterface(i, &source.Node{In: n.In, Kind: source.TextNode, Text: r.Host(i).Match.MAC})
	}
}

// anyUnaddressed says whether there is a host that a network with an unknown
// address may be for: taken for another machine it would stand there twice.
func (r *reader) anyUnaddressed() bool {
	return slices.ContainsFunc(r.Cluster.Spec.Hosts, func(h spec.Host) bool { return h.Match.MAC == "" && h.Net == nil })
}

// networkTable carries over which interface has which address.
func (r *reader) networkTable(i int, table *source.Node) {
	for _, entry := range r.ListOf(table) {
		var nic spec.NIC
		source.SetText(r.Account, "", &nic.Name, entry.Get("logical_nic_name"))
		source.SetText(r.Account, "", &nic.MAC, entry.Get("mac_address"))
		h := r.Host(i)
		if h.Net == nil {
			h.Net = &spec.HostNet{}
		}
		h.Net.Interfaces = append(h.Net.Interfaces, nic)
	}
}

// networkMACs are the addresses that a network speaks of.
func networkMACs(config, table *source.Node) []string {
	var macs []string
	for _, entry := range table.Items() {
		macs = append(macs, entry.Child("mac_address").Peek())
	}
	for _, nic := range config.Child("interfaces").Items() {
		if mac := nic.Child("mac-address").Peek(); mac != "" && table == nil {
			macs = append(macs, mac)
		}
	}
	return macs
}
