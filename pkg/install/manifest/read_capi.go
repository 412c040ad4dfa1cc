package manifest

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The kinds of Cluster API that are read.
const (
	kindCAPICluster       = "Cluster"
	kindControlPlane      = "OpenshiftAssistedControlPlane"
	kindBootstrap         = "OpenshiftAssistedConfig"
	kindBootstrapTemplate = "OpenshiftAssistedConfigTemplate"
	kindMachineDeployment = "MachineDeployment"
)

// capi reads the Cluster API objects of OpenShift's assisted providers. They
// name no machines: those are chosen by the infrastructure provider.
func (r *reader) capi(in *input) {
	r.nowhere = "cluster.yaml has no place for it"
	h := &hubInput{secrets: map[string]*node{}, configMaps: map[string]*node{}, used: map[*node]bool{}}
	byKind := map[string][]*node{}
	for _, doc := range in.docs {
		group, kind := kindOfDoc(doc)
		switch {
		case strings.HasSuffix(group, "cluster.x-k8s.io"):
			r.header(doc.root)
			byKind[kind] = append(byKind[kind], doc.root)
		case doc.root.kind == mapNode:
			r.object(h, doc.root)
		}
	}
	if len(byKind[kindControlPlane]) != 1 || len(byKind[kindCAPICluster]) > 1 {
		r.oneOf(in, kindControlPlane, byKind[kindControlPlane])
		if len(byKind[kindCAPICluster]) > 1 {
			r.oneOf(in, kindCAPICluster, byKind[kindCAPICluster])
		}
		return
	}
	r.controlPlane(h, byKind[kindControlPlane][0], byKind[kindCAPICluster])
	workers := 0
	for _, n := range byKind[kindMachineDeployment] {
		workers += r.machineDeployment(n)
	}
	r.cluster.Spec.Topology.Workers = &workers
	for _, kind := range []string{kindBootstrapTemplate, kindBootstrap} {
		for _, n := range byKind[kind] {
			r.capiNames(n)
			s := n.get("spec")
			if kind == kindBootstrapTemplate {
				s = s.get("template", "spec")
			}
			r.bootstrap(h, s)
		}
	}
	r.capiHosts(in, h)
	r.capiRest(byKind)
	r.restOfObjects(h)
	r.restOfFiles(in)
}

// capiNames takes what an object is called.
func (r *reader) capiNames(n *node) {
	r.means(n.get("metadata", "name"), "objects are named after the cluster")
	r.objectNamespace(n)
	r.meansIf(n.get("metadata", "labels", "cluster.x-k8s.io/cluster-name"), "joins the object with its Cluster", r.capiName)
}

// capiRest tells what is left to Cluster API.
func (r *reader) capiRest(byKind map[string][]*node) {
	for kind, list := range byKind {
		for _, n := range list {
			switch kind {
			case kindCAPICluster, kindControlPlane, kindBootstrap, kindBootstrapTemplate, kindMachineDeployment:
				r.rest(n, "is a matter of Cluster API, which oaictl does without")
			default:
				r.lose(n, "says how Cluster API finds machines: name them in spec.hosts")
			}
		}
	}
}

func (r *reader) controlPlane(h *hubInput, n *node, clusters []*node) {
	c, s := r.cluster, r.mapOf(n.get("spec"))
	config := s.get("config")
	for _, cluster := range clusters {
		r.capiName = nameOf(cluster)
		r.capiCluster(cluster, n)
	}
	name := config.get("clusterName")
	if name == nil && len(clusters) > 0 {
		name = clusters[0].get("metadata", "name")
	}
	if name == nil {
		name = n.get("metadata", "name")
	}
	setText(r, "metadata.name", &c.Metadata.Name, name)
	r.objectNamespace(n)
	if len(clusters) > 0 {
		r.objectNamespace(clusters[0])
		r.means(clusters[0].get("metadata", "name"), "objects are named after the cluster")
	}
	r.capiNames(n)
	setText(r, "spec.openshift.version", &c.Spec.OpenShift.Version, s.get("distributionVersion"))
	if replicas := s.get("replicas"); replicas != nil {
		c.Spec.Topology.ControlPlane = r.number(replicas)
		r.from("spec.topology.controlPlane", replicas)
	} else {
		one := 1 // what the API server fills in for no number
		c.Spec.Topology.ControlPlane = &one
	}
	setText(r, "spec.baseDomain", &c.Spec.BaseDomain, config.get("baseDomain"))
	r.capiVIPs(config)
	r.pullSecretRef(h, config.get("pullSecretRef", "name"))
	r.mirrorMap(h, config.get("imageRegistryRef"))
	r.manifestRefs(h, r.listOf(config.get("manifestsConfigMapRefs")))
	r.diskEncryption(config.get("diskEncryption"))
	r.proxy(config.get("proxy"))
	r.setBool("spec.schedulableControlPlane", &c.Spec.SchedulableControlPlane, config.get("mastersSchedulable"))
	r.sshKeys(config.get("sshAuthorizedKey"))
	notes := n.get("metadata", "annotations")
	r.installOverrides(notes.get("controlplane.cluster.x-k8s.io/install-config-override"))
	r.capabilities(config.get("capabilities"))
	r.bootstrap(h, s.get("openshiftAssistedConfigSpec"))
	r.rest(s.get("machineTemplate"), "says how Cluster API finds machines: name them in spec.hosts")
	r.rest(notes.get("cluster.x-k8s.io/release-image-repository-override"), "name the release image in spec.openshift.releaseImage")
}

