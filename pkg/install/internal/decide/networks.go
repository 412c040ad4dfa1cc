package decide

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// networks compares the addresses and networks of the file with those that the hosts have.
type networks struct {
	*collector
	spec       *spec.Cluster
	hosts      []model.Host
	cluster    *model.Cluster
	only       string
	roster     *roster
	attendance *attendance
}

// compare compares the addresses and networks of the file with those that the hosts have. It is
// certain as soon as their inventories are there: the service takes minutes to say so, in its own terms.
func (ns *networks) compare() {
	if ns.only != "" || ns.cluster.State == model.ClusterReady && !ns.movesVIPs() {
		return // the service knows better
	}
	have := ns.ofHosts()
	if len(have) == 0 {
		return
	}
	machine := ns.settingOrFile(model.SettingMachineNetworks, ns.spec.Spec.Network.Machine)
	outside, field := ns.vipsOutside(have)
	remedy := model.Advice("set spec.network.vips to unused addresses of a network of the hosts")
	switch {
	case outside != "" && len(machine) > 0:
		outside += "; spec.network.machine is " + strings.Join(machine, " and ")
		remedy += ", and spec.network.machine to that network"
	case outside == "":
		outside, field = ns.machineOutside(have, machine)
		remedy = "set spec.network.machine to a network of the host"
	}
	if outside == "" {
		return
	}
	ns.block(model.Blocker{
		Key: "cluster/networks", Scope: model.ScopeCluster, Reason: reasonNetworks, Cure: model.CureFile, Field: field,
		Message: fmt.Sprintf("%s; the hosts have %s", outside, said(have)),
		Remedy:  remedy + "; or give the hosts addresses in that network, and boot them again",
	})
}

// hostNetwork is a network and the hosts that have an address in it.
type hostNetwork struct {
	prefix netip.Prefix
	hosts  []string
}

// ofHosts are the networks of the control plane hosts, which have to hold the virtual addresses.
// There are none while a host, or an inventory, is missing.
func (ns *networks) ofHosts() (have []hostNetwork) {
	if _, enough := ns.attendance.enoughHosts(); !enough {
		return nil
	}
	for _, h := range ns.roster.Part {
		if h.Role == spec.Worker {
			continue
		}
		if !h.Inventory.Known {
			return nil
		}
		for _, prefix := range networksOf(h) {
			i := slices.IndexFunc(have, func(n hostNetwork) bool { return n.prefix == prefix })
			if i < 0 {
				have, i = append(have, hostNetwork{prefix: prefix}), len(have)
			}
			if name := ns.roster.Call(h); !slices.Contains(have[i].hosts, name) {
				have[i].hosts = append(have[i].hosts, name)
			}
		}
	}
	return have
}

func networksOf(h *model.Host) (networks []netip.Prefix) {
	for _, i := range h.Inventory.Interfaces {
		for _, address := range i.Addresses {
			prefix, err := netip.ParsePrefix(address)
			if err == nil && !prefix.Addr().IsLinkLocalUnicast() && !prefix.Addr().IsLoopback() {
				networks = append(networks, prefix.Masked())
			}
		}
	}
	return networks
}

// said lists networks, with the hosts that have them where these are not all alike.
func said(have []hostNetwork) string {
	texts := make([]string, 0, len(have))
	for _, n := range have {
		texts = append(texts, fmt.Sprintf("%s (%s)", n.prefix, listtext.ListText(n.hosts)))
	}
	return strings.Join(texts, ", ")
}

// vipsOutside says which virtual addresses of the file are in none of the networks.
func (ns *networks) vipsOutside(have []hostNetwork) (text, field string) {
	network := ns.spec.Spec.Network
	if slices.Contains(ns.settingOrFile(model.SettingLoadBalancer, []string{string(network.LoadBalancer)}), string(spec.UserManaged)) {
		return "", ""
	}
	var outside []string
	for _, of := range []struct {
		name  string
		key   model.Setting
		given []string
	}{{"the API address", model.SettingAPIVIPs, network.VIPs.API}, {"the ingress address", model.SettingIngressVIPs, network.VIPs.Ingress}} {
		for _, address := range ns.settingOrFile(of.key, of.given) {
			ip, err := netip.ParseAddr(address)
			if err != nil || slices.ContainsFunc(have, func(n hostNetwork) bool { return n.prefix.Contains(ip) }) {
				continue
			}
			outside = append(outside, of.name+" "+address)
			switch {
			case field == "":
				field = string(of.key)
			case field != string(of.key):
				field = "spec.network.vips"
			}
		}
	}
	verb := "is"
	if len(outside) > 1 {
		verb = "are"
	}
	if len(outside) > 0 {
		text = fmt.Sprintf("%s %s not in a network of the hosts", strings.Join(outside, " and "), verb)
	}
	return text, field
}

