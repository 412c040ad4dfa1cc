// Package agent reads and writes install-config.yaml and agent-config.yaml, the
// input of the agent-based installer.
package agent

import (
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type reader struct{ *fields.Reader }

// Read reads install-config.yaml and agent-config.yaml.
func Read(s *fields.Reader, in *input.Input) {
	r := &reader{s}
	r.Nowhere = "cluster.yaml has no place for it, and the agent-based installer knows no such key"
	r.AgentBased = true
	var config, hosts *input.Node
	for _, doc := range in.Docs {
		_, kind := input.KindOfDoc(doc)
		switch {
		case kind == "AgentConfig" && hosts == nil:
			hosts = doc.Root
		case input.IsInstallConfig(doc.Root) && config == nil:
			config = doc.Root
		case kind == "AgentConfig" || input.IsInstallConfig(doc.Root):
			r.Problem(doc.File, doc.Root.Line, doc.Root.Col, "", "describes a second cluster",
				"keep one install-config and one agent-config together")
		case input.IsHubObject(doc):
			r.Problem(doc.File, doc.Root.Line, doc.Root.Col, "", "stands beside an install-config, which says the same in another way",
				"keep either the install-config or the manifests")
		default:
			r.Rest(doc.Root, "is no file of the agent-based installer")
		}
	}
	if config == nil {
		r.Problem(in.Path, 0, 0, "", "install-config.yaml is missing beside agent-config.yaml", "put both into one folder and name the folder")
		return
	}
	r.installConfig(config)
	if hosts != nil {
		r.agentConfig(hosts)
	}
	r.Fencing(config.Get("controlPlane", "fencing", "credentials"))
	r.RawManifests(in)
	r.RestOfFiles(in)
}

func (r *reader) agentConfig(n *input.Node) {
	version := n.Get("apiVersion")
	if word := r.Text(version); word != "v1alpha1" && word != "v1beta1" && version != nil {
		r.Wrong(version, fmt.Sprintf("the version %q of the agent-config is not known", word), "write v1beta1")
	}
	r.Text(n.Get("kind"))
	r.sameName(n.Get("metadata", "name"))
	r.Namespace(n.Get("metadata", "namespace"))
	r.Keys(n, "agent-config")
	r.Fields(n, fields.AgentConfig, fields.NoHost)
	if minimal := n.Get("minimalISO"); input.IsTrue(r.Boolean(minimal)) {
		r.Cluster.Spec.Boot.Image = spec.ImageMinimal
		r.From("spec.boot.image", minimal)
	}
	for _, item := range r.ListOf(n.Get("hosts")) {
		r.agentHost(item)
	}
	r.GiveArches()
}

func (r *reader) sameName(n *input.Node) {
	if n != nil && n.Peek() != r.Cluster.Metadata.Name {
		r.Second("metadata.name", n)
		return
	}
	r.Text(n)
}

// agentHost carries over a machine, into that of install-config.yaml if it is the same.
func (r *reader) agentHost(n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	hostname := n.Get("hostname")
	i := r.HostFor(n, n.Get("interfaces").Each("macAddress"), hostname.Peek())
	r.HostName(i, hostname)
	r.Fields(n, fields.AgentHost, i)
	r.Network(i, n.Get("interfaces"), n.Get("networkConfig"))
	for _, key := range []string{"bmc", "BMC"} {
		r.BMCOf(i, r.MapOf(n.Get(key)))
	}
}

func (r *reader) installConfig(n *input.Node) {
	if version := n.Get("apiVersion"); version != nil && r.Text(version) != "v1" {
		r.Wrong(version, fmt.Sprintf("the version %q of the install-config is not known", version.Peek()), "write v1")
	}
	r.Namespace(n.Get("metadata", "namespace"))
	r.Fields(n, fields.InstallConfig, fields.NoHost)
	r.Keys(n, "install-config")
	r.pools(n)
	r.installPlatform(n.Get("platform"))
	for _, key := range []string{"featureSet", "featureGates", "capabilities", "cpuPartitioningMode", "additionalTrustBundlePolicy"} {
		r.Override(n.Get(key), key)
	}
}

func (r *reader) installPlatform(n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	if len(n.Children) > 1 {
		r.Wrong(n, fmt.Sprintf("names %d platforms", len(n.Children)), "keep one")
		return
	}
	for _, p := range n.Children {
		r.From("spec.platform", p)
		p.Taken = p.Taken || len(p.Children) == 0
		to := &r.Cluster.Spec.Platform
		switch p.Key {
		case "none":
			to.Type = spec.NoneType
		case "external":
			to.Type = spec.External
			to.External = &spec.ExternalPlatform{}
			r.From("spec.platform.external", p)
			r.Set("spec.platform.external.name", p.Get("platformName"))
			r.Set("spec.platform.external.cloudControllerManager", p.Get("cloudControllerManager"))
		case "baremetal":
			to.Type = spec.BareMetal
			r.bareMetal(p)
		case "vsphere", "nutanix":
			to.Type = spec.PlatformType(p.Key)
			r.Fields(p, fields.InstallPlatform, fields.NoHost)
			for _, c := range p.Children {
				r.Rest(c, "it means nothing without the login, a secret that never stands in cluster.yaml: the service installs with placeholders, "+
					"which you replace once the cluster is installed")
			}
		default:
			r.Wrong(p, "is a platform that the Assisted Installer does not install", "it is one of baremetal, none, external, vsphere and nutanix")
		}
	}
}

// bareMetal carries platform.baremetal over. Provisioning goes to the
// install-config as it is, as the agent-based installer has it.
func (r *reader) bareMetal(n *input.Node) {
	r.Fields(n, fields.InstallPlatform, fields.NoHost)
	for _, item := range r.ListOf(n.Get("hosts")) {
		r.BareMetalHost(item)
	}
	r.overridePlatform(n)
}

// overridePlatform passes on what no field has taken of a platform.
func (r *reader) overridePlatform(n *input.Node) {
	for _, c := range n.Children {
		if input.Untouched(c) {
			r.Override(c, "platform", n.Key, c.Key)
		}
	}
}

// defaultReplicas is what the installer takes for a pool that does not say.
const defaultReplicas = 3

func (r *reader) pools(n *input.Node) {
	t := &r.Cluster.Spec.Topology
	compute := r.ListOf(n.Get("compute"))
	pools := []fields.Pool{
		{N: r.MapOf(n.Get("controlPlane")), Role: spec.ControlPlane, Name: "master", To: &t.ControlPlane, Must: true},
		{Role: spec.Worker, Name: "worker", To: &t.Workers, Must: true},
		{N: r.MapOf(n.Get("arbiter")), Role: spec.Arbiter, Name: "arbiter", To: &t.Arbiters},
	}
	for i, item := range compute {
		if i == 0 {
			pools[1].N = r.MapOf(item)
			continue
		}
		r.Lose(item, "cluster.yaml has one kind of workers")
	}
	var arches []string
	for _, p := range pools {
		r.pool(p)
		if arch := p.N.Get("architecture"); arch != nil && !slices.Contains(arches,
			string(clustersettings.CanonicalWord[spec.Arch](arch.Peek()))) {
			arches = append(arches, string(clustersettings.CanonicalWord[spec.Arch](arch.Peek())))
		}
	}
	r.poolArches(pools, len(arches) > 1)
	r.Hyperthreading(pools)
}

func (r *reader) pool(p fields.Pool) {
	field := map[spec.Role]string{spec.ControlPlane: "spec.topology.controlPlane", spec.Worker: "spec.topology.workers",
		spec.Arbiter: "spec.topology.arbiters"}[p.Role]
	replicas := defaultReplicas
	switch given := r.Number(p.N.Get("replicas")); {
	case given != nil:
		replicas = *given
		r.From(field, p.N.Get("replicas"))
	case p.N == nil && !p.Must:
		return
	}
	*p.To = &replicas
	r.From(field, p.N)
	if p.N == nil {
		return
	}
	r.MeansIf(p.N.Get("name"), "is the name that this pool always has", p.Name)
	r.Rest(p.N.Get("name"), "this pool is always called "+p.Name)
	r.Keys(p.N, "install-config-pool")
}

// poolArches carries the architecture over: the cluster's, or multi and each host's.
func (r *reader) poolArches(pools []fields.Pool, several bool) {
	const field = "spec.openshift.arch"
	to := &r.Cluster.Spec.OpenShift.Arch
	for _, p := range pools {
		n := p.N.Get("architecture")
		if n == nil {
			continue
		}
		r.Text(n)
		r.From(field, n)
		if several {
			*to = spec.Multi
			r.ArchByRole = append(r.ArchByRole, fields.RoleArch{Role: p.Role, Arch: clustersettings.CanonicalWord[spec.Arch](n.Text)})
		} else {
			*to = clustersettings.CanonicalWord[spec.Arch](n.Text)
		}
	}
}
