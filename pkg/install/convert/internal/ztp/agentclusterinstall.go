package ztp

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubobjects"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func (r *Hub) agentClusterInstall(h *Objects, n *source.Node) {
	c, s := r.Cluster, r.MapOf(n.Get("spec"))
	r.ObjectNames(n, "")
	if len(h.Deployments) > 0 {
		r.Reference(s.Get("clusterDeploymentRef", "name"), h.Deployments[0])
	}
	r.Tag(n.Get("metadata", "labels", hubapi.LabelConsumer))
	r.VIPs(s)
	r.Balancer(s.Get("loadBalancer", "type"))
	r.rows(n, hubobjects.InstallTable(), setting.ControlPlane, setting.Workers, setting.Arbiters, setting.NTP, setting.SchedulableCP)
	if s.Get("provisionRequirements") != nil && c.Spec.Topology.Workers == nil {
		c.Spec.Topology.Workers = new(0)
	}
	r.PlatformType(s.Get("platformType"), s.Get("external"))
	r.Networking(s.Get("networking"))
	r.userManaged(s.Get("networking", "userManagedNetworking"))
	r.SSHKeys(s.Get("sshPublicKey"))
	r.agentPools(s)
	r.Hold(s.Get("holdInstallation"))
	r.ignitionEndpoint(h, s.Get("ignitionEndpoint"))
	r.DiskEncryption(s.Get("diskEncryption"))
	r.Proxy(s.Get("proxy"))
	r.MirrorMap(h, s.Get("mirrorRegistryRef"))
	r.manifestMaps(h, s)
	notes := n.Get("metadata", "annotations")
	r.InstallOverrides(notes.Get(hubapi.AnnotationInstallConfigOverrides))
	r.Ignored("spec.ignoreValidations.cluster", &c.Spec.IgnoreValidations.Cluster, notes.Get(hubapi.AnnotationIgnoredClusterValidations))
	r.Ignored("spec.ignoreValidations.hosts", &c.Spec.IgnoreValidations.Hosts, notes.Get(hubapi.AnnotationIgnoredHostValidations))
	r.Rest(s.Get("clusterMetadata"), "is written by the service, or belongs to a cluster that is installed already")
}

// rows carries over settings that an object holds in the words of cluster.yaml.
func (r *Hub) rows(n *source.Node, table hubobjects.Table, names ...setting.Name) {
	for _, name := range names {
		row, _ := table.Row(name)
		r.Set(string(name), n.Get(row.Paths[0]...))
	}
}

// PlatformType carries a platform over, in the words of AgentClusterInstall.
func (r *Hub) PlatformType(n, external *source.Node) {
	to := &r.Cluster.Spec.Platform
	word := r.Text(n)
	switch word {
	case "":
	case "BareMetal", "None", "VSphere", "Nutanix", "External":
		to.Type = spec.PlatformType(strings.ToLower(word))
	default:
		r.Wrong(n, fmt.Sprintf("%q is not known here", word), "write BareMetal, None, VSphere, Nutanix or External")
	}
	r.From("spec.platform", n)
	if external = r.MapOf(external); external != nil {
		to.External = &spec.ExternalPlatform{}
		r.From("spec.platform.external", external)
		r.Set("spec.platform.external.name", external.Get("platformName"))
		ccm := external.Get("cloudControllerManager")
		if ccm.Peek() != "" || ccm == nil {
			r.Set("spec.platform.external.cloudControllerManager", ccm)
		}
		r.MeansIf(ccm, "is the default", "")
	}
}

// userManaged carries over who manages the network, where the platform does not say it.
func (r *Hub) userManaged(n *source.Node) {
	if n == nil {
		return
	}
	p := r.Cluster.Spec.Platform.Type
	single := r.Cluster.Spec.Topology.ControlPlane != nil && *r.Cluster.Spec.Topology.ControlPlane == 1
	implied := p == spec.NoneType || p == spec.External || p == "" && single
	if is := n.Kind == source.BoolNode && source.Truth(n.Text); n.Kind == source.BoolNode && is == implied && p != spec.VSphere && p != spec.Nutanix {
		r.Means(n, "follows from the platform")
		return
	}
	r.Set("spec.network.userManaged", n)
}

// agentPools carries over the pools of AgentClusterInstall, which say nothing but
// hyperthreading. They are read as the service reads them: once one is named, the roles of
// those that are not go without. An API server fills in that a pool has it; the
// agent-based installer has none.
func (r *Hub) agentPools(s *source.Node) {
	pools := []settings.Pool{{N: s.Get("controlPlane"), Role: spec.ControlPlane, Name: "master"}, {Role: spec.Worker, Name: "worker"}, {N: s.Get("arbiter"), Role: spec.Arbiter, Name: "arbiter"}}
	for i, item := range r.ListOf(s.Get("compute")) {
		if i == 0 {
			pools[1].N = r.MapOf(item)
		}
	}
	named := slices.ContainsFunc(pools, func(p settings.Pool) bool { return p.N != nil })
	for i := range pools {
		p := &pools[i]
		r.MeansIf(p.N.Get("name"), "is the name that this pool always has", p.Name)
		if replicas := p.N.Get("replicas"); replicas != nil {
			r.Lose(replicas, "provisionRequirements says how many machines there are")
		}
		switch nobody := p.Role == spec.Arbiter && r.Cluster.ArbiterCount() == 0; {
		case !named || p.N == nil && nobody:
		case p.N == nil || r.AgentBased:
			p.Unsaid = "Disabled"
		default:
			p.Unsaid = "Enabled"
		}
	}
	r.Hyperthreading(pools)
}

