package rest

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/pkg/install"
)

// clusterTable is what can be set on a cluster: the fields of
// cluster-create-params and v2-cluster-update-params, and of the cluster that
// shows them. Install-config overrides have a request of their own but are shown by
// the cluster too; ignored validations are neither set nor shown here.
func clusterTable() table[clusterWire] {
	type wire = clusterWire
	return append(clusterNetworkRows(),
		text(install.SetVersion, "openshift_version", func(c *wire) string { return c.OpenshiftVersion }),
		text(install.SetReleaseImage, "ocp_release_image", func(c *wire) string { return c.OcpReleaseImage }),
		text(install.SetArch, "cpu_architecture", func(c *wire) string { return c.CPUArchitecture }),
		row(install.SetControlPlane, writeControlPlane, func(c *wire) (int, bool) {
			n := controlPlanes(c)
			return n, n > 0
		}),
		text(install.SetSSHKeys, "ssh_public_key", func(c *wire) string { return c.SSHPublicKey }),
		row(install.SetPlatform, writePlatform, readPlatform),
		text(install.SetHyperthreads, "hyperthreading", func(c *wire) string { return c.Hyperthreading }),
		row(install.SetSchedulableCP, func(b bool) body { return body{"schedulable_masters": b} }, func(c *wire) (bool, bool) {
			return value(c.SchedulableMasters), c.SchedulableMasters != nil
		}),
		row(install.SetDiskEncrypt, writeEncryption, readEncryption),
		row(install.SetIgnEndpoint, writeEndpoint, readEndpoint),
		row(install.SetOperators, writeOperators, readOperators),
		row(install.SetBundles, writeBundles, func(c *wire) ([]install.BundleChoice, bool) {
			bundles := make([]install.BundleChoice, 0, len(c.OperatorBundles))
			for _, id := range c.OperatorBundles {
				bundles = append(bundles, install.BundleChoice{ID: id})
			}
			return bundles, c.OperatorBundles != nil
		}),
		text(install.SetInstallConfig, "", func(c *wire) string { return c.InstallConfigOverrides }),
		row(install.SetTags, func([]string) body { return nil }, func(c *wire) ([]string, bool) {
			_, _, users := readTags(c.Tags, "")
			return append([]string{}, users...), true
		}),
	)
}

// clusterManaged is the load balancer that clusters have unless they are told
// otherwise.
const clusterManaged = models.LoadBalancerTypeClusterManaged

// writeControlPlane says how many control plane machines there are in the form that
// the most releases of the service take; only what that cannot say is counted.
func writeControlPlane(n int) body {
	switch n {
	case 1:
		return body{"high_availability_mode": models.ClusterHighAvailabilityModeNone}
	case 3:
		return body{"high_availability_mode": models.ClusterHighAvailabilityModeFull}
	}
	return body{"control_plane_count": n}
}

func clusterNetworkRows() table[clusterWire] {
	type wire = clusterWire
	return table[wire]{
		row(install.SetNetworkType, func(s string) body { return body{"network_type": s} }, func(c *wire) (string, bool) {
			return value(c.NetworkType), value(c.NetworkType) != ""
		}),
		row(install.SetMachineNet, func(l []string) body { return body{"machine_networks": objects("cidr", l)} }, func(c *wire) ([]string, bool) {
			return collect(c.MachineNetworks, func(n *models.MachineNetwork) string { return string(n.Cidr) }), true
		}).kept(keepsMachineNetworks),
		row(install.SetClusterNet, writeClusterNetworks, func(c *wire) ([]install.ClusterNetwork, bool) {
			return collect(c.ClusterNetworks, func(n *models.ClusterNetwork) install.ClusterNetwork {
				return install.ClusterNetwork{CIDR: string(n.Cidr), HostPrefix: int(n.HostPrefix)}
			}), true
		}),
		row(install.SetServiceNet, func(l []string) body { return body{"service_networks": objects("cidr", l)} }, func(c *wire) ([]string, bool) {
			return collect(c.ServiceNetworks, func(n *models.ServiceNetwork) string { return string(n.Cidr) }), true
		}),
		row(install.SetAPIVIPs, func(l []string) body { return body{"api_vips": objects("ip", l)} }, func(c *wire) ([]string, bool) {
			return collect(c.APIVips, func(v *models.APIVip) string { return string(v.IP) }), true
		}).kept(keepsVIPs),
		row(install.SetIngressVIPs, func(l []string) body { return body{"ingress_vips": objects("ip", l)} }, func(c *wire) ([]string, bool) {
			return collect(c.IngressVips, func(v *models.IngressVip) string { return string(v.IP) }), true
		}).kept(keepsVIPs),
		row(install.SetLoadBalancer, func(s string) body { return body{"load_balancer": body{"type": s}} }, func(c *wire) (string, bool) {
			if c.LoadBalancer == nil {
				return clusterManaged, true // of a service that knows no other
			}
			return c.LoadBalancer.Type, c.LoadBalancer.Type != ""
		}),
		row(install.SetUserManaged, func(b bool) body { return body{"user_managed_networking": b} }, func(c *wire) (bool, bool) {
			return value(c.UserManagedNetworking), c.UserManagedNetworking != nil
		}),
		row(install.SetProxy, func(p install.Proxy) body {
			return body{"http_proxy": p.HTTP, "https_proxy": p.HTTPS, "no_proxy": p.No}
		}, func(c *wire) (install.Proxy, bool) {
			return install.Proxy{HTTP: c.HTTPProxy, HTTPS: c.HTTPSProxy, No: c.NoProxy}, true
		}),
		row(install.SetExtraNTP, func(l []string) body { return body{"additional_ntp_source": strings.Join(l, ",")} }, func(c *wire) ([]string, bool) {
			return splitList(c.AdditionalNtpSource), c.AdditionalNtpSource != ""
		}),
		row(install.SetNTP, func(l []string) body { return body{"ntp_sources": strings.Join(l, ",")} }, func(c *wire) ([]string, bool) {
			return c.NtpSources, len(c.NtpSources) > 0
		}),
	}
}

