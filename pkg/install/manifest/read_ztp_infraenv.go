package manifest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// bootEnv is what an InfraEnv says of the machines that boot it.
type bootEnv struct {
	name     string
	arch     spec.Arch
	selector map[string]string
}

// selects says whether an object with these labels belongs to the InfraEnv. An
// empty selector selects nothing.
func (e bootEnv) selects(labels *node) bool {
	for key, value := range e.selector {
		if labels.child(key).peek() != value || labels.child(key) == nil {
			return false
		}
	}
	return len(e.selector) > 0
}

// infraEnv carries an InfraEnv over. Several of them agree, save for the
// architecture and for whose network is whose.
func (r *reader) infraEnv(h *hubInput, n *node) {
	c, s := r.cluster, r.mapOf(n.get("spec"))
	r.objectNames(n, "")
	env := bootEnv{name: nameOf(n)}
	r.clusterRef(h, s.get("clusterRef"))
	if ref := s.get("pullSecretRef", "name"); ref != nil && len(h.deployments) > 0 && ref.peek() == h.deployments[0].child("spec").child("pullSecretRef").child("name").peek() {
		r.means(ref, "is the pull secret of the ClusterDeployment")
	} else {
		r.pullSecretRef(h, ref)
	}
	r.sshKeys(s.get("sshAuthorizedKey"))
	r.proxy(s.get("proxy"))
	setTexts(r, "spec.network.defaults.ntp", &c.Spec.Network.Defaults.NTP, s.get("additionalNTPSources"))
	setTexts(r, "spec.network.ntp", &c.Spec.Network.NTP, s.get("ntpSources"))
	for _, label := range r.mapOf(s.get("nmStateConfigLabelSelector", "matchLabels")).all() {
		if env.selector == nil {
			env.selector = map[string]string{}
		}
		env.selector[label.key] = label.peek()
		r.means(label, "joins the InfraEnv with the networks of its hosts")
	}
	r.lose(s.get("nmStateConfigLabelSelector", "matchExpressions"), "networks are joined by matchLabels only")
	r.meansEmpty(s.get("nmStateConfigLabelSelector"), "is empty")
	r.discoveryIgnition(s.get("ignitionConfigOverride"))
	if arch := s.get("cpuArchitecture"); arch != nil {
		env.arch = archOf(r.text(arch))
		r.envArch(env.arch, arch)
	}
	r.kernelArguments(s.get("kernelArguments"))
	r.trustBundle(s.get("additionalTrustBundle"))
	r.mirrorMap(h, s.get("mirrorRegistryRef"))
	r.imageType(s.get("imageType"))
	r.networkDelay(s.get("networkDiscoveryDelaySeconds"))
	r.hubOnly(n, s)
	r.envs = append(r.envs, env)
}

// clusterRef carries over whether machines belong to the cluster from their
// first boot.
func (r *reader) clusterRef(h *hubInput, n *node) {
	if n == nil {
		r.cluster.Spec.InfraEnv.Bind = spec.BindLate
		return
	}
	if len(h.deployments) > 0 {
		r.reference(n.get("name"), h.deployments[0])
		own := h.deployments[0].child("metadata").child("namespace").peek()
		if at := n.get("namespace"); at != nil && at.peek() != own && own != "" {
			r.wrong(at, fmt.Sprintf("is %s, but the ClusterDeployment stands in %s", at.peek(), own), "make the namespaces agree")
		} else {
			r.means(at, "is the namespace of the ClusterDeployment")
		}
	}
}

// envArch carries an architecture over: the cluster's, or multi where several
// images differ.
func (r *reader) envArch(arch spec.Arch, n *node) {
	to := &r.cluster.Spec.OpenShift.Arch
	r.from("spec.openshift.arch", n)
	switch {
	case *to == "" && len(r.envs) == 0:
		*to = arch
	case *to != arch:
		*to = spec.Multi
	}
}

func (r *reader) discoveryIgnition(n *node) {
	if n == nil || n.kind == textNode && n.text == "" {
		r.text(n)
		return
	}
	const field = "spec.discovery.ignition"
	if n = r.embed(n); n == nil {
		return
	}
	d := &r.cluster.Spec.Discovery
	if d.Ignition != nil {
		if r.sameDocument(d.Ignition, n) {
			n.take()
		} else {
			r.second(field, n)
		}
		return
	}
	d.Ignition = r.document(field, n)
}

