package agent

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// installPlatform carries the platform of install-config.yaml over: exactly one.
func (r *reader) installPlatform(n *source.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	if len(n.Children) > 1 {
		r.Wrong(n, fmt.Sprintf("names %d platforms", len(n.Children)), "keep one")
		return
	}
	for _, p := range n.Children {
		r.From("spec.platform", p)
		to := &r.Cluster.Spec.Platform
		switch p.Key {
		case "none":
			to.Type = spec.NoneType
			p.Taken = p.Taken || len(p.Children) == 0
		case "external":
			to.Type = spec.External
			to.External = &spec.ExternalPlatform{}
			r.From("spec.platform.external", p)
			source.SetText(r.Account, "spec.platform.external.name", &to.External.Name, p.Get("platformName"))
			source.SetText(r.Account, "spec.platform.external.cloudControllerManager", &to.External.CloudControllerManager, p.Get("cloudControllerManager"))
			p.Taken = p.Taken || len(p.Children) == 0
		case "baremetal":
			to.Type = spec.BareMetal
			p.Taken = p.Taken || len(p.Children) == 0
			r.bareMetal(p)
		case "vsphere", "nutanix":
			to.Type = spec.PlatformType(p.Key)
			p.Taken = p.Taken || len(p.Children) == 0
			r.VIPs(p)
			for _, c := range p.Children {
				if !c.Taken && source.Untouched(c) {
					r.Override(c, "platform", p.Key, c.Key)
				}
			}
		default:
			r.Wrong(p, "is a platform that the Assisted Installer does not install", "it is one of baremetal, none, external, vsphere and nutanix")
		}
	}
}

// bareMetal carries platform.baremetal over. Provisioning goes to the
// install-config as it is, as the agent-based installer has it.
func (r *reader) bareMetal(n *source.Node) {
	r.VIPs(n)
	r.Balancer(n.Get("loadBalancer", "type"))
	for _, item := range r.ListOf(n.Get("hosts")) {
		r.BareMetalHost(item)
	}
	ntp := n.Get("additionalNTPServers")
	source.SetTexts(r.Account, "spec.network.defaults.ntp", &r.Cluster.Spec.Network.Defaults.NTP, ntp)
	for _, key := range []string{"externalBridge", "provisioningBridge", "libvirtURI", "bootstrapProvisioningIP", "bootstrapExternalStaticIP", "bootstrapExternalStaticGateway", "bootstrapExternalStaticDNS", "defaultMachinePlatform"} {
		r.Rest(n.Get(key), "the agent-based installer ignores it, and so does oaictl")
	}
	for _, c := range n.Children {
		if !c.Taken && source.Untouched(c) {
			r.Override(c, "platform", "baremetal", c.Key)
		}
	}
}
