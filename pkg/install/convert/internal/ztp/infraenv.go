package ztp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// BootEnv is what an InfraEnv says of the machines that boot it.
type BootEnv struct {
	Name     string
	Arch     spec.Arch
	Selector map[string]string
}

// Selects says whether an object with these labels belongs to the InfraEnv. An
// empty selector selects nothing.
func (e BootEnv) Selects(labels *source.Node) bool {
	for key, value := range e.Selector {
		if labels.Child(key).Peek() != value || labels.Child(key) == nil {
			return false
		}
	}
	return len(e.Selector) > 0
}

// infraEnv carries an InfraEnv over. Several of them agree, save for the
// architecture and for whose network is whose.
func (r *Hub) infraEnv(h *Objects, n *source.Node) {
	c, s := r.Cluster, r.MapOf(n.Get("spec"))
	r.ObjectNames(n, "")
	env := BootEnv{Name: NameOf(n)}
	r.clusterRef(h, s.Get("clusterRef"))
	if ref := s.Get("pullSecretRef", "name"); ref != nil && len(h.Deployments) > 0 && ref.Peek() == h.Deployments[0].Child("spec").Child("pullSecretRef").Child("name").Peek() {
		r.Means(ref, "is the pull secret of the ClusterDeployment")
	} else {
		r.PullSecretRef(h, ref)
	}
	r.SSHKeys(s.Get("sshAuthorizedKey"))
	r.Proxy(s.Get("proxy"))
	source.SetTexts(r.Account, "spec.network.defaults.ntp", &c.Spec.Network.Defaults.NTP, s.Get("additionalNTPSources"))
	source.SetTexts(r.Account, "spec.network.ntp", &c.Spec.Network.NTP, s.Get("ntpSources"))
	for _, label := range r.MapOf(s.Get("nmStateConfigLabelSelector", "matchLabels")).All() {
		if env.Selector == nil {
			env.Selector = map[string]string{}
		}
		env.Selector[label.Key] = label.Peek()
		r.Means(label, "joins the InfraEnv with the networks of its hosts")
	}
	r.Lose(s.Get("nmStateConfigLabelSelector", "matchExpressions"), "networks are joined by matchLabels only")
	r.MeansEmpty(s.Get("nmStateConfigLabelSelector"), "is empty")
	r.DiscoveryIgnition(s.Get("ignitionConfigOverride"))
	if arch := s.Get("cpuArchitecture"); arch != nil {
		env.Arch = settings.ArchOf(r.Text(arch))
		r.envArch(env.Arch, arch)
	}
	r.KernelArguments(s.Get("kernelArguments"))
	r.TrustBundle(s.Get("additionalTrustBundle"))
	r.MirrorMap(h, s.Get("mirrorRegistryRef"))
	r.ImageType(s.Get("imageType"))
	r.NetworkDelay(s.Get("networkDiscoveryDelaySeconds"))
	r.hubOnly(n, s)
	r.Envs = append(r.Envs, env)
}

// clusterRef carries over whether machines belong to the cluster from their
// first boot.
func (r *Hub) clusterRef(h *Objects, n *source.Node) {
	if n == nil {
		r.Cluster.Spec.InfraEnv.Bind = spec.BindLate
		return
	}
	if len(h.Deployments) > 0 {
		r.Reference(n.Get("name"), h.Deployments[0])
		own := h.Deployments[0].Child("metadata").Child("namespace").Peek()
		if at := n.Get("namespace"); at != nil && at.Peek() != own && own != "" {
			r.Wrong(at, fmt.Sprintf("is %s, but the ClusterDeployment stands in %s", at.Peek(), own), "make the namespaces agree")
		} else {
			r.Means(at, "is the namespace of the ClusterDeployment")
		}
	}
}

// envArch carries an architecture over: the cluster's, or multi where several
// images differ.
func (r *Hub) envArch(arch spec.Arch, n *source.Node) {
	to := &r.Cluster.Spec.OpenShift.Arch
	r.From("spec.openshift.arch", n)
	switch {
	case *to == "" && len(r.Envs) == 0:
		*to = arch
	case *to != arch:
		*to = spec.Multi
	}
}

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
