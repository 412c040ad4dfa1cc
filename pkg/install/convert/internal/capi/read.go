// Package capi reads the Cluster API objects of OpenShift's assisted providers.
package capi

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/ztp"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const (
	kindCAPICluster       = "Cluster"
	kindControlPlane      = "OpenshiftAssistedControlPlane"
	kindBootstrap         = "OpenshiftAssistedConfig"
	kindBootstrapTemplate = "OpenshiftAssistedConfigTemplate"
	kindMachineDeployment = "MachineDeployment"
)

type reader struct {
	*ztp.Hub
	name string // of the Cluster
}

// Read reads Cluster API objects, which name no machines: a provider chooses them.
func Read(s *fields.Reader, in *input.Input) {
	r := &reader{Hub: &ztp.Hub{Reader: s}}
	r.Nowhere = "cluster.yaml has no place for it"
	h := ztp.NewObjects()
	byKind := map[string][]*input.Node{}
	for _, doc := range in.Docs {
		group, kind := input.KindOfDoc(doc)
		switch {
		case strings.HasSuffix(group, "cluster.x-k8s.io"):
			r.Header(doc.Root)
			byKind[kind] = append(byKind[kind], doc.Root)
		case doc.Root.Kind == input.MapNode:
			r.Object(h, doc.Root)
		}
	}
	if len(byKind[kindControlPlane]) != 1 || len(byKind[kindCAPICluster]) > 1 {
		r.OneOf(in, kindControlPlane, byKind[kindControlPlane])
		if len(byKind[kindCAPICluster]) > 1 {
			r.OneOf(in, kindCAPICluster, byKind[kindCAPICluster])
		}
		return
	}
	r.controlPlane(h, byKind[kindControlPlane][0], byKind[kindCAPICluster])
	workers := 0
	for _, n := range byKind[kindMachineDeployment] {
		workers += r.machineDeployment(n)
	}
	r.Cluster.Spec.Topology.Workers = &workers
	for _, kind := range []string{kindBootstrapTemplate, kindBootstrap} {
		for _, n := range byKind[kind] {
			r.names(n)
			s := n.Get("spec")
			if kind == kindBootstrapTemplate {
				s = s.Get("template", "spec")
			}
			r.bootstrap(h, s)
		}
	}
	r.machines(in, h)
	r.restOfKinds(byKind)
	r.RestOfObjects(h)
	r.RestOfFiles(in)
}

func (r *reader) names(n *input.Node) {
	r.Means(n.Get("metadata", "name"), "objects are named after the cluster")
	r.ObjectNamespace(n)
	r.MeansIf(n.Get("metadata", "labels", "cluster.x-k8s.io/cluster-name"), "joins the object with its Cluster", r.name)
}

func (r *reader) restOfKinds(byKind map[string][]*input.Node) {
	for kind, list := range byKind {
		for _, n := range list {
			switch kind {
			case kindCAPICluster, kindControlPlane, kindBootstrap, kindBootstrapTemplate, kindMachineDeployment:
				r.Rest(n, "is a matter of Cluster API, which oaictl does without")
			default:
				r.Lose(n, "says how Cluster API finds machines: name them in spec.hosts")
			}
		}
	}
}

func (r *reader) controlPlane(h *ztp.Objects, n *input.Node, clusters []*input.Node) {
	c, s := r.Cluster, r.MapOf(n.Get("spec"))
	config := s.Get("config")
	for _, cluster := range clusters {
		r.name = ztp.NameOf(cluster)
		r.networks(cluster, n)
	}
	name := config.Get("clusterName")
	if name == nil && len(clusters) > 0 {
		name = clusters[0].Get("metadata", "name")
	}
	if name == nil {
		name = n.Get("metadata", "name")
	}
	r.Set("metadata.name", name)
	r.ObjectNamespace(n)
	if len(clusters) > 0 {
		r.ObjectNamespace(clusters[0])
		r.Means(clusters[0].Get("metadata", "name"), "objects are named after the cluster")
	}
	r.names(n)
	r.Fields(s, fields.CAPIControlPlane, fields.NoHost)
	if replicas := s.Get("replicas"); replicas != nil {
		c.Spec.Topology.ControlPlane = r.Number(replicas)
		r.From("spec.topology.controlPlane", replicas)
	} else {
		c.Spec.Topology.ControlPlane = new(1) // what the API server fills in for no number
	}
	r.vips(config)
	r.PullSecretRef(h, config.Get("pullSecretRef", "name"))
	r.MirrorMap(h, config.Get("imageRegistryRef"))
	r.ManifestRefs(h, r.ListOf(config.Get("manifestsConfigMapRefs")))
	notes := n.Get("metadata", "annotations")
	r.InstallOverrides(notes.Get("controlplane.cluster.x-k8s.io/install-config-override"))
	r.capabilities(config.Get("capabilities"))
	r.bootstrap(h, s.Get("openshiftAssistedConfigSpec"))
	r.Keys(n, "capi-control-plane")
}

