package decide

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/names"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// networks compares the addresses and networks of the file with those that the hosts have. It is
// certain as soon as their inventories are there: the service takes minutes to say so, in its own terms.
func (p *planner) networks() {
	if p.only != "" || p.cluster.State == model.ClusterReady && !p.movesVIPs() {
		return // the service knows better
	}
	have := p.networksOfHosts()
	if len(have) == 0 {
		return
	}
	machine := p.settingOrFile(model.SettingMachineNetworks, p.spec.Spec.Network.Machine)
	outside, field := p.vipsOutside(have)
	remedy := model.Advice("set spec.network.vips to unused addresses of a network that the hosts have")
	switch {
	case outside != "" && len(machine) > 0:
		outside += "; spec.network.machine is " + strings.Join(machine, " and ")
		remedy += ", and spec.network.machine to that network"
	case outside == "":
		outside, field = p.machineOutside(have, machine)
		remedy = "set spec.network.machine to a network that the host has"
	}
	if outside == "" {
		return
	}
	p.block(model.Blocker{
		Key: "cluster/networks", Scope: model.ScopeCluster, Reason: reasonNetworks, Cure: model.CureFile, Field: field,
		Message: fmt.Sprintf("%s; the hosts have %s", outside, said(have)),
		Remedy:  remedy + "; or give the hosts addresses of that network, and boot them again",
	})
}

// hostNetwork is a network and the hosts that have an address in it.
type hostNetwork struct {
	prefix netip.Prefix
	hosts  []string
}

// networksOfHosts are the networks of the control plane hosts, which have to hold the virtual addresses.
// There are none while a host, or an inventory, is missing.
func (p *planner) networksOfHosts() (have []hostNetwork) {
	if _, enough := p.attendance.enoughHosts(); !enough {
		return nil
	}
	for _, h := range p.roster.Part {
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
			if name := p.roster.Call(h); !slices.Contains(have[i].hosts, name) {
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
		texts = append(texts, fmt.Sprintf("%s (%s)", n.prefix, names.Few(n.hosts)))
	}
	return strings.Join(texts, ", ")
}

// vipsOutside says which virtual addresses of the file are in none of the networks.
func (p *planner) vipsOutside(have []hostNetwork) (text, field string) {
	network := p.spec.Spec.Network
	if slices.Contains(p.settingOrFile(model.SettingLoadBalancer, []string{string(network.LoadBalancer)}), string(spec.UserManaged)) {
		return "", ""
	}
	var outside []string
	for _, of := range []struct {
		name  string
		key   model.Setting
		given []string
	}{{"the API address", model.SettingAPIVIPs, network.VIPs.API}, {"the ingress address", model.SettingIngressVIPs, network.VIPs.Ingress}} {
		for _, address := range p.settingOrFile(of.key, of.given) {
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
		text = fmt.Sprintf("%s %s in no network of the hosts", strings.Join(outside, " and "), verb)
	}
	return text, field
}

// machineOutside says which machine networks of a single node, which has no virtual addresses, the
// host has no address in.
func (p *planner) machineOutside(have []hostNetwork, machine []string) (text, field string) {
	if !p.spec.SingleNode() {
		return "", ""
	}
	for _, network := range machine {
		prefix, err := netip.ParsePrefix(network)
		if err != nil || slices.ContainsFunc(have, func(n hostNetwork) bool { return n.prefix.Overlaps(prefix) }) {
			continue
		}
		return fmt.Sprintf("the machine network %s is none of the host's", network), string(model.SettingMachineNetworks)
	}
	return "", ""
}

// settingOrFile is what the file says, or else what the service holds.
func (p *planner) settingOrFile(key model.Setting, file []string) []string {
	if len(file) > 0 && file[0] != "" {
		return file
	}
	var list []string
	if value, said := p.cluster.Settings[key]; said {
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
