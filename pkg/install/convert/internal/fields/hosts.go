package fields

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// BareMetalHost carries over a machine of platform.baremetal.hosts.
func (r *Reader) BareMetalHost(n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	mac := n.Get("bootMACAddress")
	i := r.HostFor(n, []string{mac.Peek()})
	r.Fields(n, InstallHost, i)
	r.BMCOf(i, r.MapOf(n.Get("bmc")))
	r.Network(i, nil, n.Get("networkConfig"))
	if net := r.Host(i).Net; net != nil && len(net.Interfaces) == 0 {
		r.NameInterface(i, mac)
		if mac != nil && len(net.Interfaces) == 0 { // as the agent-based installer does: the machine is known, its interfaces keep their names
			net.Interfaces = []spec.NIC{{Name: "boot", MAC: mac.Peek()}}
			r.From(HostField(i, "net.interfaces[0]"), mac)
		}
	}
	r.Keys(n, "install-config-host")
}

// NameInterface ties the only interface of a network to the address that the
// machine boots from, where the network does not say so itself.
func (r *Reader) NameInterface(i int, mac *input.Node) {
	h := r.Host(i)
	if h.Net.NMState == nil || mac == nil {
		return
	}
	list, _ := h.Net.NMState.Inline["interfaces"].([]any)
	name := ""
	for _, item := range list {
		nic, _ := item.(map[string]any)
		kind, _ := nic["type"].(string)
		if kind != "" && kind != "ethernet" {
			continue
		}
		if _, tied := nic["mac-address"]; tied || name != "" {
			return
		}
		name, _ = nic["name"].(string)
	}
	if name != "" {
		h.Net.Interfaces = []spec.NIC{{Name: name, MAC: mac.Peek()}}
	}
}

// HostField is the path of a field of a host in cluster.yaml.
func HostField(i int, name string) string { return fmt.Sprintf("spec.hosts[%d].%s", i, name) }

// HostFor is the host with one of the addresses or names, else one that is added for n. Two
// hosts of one list are never the same one.
func (r *Reader) HostFor(n *input.Node, macs []string, names ...string) int {
	i, what := r.HostWithMAC(macs...), "MAC address"
	for _, name := range names {
		if i < 0 {
			i, what = r.HostNamed(name), "name"
		}
	}
	if i < 0 {
		return r.AddHost(n)
	}
	if first := r.Origins[fmt.Sprintf("spec.hosts[%d]", i)]; first != nil && first != n && input.AreSiblings(first, n) {
		line, col := first.Position()
		value := cmp.Or(r.Host(i).Name, r.Host(i).Hostname)
		if what != "name" {
			value = r.Host(i).Match.MAC
		}
		r.Wrong(n, fmt.Sprintf("has the %s %s, which the host at %s:%d:%d has already", what, value, first.In.File, line, col),
			"give each host its own")
		return r.AddHost(n)
	}
	return i
}

// HostName carries over the hostname, which is the name unless there is another one.
func (r *Reader) HostName(i int, n *input.Node) {
	h := r.Host(i)
	if h.Name == "" || h.Name == n.Peek() {
		r.Set(HostField(i, "name"), n)
	} else {
		r.Set(HostField(i, "hostname"), n)
	}
}

// AddHost adds a host that came from n, and gives back its number.
func (r *Reader) AddHost(n *input.Node) int {
	i := len(r.Cluster.Spec.Hosts)
	r.Cluster.Spec.Hosts = append(r.Cluster.Spec.Hosts, spec.Host{})
	r.From(fmt.Sprintf("spec.hosts[%d]", i), n)
	return i
}

// Host is one of the hosts so far.
func (r *Reader) Host(i int) *spec.Host { return &r.Cluster.Spec.Hosts[i] }

// HostWithMAC is the host that has one of the addresses, -1 for none.
func (r *Reader) HostWithMAC(macs ...string) int {
	return slices.IndexFunc(r.Cluster.Spec.Hosts, func(h spec.Host) bool {
		return slices.ContainsFunc(macs, func(mac string) bool { return HasMAC(&h, mac) })
	})
}

// HasMAC says whether a host is known to have an address.
func HasMAC(h *spec.Host, mac string) bool {
	return SameMAC(h.Match.MAC, mac) ||
		h.Net != nil && slices.ContainsFunc(h.Net.Interfaces, func(nic spec.NIC) bool { return SameMAC(nic.MAC, mac) })
}

// SameMAC compares two addresses however they are written.
func SameMAC(a, b string) bool { return a != "" && clustersettings.MAC(a) == clustersettings.MAC(b) }

// HostNamed is the host of that name or hostname, -1 for none.
func (r *Reader) HostNamed(name string) int {
	return slices.IndexFunc(r.Cluster.Spec.Hosts, func(h spec.Host) bool {
		return name != "" && (h.Name == name || h.Hostname == name)
	})
}

