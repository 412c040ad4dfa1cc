package fieldmap

import (
	"strings"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Proxy is a proxy as cluster.yaml has it.
func Proxy(p *bootstrapv1.Proxy) spec.Proxy {
	if p == nil {
		return spec.Proxy{}
	}
	out := spec.Proxy{HTTP: spec.ProxyURL(p.HTTPProxy), HTTPS: spec.ProxyURL(p.HTTPSProxy)}
	for entry := range strings.SplitSeq(p.NoProxy, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out.No = append(out.No, entry)
		}
	}
	return out
}

func machineNetworks(list []controlplanev1.MachineNetworkEntry) (networks []string) {
	for _, entry := range list {
		networks = append(networks, entry.CIDR)
	}
	return networks
}

func clusterNetworks(list []controlplanev1.ClusterNetworkEntry) (networks []spec.ClusterNetwork) {
	for _, entry := range list {
		networks = append(networks, spec.ClusterNetwork{CIDR: entry.CIDR, HostPrefix: int(entry.HostPrefix)})
	}
	return networks
}

func loadBalancer(of *controlplanev1.LoadBalancer) spec.LoadBalancer {
	switch {
	case of == nil:
		return ""
	case of.Type == controlplanev1.UserManagedLoadBalancer:
		return spec.UserManaged
	}
	return spec.ClusterManaged
}

func externalPlatform(of *controlplanev1.ExternalPlatformSpec) *spec.ExternalPlatform {
	if of == nil {
		return nil
	}
	return &spec.ExternalPlatform{Name: of.PlatformName, CloudControllerManager: of.CloudControllerManager}
}

func bundles(list []controlplanev1.Bundle) (bundles []spec.Bundle) {
	for _, b := range list {
		bundles = append(bundles, spec.Bundle{ID: b.Name, Optional: b.Optional})
	}
	return bundles
}

func diskHints(h *bootstrapv1.RootDeviceHints) spec.DiskHints {
	if h == nil {
		return spec.DiskHints{}
	}
	return spec.DiskHints{
		DeviceName: h.DeviceName, HCTL: h.HCTL, Model: h.Model, Vendor: h.Vendor, SerialNumber: h.SerialNumber,
		MinSizeGigabytes: int(h.MinSizeGigabytes), WWN: h.WWN, WWNWithExtension: h.WWNWithExtension,
		WWNVendorExtension: h.WWNVendorExtension, Rotational: h.Rotational,
	}
}

func taints(list []bootstrapv1.Taint) (taints []spec.Taint) {
	for _, t := range list {
		taints = append(taints, spec.Taint{Key: t.Key, Value: t.Value, Effect: spec.TaintEffect(t.Effect)})
	}
	return taints
}
