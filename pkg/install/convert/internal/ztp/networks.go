package ztp

import (
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// HubHosts carries over what single machines have: a BareMetalHost, a static
// network, an Agent.
func (r *Hub) HubHosts(in *source.Input, h *Objects) {
	for _, n := range h.Machines {
		r.hubMachine(h, n)
	}
	for _, n := range h.Networks {
		r.hubNetwork(in, n)
	}
	for _, n := range h.Agents {
		r.hubAgent(n)
	}
}

// hubNetwork carries an NMStateConfig over, to the machine that it is for.
func (r *Hub) hubNetwork(in *source.Input, n *source.Node) {
	labels := n.Get("metadata", "labels")
	at := slices.IndexFunc(r.Envs, func(e BootEnv) bool { return e.Selects(labels) })
	if at < 0 {
		r.Lose(n, "no InfraEnv selects it by its labels")
		return
	}
	for key := range r.Envs[at].Selector {
		r.Means(labels.Get(key), "joins the network with its InfraEnv")
	}
	s := r.MapOf(n.Get("spec"))
	interfaces := s.Get("interfaces")
	var macs []string
	for _, nic := range interfaces.Items() {
		macs = append(macs, nic.Child("macAddress").Peek())
	}
	name := n.Get("metadata", "name")
	short := strings.TrimPrefix(name.Peek(), r.Cluster.Metadata.Name+"-")
	i := r.HostWithMAC(macs...)
	if i < 0 {
		i = r.machineNamed(name.Peek(), short, folderOf(in, macs))
	}
	if i < 0 {
		i = r.AddHost(n)
		r.Host(i).Name = r.Text(name)
		if strings.Trim(short, "0123456789") != "" {
			r.Host(i).Name = short
		}
		r.From(settings.HostField(i, "name"), name)
		r.Present[settings.HostField(i, "hostname")] = true // the machine keeps its own
	}
	r.ObjectNames(n, r.Envs[at].Name)
	r.Network(i, interfaces, s.Get("config"))
	r.hostArch(i, r.Envs[at].Arch)
}

// machineNamed is the machine without a network that has one of the names, -1
// for none. A network is named as its machine, which may boot from another
// interface than those of the network.
func (r *Hub) machineNamed(names ...string) int {
	for _, name := range names {
		if i := r.HostNamed(name); i >= 0 && r.Host(i).Net == nil {
			return i
		}
	}
	return -1
}

// hostArch gives a host the architecture of the image that it boots, where the
// cluster has several.
func (r *Hub) hostArch(i int, arch spec.Arch) {
	if h := r.Host(i); r.Cluster.Spec.OpenShift.Arch == spec.Multi && h.Arch == "" {
		h.Arch = arch
	}
}