// kernelArguments carries over what is appended; oaictl takes nothing away from
// the image's own arguments.
func (r *reader) kernelArguments(n *node) {
	if n == nil {
		return
	}
	const field = "spec.discovery.kernelArgs"
	list, lines := []string{}, []*node{}
	for _, item := range r.listOf(n) {
		operation, value := item.get("operation"), item.get("value")
		if operation.peek() != "append" {
			r.lose(item, "oaictl only appends kernel arguments")
			continue
		}
		r.text(operation)
		list, lines = append(list, r.text(value)), append(lines, value)
	}
	to := &r.cluster.Spec.Discovery.KernelArgs
	if *to != nil {
		if !slices.Equal(*to, list) {
			r.losses = append(r.losses, lost{at: n, loss: Loss{Path: n.path(), Value: n.plain(), Why: "is another list than that of the first InfraEnv: cluster.yaml has one for all"}})
		}
		return
	}
	*to = list
	for i, line := range lines {
		r.from(fmt.Sprintf("%s[%d]", field, i), line)
	}
	r.from(field, n)
}

func (r *reader) imageType(n *node) {
	if n == nil {
		return
	}
	image := spec.ImageType(strings.TrimSuffix(n.peek(), "-iso"))
	to := &r.cluster.Spec.Boot.Image
	if *to != "" && *to != image {
		r.second("spec.boot.image", n)
		return
	}
	r.text(n)
	*to = image
	r.from("spec.boot.image", n)
}

func (r *reader) networkDelay(n *node) {
	seconds := r.number(n)
	if seconds == nil {
		return
	}
	const field = "spec.discovery.networkDelay"
	delay := spec.Duration(time.Duration(*seconds) * time.Second)
	to := &r.cluster.Spec.Discovery.NetworkDelay
	switch {
	case *seconds < 0:
		r.wrong(n, "is negative", "")
	case *to != 0 && *to != delay:
		n.taken = false
		r.second(field, n)
	default:
		*to = delay
		r.from(field, n)
	}
}

// hubHosts carries over what single machines have: a BareMetalHost, a static
// network, an Agent.
func (r *reader) hubHosts(in *input, h *hubInput) {
	for _, n := range h.machines {
		r.hubMachine(h, n)
	}
	for _, n := range h.networks {
		r.hubNetwork(in, n)
	}
	for _, n := range h.agents {
		r.hubAgent(n)
	}
}

// hubNetwork carries an NMStateConfig over, to the machine that it is for.
func (r *reader) hubNetwork(in *input, n *node) {
	labels := n.get("metadata", "labels")
	at := slices.IndexFunc(r.envs, func(e bootEnv) bool { return e.selects(labels) })
	if at < 0 {
		r.lose(n, "no InfraEnv selects it by its labels")
		return
	}
	for key := range r.envs[at].selector {
		r.means(labels.get(key), "joins the network with its InfraEnv")
	}
	s := r.mapOf(n.get("spec"))
	interfaces := s.get("interfaces")
	var macs []string
	for _, nic := range interfaces.items() {
		macs = append(macs, nic.child("macAddress").peek())
	}
	name := n.get("metadata", "name")
	short := strings.TrimPrefix(name.peek(), r.cluster.Metadata.Name+"-")
	i := r.hostWithMAC(macs...)
	if i < 0 {
		i = r.machineNamed(name.peek(), short, in.folderOf(macs))
	}
	if i < 0 {
		i = r.addHost(n)
		r.host(i).Name = r.text(name)
		if strings.Trim(short, "0123456789") != "" {
			r.host(i).Name = short
		}
		r.from(hostField(i, "name"), name)
		r.present[hostField(i, "hostname")] = true // the machine keeps its own
	}
	r.objectNames(n, r.envs[at].name)
	r.network(i, interfaces, s.get("config"))
	r.hostArch(i, r.envs[at].arch)
}

// machineNamed is the machine without a network that has one of the names, -1
// for none. A network is named as its machine, which may boot from another
// interface than those of the network.
func (r *reader) machineNamed(names ...string) int {
	for _, name := range names {
		if i := r.hostNamed(name); i >= 0 && r.host(i).Net == nil {
			return i
		}
	}
	return -1
}

// hostArch gives a host the architecture of the image that it boots, where the
// cluster has several.
func (r *reader) hostArch(i int, arch spec.Arch) {
	if h := r.host(i); r.cluster.Spec.OpenShift.Arch == spec.Multi && h.Arch == "" {
		h.Arch = arch
	}
}
