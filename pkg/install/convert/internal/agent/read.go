// Package agent reads and writes install-config.yaml and agent-config.yaml, the
// input of the agent-based installer.
package agent

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
)

// reader carries the two files over.
type reader struct{ *settings.Reader }

// Read reads install-config.yaml and agent-config.yaml.
func Read(s *settings.Reader, in *source.Input) {
	r := &reader{s}
	r.Nowhere = "cluster.yaml has no place for it, and the agent-based installer knows no such key"
	r.AgentBased = true
	var config, hosts *source.Node
	for _, doc := range in.Docs {
		_, kind := source.KindOfDoc(doc)
		switch {
		case kind == "AgentConfig" && hosts == nil:
			hosts = doc.Root
		case source.IsInstallConfig(doc.Root) && config == nil:
			config = doc.Root
		case kind == "AgentConfig" || source.IsInstallConfig(doc.Root):
			r.Problem(doc.File, doc.Root.Line, doc.Root.Col, "", "describes a second cluster", "keep one install-config and one agent-config together")
		case source.IsHubObject(doc):
			r.Problem(doc.File, doc.Root.Line, doc.Root.Col, "", "stands beside an install-config, which says the same in another way", "keep either the install-config or the manifests")
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

// installConfig carries install-config.yaml over.
func (r *reader) installConfig(n *source.Node) {
	c := r.Cluster
	if version := n.Get("apiVersion"); version != nil && r.Text(version) != "v1" {
		r.Wrong(version, fmt.Sprintf("the version %q of the install-config is not known", version.Peek()), "write v1")
	}
	meta := n.Get("metadata")
	source.SetText(r.Account, "metadata.name", &c.Metadata.Name, meta.Get("name"))
	r.Namespace(meta.Get("namespace"))
	source.SetText(r.Account, "spec.baseDomain", &c.Spec.BaseDomain, n.Get("baseDomain"))
	r.PullSecret(n.Get("pullSecret"))
	r.SSHKeys(n.Get("sshKey"))
	r.TrustBundle(n.Get("additionalTrustBundle"))
	r.Mirrors(n.Get("imageDigestSources"), "imageDigestSources")
	r.Mirrors(n.Get("imageContentSources"), "imageContentSources")
	r.Proxy(n.Get("proxy"))
	r.SetBool("spec.fips", &c.Spec.FIPS, n.Get("fips"))
	r.Networking(n.Get("networking"))
	r.pools(n)
	r.installPlatform(n.Get("platform"))
	r.MeansIf(n.Get("publish"), "is what the agent-based installer does anyway", "External")
	r.MeansIf(n.Get("cpuPartitioningMode"), "is the default", "None")
	r.MeansIf(n.Get("additionalTrustBundlePolicy"), "is the default", "Proxyonly")
	for _, key := range []string{"featureSet", "featureGates", "capabilities", "cpuPartitioningMode", "additionalTrustBundlePolicy"} {
		r.Override(n.Get(key), key)
	}
	for _, key := range []string{"publish", "credentialsMode", "bootstrapInPlace", "operatorPublishingStrategy"} {
		r.Rest(n.Get(key), "the agent-based installer ignores it, and so does oaictl")
	}
}
