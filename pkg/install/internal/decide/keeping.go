package decide

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
)

// toWrite says whether a difference of the cluster is to be written now. It tells
// of those that cannot be.
func (p *planner) toWrite(d setting.Difference) bool {
	switch p.keeping(d) {
	case setting.Frozen:
		if d.Known {
			p.drift(model.ScopeCluster, d, "cannot be changed after the cluster was registered")
		}
		return false
	case setting.Cleared:
		return false
	case setting.Derived:
		p.derived(d)
		return false
	case setting.NotYet:
		return p.fitsHosts(d)
	}
	return true
}

// derived tells of machine networks that the service worked out of the virtual
// addresses and the hosts, and that the file has otherwise. Before a host has
// shown its networks they are nobody's, and with other virtual addresses they
// become others.
func (p *planner) derived(d setting.Difference) {
	want := setting.OfCluster(p.spec)
	moved := func(s model.Setting) bool {
		value, said := want[s]
		return said && !setting.Same(s, value, p.cluster.Settings[s])
	}
	if len(p.hostNetworks()) == 0 || moved(setting.APIVIPs) || moved(setting.IngressVIPs) {
		return
	}
	if file := setting.Texts(d.Want); !slices.ContainsFunc(setting.Texts(d.Have), func(cidr string) bool { return !containsPrefix(file, cidr) }) {
		p.drift(model.ScopeCluster, d, "is worked out of the virtual addresses and the hosts' networks by the service")
		return
	}
	have := d.Have.Show(d.Setting)
	p.block(model.Blocker{
		Key: "cluster/" + string(d.Setting), Scope: model.ScopeCluster, Reason: "MachineNetworkDiffers", Cure: model.CureFile, Field: string(d.Setting),
		Message: fmt.Sprintf("the virtual addresses and the hosts lie in %s, and the file says %s; the service works the machine network out of them, and takes it from nobody", have, d.Want.Show(d.Setting)),
		Remedy:  advice.Sprintf("write %s to %s, or give the hosts and spec.network.vips addresses in the network that the file says", have, d.Setting),
	})
}

func containsPrefix(list []string, cidr string) bool {
	return slices.ContainsFunc(list, func(text string) bool { return setting.Prefix(text) == setting.Prefix(cidr) })
}

// fitsHosts says whether a host has the network of the virtual addresses of the
// file: the service takes other ones only then. Until the hosts are there that is
// waited for.
func (p *planner) fitsHosts(d setting.Difference) bool {
	vips := slices.Concat(p.spec.Spec.Network.VIPs.API, p.spec.Spec.Network.VIPs.Ingress)
	if len(vips) == 0 {
		return true // they are taken away
	}
	networks := p.hostNetworks()
	first, err := netip.ParseAddr(vips[0])
	if err != nil || slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(first) }) {
		return true
	}
	key := "cluster/" + string(d.Setting)
	unseen := slices.ContainsFunc(p.matches.Part, func(h *model.Host) bool { return !h.Inventory.Known })
	if _, enough := p.enoughHosts(); !enough || unseen {
		p.wait(model.Wait{
			Key: key, Scope: model.ScopeCluster, Who: model.WhoMachine,
			For: fmt.Sprintf("a host with an address in the network of %s: before, the service takes no change of %s", vips[0], d.Setting),
		})
		return false
	}
	shown := make([]string, 0, len(networks))
	for _, n := range networks {
		shown = append(shown, n.String())
	}
	p.block(model.Blocker{
		Key: key, Scope: model.ScopeCluster, Reason: "VIPOutsideHostNetworks", Cure: model.CureFile, Field: string(d.Setting),
		Message: fmt.Sprintf("no host has an address in the network of the virtual address %s: they have %s", vips[0], strings.Join(shown, ", ")),
		Remedy:  "give spec.network.vips unused addresses of a network that the hosts have, or the hosts addresses in that of the virtual addresses",
	})
	return false
}

// hostNetworks are the networks that the hosts have shown, sorted.
func (p *planner) hostNetworks() []netip.Prefix {
	var out []netip.Prefix
	for i := range p.observed.Hosts {
		for _, nic := range p.observed.Hosts[i].Inventory.Interfaces {
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