// machineOutside says which machine networks of a single node, which has no virtual addresses, the
// host has no address in.
func (ns *networks) machineOutside(have []hostNetwork, machine []string) (text, field string) {
	if !ns.spec.SingleNode() {
		return "", ""
	}
	for _, network := range machine {
		prefix, err := netip.ParsePrefix(network)
		if err != nil || slices.ContainsFunc(have, func(n hostNetwork) bool { return n.prefix.Overlaps(prefix) }) {
			continue
		}
		return fmt.Sprintf("the machine network %s is not a network of the host", network), string(model.SettingMachineNetworks)
	}
	return "", ""
}

// settingOrFile is what the file says, or else what the service holds.
func (ns *networks) settingOrFile(key model.Setting, file []string) []string {
	if len(file) > 0 && file[0] != "" {
		return file
	}
	var list []string
	if value, said := ns.cluster.Settings[key]; said {
		if value.Decode(&list) == nil && len(list) > 0 {
			return list
		}
		var one string
		if value.Decode(&one) == nil {
			return []string{one}
		}
	}
	return file
}

// derived reports machine networks that the service derived from the virtual addresses and the hosts, and that differ
// from the file. Before a host has reported its networks, the machine networks belong to no host, and other virtual
// addresses change them.
func (ns *networks) derived(d clustersettings.Difference) {
	if len(ns.seen()) == 0 || ns.movesVIPs() {
		return
	}
	if file := clustersettings.Texts(d.Want); !slices.ContainsFunc(clustersettings.Texts(d.Have),
		func(cidr string) bool { return !containsPrefix(file, cidr) }) {
		ns.reportDrift(model.ScopeCluster, d, "is calculated by the service from the virtual addresses and the hosts' networks")
		return
	}
	have := clustersettings.Show(d.Setting, d.Have)
	ns.block(model.Blocker{
		Key: "cluster/" + string(d.Setting), Scope: model.ScopeCluster, Reason: "MachineNetworkDiffers", Cure: model.CureFile,
		Field: string(d.Setting),
		Message: fmt.Sprintf("the virtual addresses and the hosts are in %s, but the file has %s. The service calculates the machine "+
			"network from these addresses, and does not accept another one", have, clustersettings.Show(d.Setting, d.Want)),
		Remedy: model.Advicef("write %s to %s, or give the hosts and spec.network.vips addresses in the network of the file", have,
			d.Setting),
	})
}

// movesVIPs reports whether the file has other virtual addresses than the service.
func (ns *networks) movesVIPs() bool {
	want := clustersettings.OfCluster(ns.spec)
	return slices.ContainsFunc([]model.Setting{model.SettingAPIVIPs, model.SettingIngressVIPs}, func(s model.Setting) bool {
		value, said := want[s]
		return said && !clustersettings.Same(s, value, ns.cluster.Settings[s])
	})
}

func containsPrefix(list []string, cidr string) bool {
	return slices.ContainsFunc(list, func(text string) bool { return clustersettings.Prefix(text) == clustersettings.Prefix(cidr) })
}

// reachesHosts reports whether a host has the network of the virtual addresses of the file: the service takes other
// ones only then. Until the hosts are there that is waited for.
func (ns *networks) reachesHosts(d clustersettings.Difference) bool {
	vips := slices.Concat(ns.spec.Spec.Network.VIPs.API, ns.spec.Spec.Network.VIPs.Ingress)
	if len(vips) == 0 {
		return true // they are taken away
	}
	networks := ns.seen()
	first, err := netip.ParseAddr(vips[0])
	if err != nil || slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(first) }) {
		return true
	}
	key := "cluster/" + string(d.Setting)
	unseen := slices.ContainsFunc(ns.roster.Part, func(h *model.Host) bool { return !h.Inventory.Known })
	if _, enough := ns.attendance.enoughHosts(); !enough || unseen {
		ns.wait(model.Wait{
			Key: key, Scope: model.ScopeCluster, Who: model.WhoMachine,
			For: fmt.Sprintf("a host with an address in the network of %s: until then, the service does not accept a change of %s",
				vips[0], d.Setting),
		})
		return false
	}
	return false // networks says why
}

// seen are the networks that the hosts have shown, sorted.
func (ns *networks) seen() []netip.Prefix {
	var out []netip.Prefix
	for i := range ns.hosts {
		for _, nic := range ns.hosts[i].Inventory.Interfaces {
			for _, text := range nic.Addresses {
				prefix, err := netip.ParsePrefix(text)
				if err == nil && !prefix.Addr().IsLinkLocalUnicast() {
					out = append(out, prefix.Masked())
				}
			}
		}
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	return slices.Compact(out)
}
