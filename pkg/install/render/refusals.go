package render

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// refuseAll refuses what no object has a place for, and what the webhooks of the
// hub refuse.
func (h *maker) refuseAll() {
	h.refuseCluster()
	h.refusePool()
	h.refuseNetworking()
	h.refusePasswords()
	for i := range h.Cluster.Spec.Hosts {
		h.refuseHostFields(&h.Cluster.Spec.Hosts[i])
	}
}

func (h *maker) refuseCluster() {
	c, s := h.Cluster, h.Cluster.Spec
	const byHand = "leave it out, or install through the REST service (--backend rest)"
	if len(c.Metadata.Tags) > 1 {
		h.Refuse("metadata.tags", fmt.Sprintf("a hub keeps one tag of a cluster, not %d", len(c.Metadata.Tags)), "keep one")
	} else if len(c.Metadata.Tags) == 1 && len(validation.IsValidLabelValue(c.Metadata.Tags[0])) > 0 {
		h.Refuse("metadata.tags[0]", fmt.Sprintf("a hub keeps the tag as a label, which %q cannot be", c.Metadata.Tags[0]), "use letters, digits, dashes, dots and underscores")
	}
	if errs := validation.IsDNS1123Label(h.Namespace); len(errs) > 0 {
		h.Refuse("metadata.name", fmt.Sprintf("%q cannot be the name of a namespace", h.Namespace), "ask for another namespace")
	}
	if len(s.Operators) > 0 {
		h.Refuse("spec.operators", "a hub installs no operators with a cluster", "leave them out and subscribe to them with spec.manifests, or install through the REST service (--backend rest)")
	}
	if len(s.Bundles) > 0 {
		h.Refuse("spec.bundles", "a hub installs no bundles of operators with a cluster", "leave them out and subscribe to the operators with spec.manifests, or install through the REST service (--backend rest)")
	}
	if len(s.Overrides.InfraEnv) > 0 {
		h.Refuse("spec.overrides.infraEnv", "is in the words of the REST service, which a hub does not take", byHand)
	}
	if len(s.Overrides.Host) > 0 {
		h.Refuse("spec.overrides.host", "is in the words of the REST service, which a hub does not take", byHand)
	}
	if s.Boot.Image == spec.ImageDisconnected {
		h.Refuse("spec.boot.image", "a hub makes no disconnected image", "write full or minimal")
	}
}

// refusePool refuses what belongs to an image that is not ours to make.
func (h *maker) refusePool() {
	s := h.Cluster.Spec
	if s.InfraEnv.Ref == "" {
		return
	}
	fields := map[string]bool{
		"spec.discovery.kernelArgs":   len(s.Discovery.KernelArgs) > 0,
		"spec.discovery.ignition":     s.Discovery.Ignition.Text() != "",
		"spec.discovery.networkDelay": s.Discovery.NetworkDelay != 0,
		"spec.boot.image":             s.Boot.Image != "",
	}
	for i := range s.Hosts {
		fields[h.Cluster.HostField(&s.Hosts[i], "net")] = s.Hosts[i].Net != nil
	}
	for field, said := range fields {
		if said {
			h.Refuse(field, "is a matter of the InfraEnv "+s.InfraEnv.Ref+", which exists already and is not changed", "leave it out, or leave spec.infraEnv.ref out to have an InfraEnv made")
		}
	}
}

// refuseNetworking refuses what the webhook of AgentClusterInstall does: each
// platform has its networking.
func (h *maker) refuseNetworking() {
	c := h.Cluster
	managed, p := c.Spec.Network.UserManaged, c.Spec.Platform.Type
	if c.SingleNode() && p == spec.BareMetal {
		h.Refuse("spec.platform", "a hub takes no single node with platform baremetal", "write platform: none, or leave it out")
	}
	if managed == nil || c.Imported() {
		return
	}
	switch p {
	case spec.NoneType, spec.External:
		if !*managed {
			h.Refuse("spec.network.userManaged", fmt.Sprintf("with platform %s the network is always user-managed", p), "leave it out")
		}
	case spec.BareMetal, spec.Nutanix:
		if *managed {
			h.Refuse("spec.network.userManaged", fmt.Sprintf("a hub takes no user-managed network with platform %s", p), "leave it out, or write platform: none")
		}
	}
	if arch := c.Spec.OpenShift.Arch; !*managed && (arch == spec.Power || arch == spec.Z) {
		h.Refuse("spec.network.userManaged", fmt.Sprintf("the network of %s machines is always user-managed", arch), "leave it out")
	}
}

// refusePasswords refuses passwords that objects have in plain text, unless
// secrets are asked for.
func (h *maker) refusePasswords() {
	if h.Secrets {
		return
	}
	for field, proxy := range map[string]spec.ProxyURL{"spec.proxy.http": h.Cluster.Spec.Proxy.HTTP, "spec.proxy.https": h.Cluster.Spec.Proxy.HTTPS} {
		if parsed, err := url.Parse(proxy.Reveal()); err != nil || parsed.User != nil {
			h.Refuse(field, "holds a user or a password, which the objects of a hub have in plain text", "ask for secrets, or use a proxy without a password")
		}
	}
}

func (h *maker) refuseHostFields(host *spec.Host) {
	if len(host.Disk.Keep) > 0 {
		h.RefuseHost(host, "disk.keep", "a hub cannot keep disks from being wiped", "detach these disks, or install through the REST service (--backend rest)")
	}
	if !h.IsMetal3(host) {
		return
	}
	if host.Match.MAC == "" {
		h.RefuseHost(host, "match.mac", "is missing: a BareMetalHost is the Agent with its MAC address", "write the MAC address of one of the machine's interfaces")
	}
	h.refuseLongLabels(host)
	if host.BMC.CA != nil {
		h.RefuseHost(host, "bmc.ca", "a BareMetalHost has no place for the certificate of its BMC", "have the hub's Ironic trust it, and leave it out; or write insecure: true")
	}
}

// refuseLongLabels refuses labels of an Agent whose keys are too long for the
// annotation that they stand in.
func (h *maker) refuseLongLabels(host *spec.Host) {
	if host.BMC.Metal3 == nil {
		return
	}
	for key := range host.BMC.Metal3.AgentLabels {
		name := hubapi.AnnotationBMACAgentLabelPrefix + key
		if len(validation.IsQualifiedName(strings.ToLower(name))) > 0 {
			h.RefuseHost(host, "bmc.metal3.agentLabels."+key, "is too long a key for the annotation "+name+", by which a BareMetalHost has labels of its Agent", "use a shorter key, or one with a domain: example.com/"+key)
		}
	}
}