// capiVIPs carries virtual addresses over. Only both together make the platform
// baremetal; without them it is none.
func (r *reader) capiVIPs(config *node) {
	api, ingress := config.get("apiVIPs"), config.get("ingressVIPs")
	if len(api.items()) > 0 && len(ingress.items()) > 0 {
		r.vips(config)
		r.cluster.Spec.Platform.Type = spec.BareMetal
		r.from("spec.platform", config)
		return
	}
	r.cluster.Spec.Platform.Type = spec.NoneType
	for _, n := range []*node{api, ingress} {
		r.meansEmpty(n, "is empty")
		r.lose(n, "is ignored unless apiVIPs and ingressVIPs are both given")
	}
}

// capabilities carries capabilities over, which the install-config has in other
// words.
func (r *reader) capabilities(n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	r.override(n.get("baselineCapability"), "capabilities", "baselineCapabilitySet")
	r.override(n.get("additionalEnabledCapabilities"), "capabilities", "additionalEnabledCapabilities")
}

// capiCluster carries the networks of Cluster over.
func (r *reader) capiCluster(n, controlPlane *node) {
	net := n.get("spec", "clusterNetwork")
	to := &r.cluster.Spec.Network
	if pods := net.get("pods", "cidrBlocks"); pods != nil {
		r.from("spec.network.cluster", pods)
		for i, item := range r.listOf(pods) {
			field := fmt.Sprintf("spec.network.cluster[%d].cidr", i)
			var network spec.ClusterNetwork
			setText(r, field, &network.CIDR, item)
			to.Cluster = append(to.Cluster, network)
		}
	}
	setTexts(r, "spec.network.service", &to.Service, net.get("services", "cidrBlocks"))
	ref := n.get("spec", "controlPlaneRef")
	r.reference(ref.get("name"), controlPlane)
	for _, key := range []string{"apiGroup", "apiVersion", "kind", "namespace"} {
		r.means(ref.get(key), "refers to an object of the same cluster")
	}
	r.lose(n.get("spec", "infrastructureRef"), "says how Cluster API finds machines: name them in spec.hosts")
}

// machineDeployment carries over how many workers there are.
func (r *reader) machineDeployment(n *node) int {
	r.capiNames(n)
	replicas := n.get("spec", "replicas")
	count := r.number(replicas)
	r.from("spec.topology.workers", replicas)
	if name := n.get("spec", "clusterName"); name != nil {
		if name.peek() == r.capiName || r.capiName == "" {
			r.means(name, "is the name of the Cluster")
		} else {
			r.wrong(name, fmt.Sprintf("is of the cluster %s, but the Cluster here is %s", name.peek(), r.capiName), "keep the objects of one cluster together")
		}
	}
	if count == nil {
		return 1 // Cluster API's default
	}
	return *count
}

// bootstrap carries over what the bootstrap provider says of the discovery
// image. The service has one for the cluster.
func (r *reader) bootstrap(h *hubInput, s *node) {
	if s = r.mapOf(s); s == nil {
		return
	}
	c := r.cluster
	r.proxy(s.get("proxy"))
	if ref := s.get("pullSecretRef", "name"); ref != nil {
		if have := c.Spec.PullSecret; have.SecretRef != nil && have.SecretRef.Name == ref.peek() || have.File != "" && h.used[h.secrets[ref.peek()]] {
			r.means(ref, "is the pull secret of the cluster")
		} else {
			r.pullSecretRef(h, ref)
		}
	}
	setTexts(r, "spec.network.defaults.ntp", &c.Spec.Network.Defaults.NTP, s.get("additionalNTPSources"))
	r.sshKeys(s.get("sshAuthorizedKey"))
	if arch := s.get("cpuArchitecture"); arch != nil {
		r.from("spec.openshift.arch", arch)
		switch own := archOf(r.text(arch)); c.Spec.OpenShift.Arch {
		case "", own:
			c.Spec.OpenShift.Arch = own
		default:
			c.Spec.OpenShift.Arch = spec.Multi
		}
	}
	r.capiArguments(s.get("kernelArguments"))
	r.trustBundle(s.get("additionalTrustBundle"))
	for _, label := range r.mapOf(s.get("nmStateConfigLabelSelector", "matchLabels")).all() {
		r.envs = append(r.envs, bootEnv{selector: map[string]string{label.key: label.peek()}})
		r.means(label, "joins machines with their networks")
	}
	r.lose(s.get("osImageVersion"), "the service chooses the image that fits the version of the cluster")
	for _, key := range []string{"preBootstrapCommands", "postBootstrapCommands", "bootstrapCommandSentinelDir", "postBootstrapKubeconfigPath", "nodeRegistration"} {
		r.rest(s.get(key), "runs on installed machines when they boot: write it as Ignition in spec.hosts[].ignition, or as a MachineConfig in spec.manifests")
	}
}

// capiArguments tells kernel arguments: the provider gives them to the installed
// machines, not to the discovery image.
func (r *reader) capiArguments(n *node) {
	r.meansEmpty(n, "is empty")
	r.lose(n, "the provider makes arguments of coreos-installer of it: write them as spec.hosts[].installerArgs, such as --append-karg")
}

// capiHosts carries machines over that stand beside Cluster API's objects as
// BareMetalHosts with a network.
func (r *reader) capiHosts(in *input, h *hubInput) {
	for _, list := range [][]*node{h.deployments, h.installs, h.infraEnvs, h.imageSets} {
		for _, n := range list {
			r.lose(n, "is what the providers make of their own objects, which are read instead")
		}
	}
	r.hubHosts(in, h)
}