// Hold carries over whether the installation is held.
func (r *Hub) Hold(n *source.Node) {
	if held := r.Boolean(n); source.IsTrue(held) {
		r.Cluster.Spec.Hold = true
		r.From("spec.hold", n)
	}
}

func (r *Hub) ignitionEndpoint(h *Objects, n *source.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	endpoint := &spec.IgnitionEndpoint{}
	r.Cluster.Spec.IgnitionEndpoint = endpoint
	r.From("spec.ignitionEndpoint", n)
	r.Set("spec.ignitionEndpoint.url", n.Get("url"))
	ref := n.Get("caCertificateReference")
	if ref == nil {
		return
	}
	secret := h.secret(ref.Get("name"))
	if secret == nil {
		r.Lose(ref, "the Secret is not in the input: put the certificate into spec.ignitionEndpoint.ca")
		return
	}
	r.Means(ref, "refers to a Secret of the input")
	ca := r.secretKey(secret, "tls.crt")
	if text := r.Text(ca); text != "" {
		endpoint.CA = &spec.PublicSource{Inline: text}
		r.From("spec.ignitionEndpoint.ca", ca)
	}
}

// DiskEncryption carries over encryption, which is of no disk unless it says whose.
func (r *Hub) DiskEncryption(n *source.Node) {
	if n = r.MapOf(n); n == nil || len(n.Children) == 0 {
		return
	}
	d := &spec.DiskEncryption{On: spec.RoleSet{spec.NoRoles}}
	r.Cluster.Spec.DiskEncryption = d
	r.From("spec.diskEncryption", n)
	if mode := n.Get("mode"); mode != nil {
		d.Mode = spec.EncryptionMode(strings.Replace(r.Text(mode), "tpmv2", "tpm", 1))
		r.From("spec.diskEncryption.mode", mode)
	} else {
		d.Mode = spec.TPM // what the service takes
	}
	if on := n.Get("enableOn"); on != nil {
		d.On = settings.RoleSet(r.Text(on))
		r.From("spec.diskEncryption.on", on)
	}
	if servers := n.Get("tangServers"); servers.Peek() != "" || servers != nil && servers.Kind == source.ListNode {
		r.Tang(r.Embed(servers))
	} else {
		r.Text(servers)
	}
	if len(d.On) == 1 && d.On[0] == spec.NoRoles && n.Get("mode") == nil {
		r.Cluster.Spec.DiskEncryption = nil // nothing is encrypted, by nothing
	}
}

// versionInName matches the version in the name of a ClusterImageSet, or in a tag.
var (
	ourSet        = regexp.MustCompile(`^openshift-v([0-9]+\.[0-9]+(?:\.[0-9]+(?:-(?:rc|ec|fc)\.[0-9]+)?)?(?:-multi)?)$`)
	versionInName = regexp.MustCompile(`^(?:img|openshift-v?|ocp-v?|v)?-?([0-9]+\.[0-9]+\.[0-9]+(?:-(?:rc|ec|fc)\.[0-9]+)?)(?:-(x86[-_]64|amd64|aarch64|arm64|ppc64le|s390x|multi))?(?:-appsub)?$`)
)

// ImageSetRef carries over what the name of a ClusterImageSet says.
func (r *Hub) ImageSetRef(h *Objects, ref *source.Node) {
	if ref == nil {
		return
	}
	o, name := &r.Cluster.Spec.OpenShift, r.Text(ref)
	if parts := ourSet.FindStringSubmatch(name); parts != nil {
		o.Version = parts[1]
		r.From("spec.openshift.version", ref)
	} else if r.AgentBased && !slices.ContainsFunc(h.ImageSets, func(set *source.Node) bool { return NameOf(set) == name }) {
		ref.Taken = false
		r.Means(ref, "names a ClusterImageSet that is not among the files, and the agent-based installer knows no hub that has it")
	} else {
		o.ImageSet = name
		r.From("spec.openshift.imageSet", ref)
		if parts := versionInName.FindStringSubmatch(name); parts != nil {
			o.Version = parts[1]
			r.From("spec.openshift.version", ref)
		}
	}
	for _, set := range h.ImageSets {
		if NameOf(set) != name {
			continue
		}
		h.Used[set] = true
		image := set.Get("spec", "releaseImage")
		r.Set("spec.openshift.releaseImage", image)
		_, tag, _ := strings.Cut(path.Base(o.ReleaseImage), ":")
		if parts := versionInName.FindStringSubmatch(tag); parts != nil && o.Version == "" {
			o.Version = parts[1]
			r.From("spec.openshift.version", image)
		}
		r.ObjectNames(set, "")
		r.MeansIf(set.Get("metadata", "labels", "visible"), "is for the console of a hub", "true", "false")
	}
	if o.ReleaseImage != "" && o.Version != "" && name == r.Cluster.Metadata.Name+"-release" {
		o.ImageSet = ""
	}
}
