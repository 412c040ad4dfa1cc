package agent

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

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