// NameHost gives a host without a name one, and the machine keeps its own.
func (r *Reader) NameHost(i int) {
	h := r.Host(i)
	if h.Name != "" {
		return
	}
	if h.Hostname != "" {
		h.Name, h.Hostname = h.Hostname, ""
		return
	}
	h.Name = fmt.Sprintf("host-%d", i)
	for n := i; r.HostNamed(h.Name) != i; n++ {
		h.Name = fmt.Sprintf("host-%d-%d", i, n)
	}
	r.Present[HostField(i, "hostname")] = true
}

// Role carries the role of a host over.
func (r *Reader) Role(i int, n *input.Node) {
	input.Carry(r.Account, HostField(i, "role"), &r.Host(i).Role, n, clustersettings.CanonicalWord[spec.Role](n.Peek()))
}

// MAC carries over the address by which a host is recognised.
func (r *Reader) MAC(i int, n *input.Node) {
	if SameMAC(n.Peek(), r.Host(i).Match.MAC) {
		r.Text(n)
	}
	r.Set(HostField(i, "match.mac"), n)
}

// Arch carries the architecture of the cluster over.
func (r *Reader) Arch(n *input.Node) {
	input.Carry(r.Account, "spec.openshift.arch", &r.Cluster.Spec.OpenShift.Arch, n, clustersettings.CanonicalWord[spec.Arch](n.Peek()))
}

// Network carries the static network of a host over: nmstate, and the interfaces
// that it speaks of. Without nmstate the host uses DHCP and is only recognised by
// its interfaces.
func (r *Reader) Network(i int, interfaces, config *input.Node) {
	h := r.Host(i)
	if config != nil && len(config.Children) == 0 {
		r.MeansEmpty(config, "is empty, which is DHCP")
		config = nil
	}
	config.RenamePorts()
	switch {
	case config == nil:
	case h.Net != nil && h.Net.NMState != nil:
		if r.SameDocument(h.Net.NMState, config) {
			config.Take()
		} else {
			r.Second(HostField(i, "net.nmstate"), config)
		}
		config = nil
	default:
		if document := r.Document(HostField(i, "net.nmstate"), config); document != nil {
			if h.Net == nil {
				h.Net = &spec.HostNet{}
			}
			h.Net.NMState = document
		}
	}
	for j, nic := range r.ListOf(interfaces) {
		r.nic(i, j, nic)
	}
}

func (r *Reader) nic(i, j int, n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	h, mac, name := r.Host(i), n.Get("macAddress"), n.Get("name")
	if h.Match.MAC == "" && mac != nil {
		h.Match.MAC = mac.Peek()
		r.From(HostField(i, "match.mac"), mac)
	}
	if h.Net == nil || h.Net.NMState == nil {
		r.Means(name, "names an interface that no network configuration speaks of")
		if mac != nil && SameMAC(mac.Peek(), h.Match.MAC) {
			r.Text(mac)
			return
		}
		r.Lose(mac, "a machine is recognised by one MAC address, "+h.Match.MAC+
			", and the host has no network configuration that speaks of this one")
		return
	}
	for _, known := range h.Net.Interfaces {
		if name != nil && known.Name == name.Peek() && SameMAC(known.MAC, mac.Peek()) {
			n.Take()
			return
		}
	}
	field := fmt.Sprintf("%s[%d]", HostField(i, "net.interfaces"), len(h.Net.Interfaces))
	r.From(field, n)
	var nic spec.NIC
	r.SetIn(field+".name", &nic.Name, name)
	r.SetIn(field+".mac", &nic.MAC, mac)
	h.Net.Interfaces = append(h.Net.Interfaces, nic)
}

// NodeLabel carries one label of a node over.
func (r *Reader) NodeLabel(i int, key string, n *input.Node) {
	h := r.Host(i)
	if h.Labels == nil {
		h.Labels = map[string]string{}
	}
	h.Labels[key] = r.Text(n)
	r.From(HostField(i, "labels."+key), n)
}

// NodeLabels carries a map of them over.
func (r *Reader) NodeLabels(i int, n *input.Node) {
	for _, label := range r.MapOf(n).All() {
		if label.Kind == input.NullNode {
			label.Kind = input.TextNode
		}
		r.NodeLabel(i, label.Key, label)
	}
}

// InstallerArgs carries over arguments of coreos-installer, a JSON list in a text.
func (r *Reader) InstallerArgs(i int, n *input.Node) {
	r.Set(HostField(i, "installerArgs"), r.EmbedText(n))
}

// HostIgnition carries over what is merged into a host's own Ignition.
func (r *Reader) HostIgnition(i int, n *input.Node) {
	if n = r.EmbedText(n); n != nil {
		r.Host(i).Ignition = r.Document(HostField(i, "ignition"), n)
	}
}