// objects are one-field objects, never null: an empty list clears.
func objects(field string, values []string) []body {
	out := make([]body, 0, len(values))
	for _, v := range values {
		out = append(out, body{field: v})
	}
	return out
}

func collect[T, R any](items []*T, get func(*T) R) []R {
	out := make([]R, 0, len(items))
	for _, item := range items {
		if item != nil {
			out = append(out, get(item))
		}
	}
	return out
}

func writeClusterNetworks(networks []install.ClusterNetwork) body {
	out := make([]body, 0, len(networks))
	for _, n := range networks {
		entry := body{"cidr": n.CIDR}
		if n.HostPrefix > 0 {
			entry["host_prefix"] = n.HostPrefix
		}
		out = append(out, entry)
	}
	return body{"cluster_networks": out}
}

func writePlatform(p install.Platform) body {
	platform := body{"type": p.Type}
	if p.ExternalName != "" || p.CloudControllerManager != "" {
		platform["external"] = body{"platform_name": p.ExternalName, "cloud_controller_manager": p.CloudControllerManager}
	}
	return body{"platform": platform}
}

func readPlatform(c *clusterWire) (install.Platform, bool) {
	if c.Platform == nil || c.Platform.Type == nil {
		return install.Platform{}, false
	}
	out := install.Platform{Type: string(*c.Platform.Type)}
	if external := c.Platform.External; external != nil {
		out.ExternalName, out.CloudControllerManager = value(external.PlatformName), value(external.CloudControllerManager)
	}
	return out, true
}

func writeEncryption(e install.DiskEncryption) body {
	fields := body{"enable_on": e.On, "mode": e.Mode}
	if len(e.Tang) > 0 {
		servers, err := json.Marshal(e.Tang) // texts only: cannot fail
		if err == nil {
			fields["tang_servers"] = string(servers)
		}
	}
	return body{"disk_encryption": fields}
}

func readEncryption(c *clusterWire) (install.DiskEncryption, bool) {
	e := c.DiskEncryption
	if e == nil {
		return install.DiskEncryption{}, false
	}
	tang, _ := inText[[]install.Tang](e.TangServers)
	return install.DiskEncryption{On: value(e.EnableOn), Mode: value(e.Mode), Tang: tang}, true
}

// writeEndpoint sends the certificate in base64, as ignition-endpoint wants it.
func writeEndpoint(e install.IgnitionEndpoint) body {
	fields := body{"url": e.URL}
	if e.CA != "" {
		fields["ca_certificate"] = base64.StdEncoding.EncodeToString([]byte(e.CA))
	}
	return body{"ignition_endpoint": fields}
}

func readEndpoint(c *clusterWire) (install.IgnitionEndpoint, bool) {
	if c.IgnitionEndpoint == nil || value(c.IgnitionEndpoint.URL) == "" {
		return install.IgnitionEndpoint{}, false
	}
	out := install.IgnitionEndpoint{URL: value(c.IgnitionEndpoint.URL)}
	if pem, err := base64.StdEncoding.DecodeString(value(c.IgnitionEndpoint.CaCertificate)); err == nil {
		out.CA = string(pem)
	}
	return out, true
}

func writeOperators(operators []install.OperatorChoice) body {
	out := make([]body, 0, len(operators))
	for _, o := range operators {
		entry := body{"name": o.Name}
		if o.Properties != "" {
			entry["properties"] = o.Properties
		}
		out = append(out, entry)
	}
	return body{"olm_operators": out}
}

// readOperators are the operators that were asked for: not the built-in ones,
// and not those that the service added because another needs them.
func readOperators(c *clusterWire) ([]install.OperatorChoice, bool) {
	out := []install.OperatorChoice{}
	for _, o := range c.MonitoredOperators {
		if o == nil || o.OperatorType == models.OperatorTypeBuiltin || o.DependencyOnly {
			continue
		}
		out = append(out, install.OperatorChoice{Name: o.Name, Properties: o.Properties})
	}
	return out, true
}

// writeBundles sends the optional operators of a bundle that are wanted with it.
func writeBundles(choices []install.BundleChoice) body {
	bundles := make([]body, 0, len(choices))
	for _, choice := range choices {
		bundle := body{"id": choice.ID}
		if len(choice.Optional) > 0 {
			bundle["operators"] = choice.Optional
		}
		bundles = append(bundles, bundle)
	}
	return body{"operator_bundles": bundles}
}