// vips carries virtual addresses over. Only both together make the platform
// baremetal; without them it is none.
func (r *reader) vips(config *input.Node) {
	api, ingress := config.Get("apiVIPs"), config.Get("ingressVIPs")
	if len(api.Items()) > 0 && len(ingress.Items()) > 0 {
		r.VIPs(config)
		r.Cluster.Spec.Platform.Type = spec.BareMetal
		r.From("spec.platform", config)
		return
	}
	r.Cluster.Spec.Platform.Type = spec.NoneType
	for _, n := range []*input.Node{api, ingress} {
		r.MeansEmpty(n, "is empty")
		r.Lose(n, "is ignored unless apiVIPs and ingressVIPs are both given")
	}
}

func (r *reader) capabilities(n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	r.Override(n.Get("baselineCapability"), "capabilities", "baselineCapabilitySet")
	r.Override(n.Get("additionalEnabledCapabilities"), "capabilities", "additionalEnabledCapabilities")
}

func (r *reader) networks(n, controlPlane *input.Node) {
	net := n.Get("spec", "clusterNetwork")
	to := &r.Cluster.Spec.Network
	if pods := net.Get("pods", "cidrBlocks"); pods != nil {
		r.From("spec.network.cluster", pods)
		for i, item := range r.ListOf(pods) {
			field := fmt.Sprintf("spec.network.cluster[%d].cidr", i)
			var network spec.ClusterNetwork
			r.SetIn(field, &network.CIDR, item)
			to.Cluster = append(to.Cluster, network)
		}
	}
	r.Set("spec.network.service", net.Get("services", "cidrBlocks"))
	ref := n.Get("spec", "controlPlaneRef")
	r.Reference(ref.Get("name"), controlPlane)
	r.Keys(n, "capi-cluster")
}

func (r *reader) machineDeployment(n *input.Node) int {
	r.names(n)
	replicas := n.Get("spec", "replicas")
	count := r.Number(replicas)
	r.From("spec.topology.workers", replicas)
	if name := n.Get("spec", "clusterName"); name != nil {
		if name.Peek() == r.name || r.name == "" {
			r.Means(name, "is the name of the Cluster")
		} else {
			r.Wrong(name, fmt.Sprintf("is of the cluster %s, but the Cluster here is %s", name.Peek(), r.name),
				"keep the objects of one cluster together")
		}
	}
	if count == nil {
		return 1 // Cluster API's default
	}
	return *count
}

// bootstrap carries over the discovery image, of which the service has one for the cluster.
func (r *reader) bootstrap(h *ztp.Objects, s *input.Node) {
	if s = r.MapOf(s); s == nil {
		return
	}
	c := r.Cluster
	r.Fields(s, fields.CAPIBootstrap, fields.NoHost)
	if ref := s.Get("pullSecretRef", "name"); ref != nil {
		if have := c.Spec.PullSecret; have.SecretRef != nil && have.SecretRef.Name == ref.Peek() || have.File != "" &&
			h.Used[h.Secrets[ref.Peek()]] {
			r.Means(ref, "is the pull secret of the cluster")
		} else {
			r.PullSecretRef(h, ref)
		}
	}
	if arch := s.Get("cpuArchitecture"); arch != nil {
		r.From("spec.openshift.arch", arch)
		switch own := clustersettings.CanonicalWord[spec.Arch](r.Text(arch)); c.Spec.OpenShift.Arch {
		case "", own:
			c.Spec.OpenShift.Arch = own
		default:
			c.Spec.OpenShift.Arch = spec.Multi
		}
	}
	for _, label := range r.MapOf(s.Get("nmStateConfigLabelSelector", "matchLabels")).All() {
		r.Envs = append(r.Envs, ztp.BootEnv{Selector: map[string]string{label.Key: label.Peek()}})
		r.Means(label, "joins machines with their networks")
	}
	r.Keys(s, "capi-bootstrap")
}

// machines carries over BareMetalHosts that stand beside Cluster API's objects.
func (r *reader) machines(in *input.Input, h *ztp.Objects) {
	for _, list := range [][]*input.Node{h.Deployments, h.Installs, h.InfraEnvs, h.ImageSets} {
		for _, n := range list {
			r.Lose(n, "is what the providers make of their own objects, which are read instead")
		}
	}
	r.HubHosts(in, h)
}
