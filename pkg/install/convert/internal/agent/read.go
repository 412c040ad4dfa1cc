// Package agent reads and writes install-config.yaml and agent-config.yaml, the
// input of the agent-based installer.
package agent

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
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

// agentConfig carries agent-config.yaml over.
func (r *reader) agentConfig(n *source.Node) {
	version := n.Get("apiVersion")
	if word := r.Text(version); word != "v1alpha1" && word != "v1beta1" && version != nil {
		r.Wrong(version, fmt.Sprintf("the version %q of the agent-config is not known", word), "write v1beta1")
	}
	r.Text(n.Get("kind"))
	r.sameName(n.Get("metadata", "name"))
	r.Namespace(n.Get("metadata", "namespace"))
	r.Means(n.Get("rendezvousIP"), "says on which machine the service of the image runs: oaictl installs with a service that runs elsewhere")
	for _, key := range []string{"bootArtifactsBaseURL", "ipxeBaseURL"} {
		r.Lose(n.Get(key), "only an image that holds the service itself is put together with it: oaictl boots machines from the service's images")
	}
	source.SetTexts(r.Account, "spec.network.defaults.ntp", &r.Cluster.Spec.Network.Defaults.NTP, n.Get("additionalNTPSources"))
	if minimal := n.Get("minimalISO"); source.IsTrue(r.Boolean(minimal)) {
		r.Cluster.Spec.Boot.Image = spec.ImageMinimal
		r.From("spec.boot.image", minimal)
	}
	for _, item := range r.ListOf(n.Get("hosts")) {
		r.agentHost(item)
	}
	r.GiveArches()
}

// sameName carries over a name that is said a second time.
func (r *reader) sameName(n *source.Node) {
	if n != nil && n.Peek() != r.Cluster.Metadata.Name {
		r.Second("metadata.name", n)
		return
	}
	r.Text(n)
}

// agentHost carries a machine of agent-config.yaml over, into the one that
// install-config.yaml has already where it is the same.
func (r *reader) agentHost(n *source.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	var macs []string
	for _, nic := range n.Get("interfaces").Items() {
		macs = append(macs, nic.Child("macAddress").Peek())
	}
	hostname := n.Get("hostname")
	i := r.HostWithMAC(macs...)
	if i < 0 {
		i = r.HostNamed(hostname.Peek())
	}
	if i < 0 {
		i = r.AddHost(n)
	}
	h := r.Host(i)
	switch {
	case hostname == nil:
	case h.Name == "" || h.Name == hostname.Peek():
		source.SetText(r.Account, settings.HostField(i, "name"), &h.Name, hostname)
	default:
		source.SetText(r.Account, settings.HostField(i, "hostname"), &h.Hostname, hostname)
	}
	r.Role(i, n.Get("role"))
	r.Hints(i, n.Get("rootDeviceHints"))
	r.Network(i, n.Get("interfaces"), n.Get("networkConfig"))
	for _, key := range []string{"bmc", "BMC"} {
		r.BMCOf(i, r.MapOf(n.Get(key)))
	}
}
