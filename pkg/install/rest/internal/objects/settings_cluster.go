package objects

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// clusterTable is what can be set on a cluster: the fields of
// cluster-create-params and v2-cluster-update-params, and of the cluster that
// shows them. Install-config overrides have a request of their own but are shown by
// the cluster too; ignored validations are neither set nor shown here.
func clusterTable() Table[Cluster] {
	type wire = Cluster
	return append(clusterNetworkRows(),
		text(model.SettingVersion, "openshift_version", func(c *wire) string { return c.OpenshiftVersion }),
		text(model.SettingReleaseImage, "ocp_release_image", func(c *wire) string { return c.OcpReleaseImage }),
		text(model.SettingArch, "cpu_architecture", func(c *wire) string { return c.CPUArchitecture }),
		row(model.SettingControlPlane, writeControlPlane, func(c *wire) (int, bool) {
			n := controlPlanes(c)
			return n, n > 0
		}),
		text(model.SettingSSHKeys, "ssh_public_key", func(c *wire) string { return c.SSHPublicKey }),
		row(model.SettingPlatform, writePlatform, readPlatform),
		row(model.SettingHyperthreading, func(r spec.RoleSet) body { return body{"hyperthreading": r.ServiceWords()} },
			func(c *wire) (spec.RoleSet, bool) {
				return clustersettings.RolesOf(c.Hyperthreading), c.Hyperthreading != ""
			}),
		row(model.SettingSchedulableControlPlane, func(b bool) body { return body{"schedulable_masters": b} }, func(c *wire) (bool, bool) {
			return value(c.SchedulableMasters), c.SchedulableMasters != nil
		}),
		row(model.SettingDiskEncryption, writeEncryption, readEncryption),
		row(model.SettingIgnitionEndpoint, writeEndpoint, readEndpoint),
		row(model.SettingOperators, writeOperators, readOperators),
		row(model.SettingBundles, writeBundles, func(c *wire) ([]spec.Bundle, bool) {
			bundles := make([]spec.Bundle, 0, len(c.OperatorBundles))
			for _, id := range c.OperatorBundles {
				bundles = append(bundles, spec.Bundle{ID: id})
			}
			return bundles, c.OperatorBundles != nil
		}),
		text(model.SettingInstallConfigOverrides, "", func(c *wire) string { return c.InstallConfigOverrides }),
		row(model.SettingTags, func([]string) body { return nil }, func(c *wire) ([]string, bool) {
			_, _, users := readTags(c.Tags, "")
			return append([]string{}, users...), true
		}),
	)
}

// ClusterManaged is the load balancer of clusters without another setting.
const ClusterManaged = models.LoadBalancerTypeClusterManaged

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

func clusterNetworkRows() Table[Cluster] {
	type wire = Cluster
	return Table[wire]{
		row(model.SettingNetworkType, func(s string) body { return body{"network_type": s} }, func(c *wire) (string, bool) {
			return value(c.NetworkType), value(c.NetworkType) != ""
		}),
		row(model.SettingMachineNetworks, func(l []string) body { return body{"machine_networks": oneField("cidr", l)} },
			func(c *wire) ([]string, bool) {
				return collect(c.MachineNetworks, func(n *models.MachineNetwork) string { return string(n.Cidr) }), true
			}).kept(keepsMachineNetworks),
		row(model.SettingClusterNetworks, writeClusterNetworks, func(c *wire) ([]spec.ClusterNetwork, bool) {
			return collect(c.ClusterNetworks, func(n *models.ClusterNetwork) spec.ClusterNetwork {
				return spec.ClusterNetwork{CIDR: string(n.Cidr), HostPrefix: int(n.HostPrefix)}
			}), true
		}),
		row(model.SettingServiceNetworks, func(l []string) body { return body{"service_networks": oneField("cidr", l)} },
			func(c *wire) ([]string, bool) {
				return collect(c.ServiceNetworks, func(n *models.ServiceNetwork) string { return string(n.Cidr) }), true
			}),
		row(model.SettingAPIVIPs, func(l []string) body { return body{"api_vips": oneField("ip", l)} }, func(c *wire) ([]string, bool) {
			return collect(c.APIVips, func(v *models.APIVip) string { return string(v.IP) }), true
		}).kept(keepsVIPs),
		row(model.SettingIngressVIPs, func(l []string) body { return body{"ingress_vips": oneField("ip", l)} }, func(c *wire) ([]string, bool) {
			return collect(c.IngressVips, func(v *models.IngressVip) string { return string(v.IP) }), true
		}).kept(keepsVIPs),
		row(model.SettingLoadBalancer, func(s string) body { return body{"load_balancer": body{"type": s}} }, func(c *wire) (string, bool) {
			if c.LoadBalancer == nil {
				return ClusterManaged, true // of a service that knows no other
			}
			return c.LoadBalancer.Type, c.LoadBalancer.Type != ""
		}),
		row(model.SettingUserManaged, func(b bool) body { return body{"user_managed_networking": b} }, func(c *wire) (bool, bool) {
			return value(c.UserManagedNetworking), c.UserManagedNetworking != nil
		}),
		row(model.SettingProxy, proxyFields, func(c *wire) (spec.Proxy, bool) {
			return proxyOf(c.HTTPProxy, c.HTTPSProxy, c.NoProxy), true
		}),
		row(model.SettingExtraNTP, func(l []string) body { return body{"additional_ntp_source": strings.Join(l, ",")} },
			func(c *wire) ([]string, bool) {
				return splitList(c.AdditionalNtpSource), c.AdditionalNtpSource != ""
			}),
		row(model.SettingNTP, func(l []string) body { return body{"ntp_sources": strings.Join(l, ",")} }, func(c *wire) ([]string, bool) {
			return c.NtpSources, len(c.NtpSources) > 0
		}),
	}
}

// oneField are one-field objects, never null: an empty list clears.
func oneField(field string, values []string) []body {
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

func writeClusterNetworks(networks []spec.ClusterNetwork) body {
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

// proxyFields is a proxy with its passwords.
func proxyFields(p spec.Proxy) body {
	return body{"http_proxy": p.HTTP.Reveal(), "https_proxy": p.HTTPS.Reveal(), "no_proxy": strings.Join(p.No, ",")}
}

func proxyOf(http, https, no string) spec.Proxy {
	return spec.Proxy{HTTP: spec.ProxyURL(http), HTTPS: spec.ProxyURL(https), No: clustersettings.Commas(no)}
}

func writePlatform(p spec.Platform) body {
	platform := body{"type": p.Type}
	if external := p.External; external != nil {
		platform["external"] = body{"platform_name": external.Name, "cloud_controller_manager": external.CloudControllerManager}
	}
	return body{"platform": platform}
}

func readPlatform(c *Cluster) (spec.Platform, bool) {
	if c.Platform == nil || c.Platform.Type == nil {
		return spec.Platform{}, false
	}
	out := spec.Platform{Type: spec.PlatformType(*c.Platform.Type)}
	if external := c.Platform.External; external != nil && (value(external.PlatformName) != "" ||
		value(external.CloudControllerManager) != "") {
		out.External = &spec.ExternalPlatform{Name: value(external.PlatformName), CloudControllerManager: value(external.CloudControllerManager)}
	}
	return out, true
}

func writeEncryption(e spec.DiskEncryption) body {
	fields := body{"enable_on": e.On.ServiceWords(), "mode": clustersettings.EncryptionWord(e.Mode)}
	if len(e.Tang) > 0 {
		servers, err := json.Marshal(e.Tang) // texts only: cannot fail
		if err == nil {
			fields["tang_servers"] = string(servers)
		}
	}
	return body{"disk_encryption": fields}
}

func readEncryption(c *Cluster) (spec.DiskEncryption, bool) {
	e := c.DiskEncryption
	if e == nil {
		return spec.DiskEncryption{}, false
	}
	tang, _ := inText[[]spec.TangServer](e.TangServers)
	return spec.DiskEncryption{On: clustersettings.RolesOf(value(e.EnableOn)),
			Mode: clustersettings.CanonicalWord[spec.EncryptionMode](value(e.Mode)),
			Tang: tang},
		true
}

func writeEndpoint(e spec.IgnitionEndpoint) body {
	fields := body{"url": e.URL}
	if ca := e.CA.Text(); ca != "" {
		fields["ca_certificate"] = base64.StdEncoding.EncodeToString([]byte(ca))
	}
	return body{"ignition_endpoint": fields}
}

func readEndpoint(c *Cluster) (spec.IgnitionEndpoint, bool) {
	if c.IgnitionEndpoint == nil || value(c.IgnitionEndpoint.URL) == "" {
		return spec.IgnitionEndpoint{}, false
	}
	out := spec.IgnitionEndpoint{URL: value(c.IgnitionEndpoint.URL)}
	if pem, err := base64.StdEncoding.DecodeString(value(c.IgnitionEndpoint.CaCertificate)); err == nil && len(pem) > 0 {
		out.CA = &spec.PublicSource{Inline: string(pem)}
	}
	return out, true
}

func writeOperators(operators []spec.Operator) body {
	out := make([]body, 0, len(operators))
	for _, o := range operators {
		entry := body{"name": o.Name}
		if o.Properties != nil {
			entry["properties"] = clustersettings.PropertiesText(o.Properties)
		}
		out = append(out, entry)
	}
	return body{"olm_operators": out}
}

// readOperators are the operators that were asked for: not the built-in ones,
// and not those that the service added because another needs them.
func readOperators(c *Cluster) ([]spec.Operator, bool) {
	out := []spec.Operator{}
	for _, o := range c.MonitoredOperators {
		if o == nil || o.OperatorType == models.OperatorTypeBuiltin || o.DependencyOnly {
			continue
		}
		out = append(out, spec.Operator{Name: o.Name, Properties: clustersettings.PropertiesOf(o.Properties)})
	}
	return out, true
}

func writeBundles(choices []spec.Bundle) body {
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

// Ignored is how the service takes and shows which validations may fail, in
// requests of their own: each list is a JSON array in a text.
type Ignored struct {
	Cluster string `json:"cluster-validation-ids"`
	Hosts   string `json:"host-validation-ids"`
}

// IgnoredOf is which validations may fail, as the service takes them.
func IgnoredOf(ignored spec.IgnoreValidations) Ignored {
	inner := func(ids []string) string { return string(model.ValueOf(append([]string{}, ids...))) }
	return Ignored{Cluster: inner(ignored.Cluster), Hosts: inner(ignored.Hosts)}
}

// Validations are those that may fail, as cluster.yaml has them.
func (w Ignored) Validations() spec.IgnoreValidations {
	cluster, _ := inText[[]string](w.Cluster)
	hosts, _ := inText[[]string](w.Hosts)
	return spec.IgnoreValidations{Cluster: cluster, Hosts: hosts}
}

// What the service does with the networks of a cluster. It is the column "keeping"
// of the settings' table.

// keepsMachineNetworks: the service empties the machine networks of a cluster that
// it calculates them for while no host is there, and works them out again; it
// refuses every other value.
func keepsMachineNetworks(c *Cluster) model.Keeping {
	switch {
	case begun(c):
		return model.KeptFrozen
	case !calculatesNetworks(c):
		return model.KeptAsWritten
	case len(c.MachineNetworks) == 0:
		return model.KeptCleared
	}
	return model.KeptDerived
}

// keepsVIPs: where it calculates the machine networks from them, it takes other
// virtual addresses only if a host has their network.
func keepsVIPs(c *Cluster) model.Keeping {
	switch {
	case begun(c):
		return model.KeptFrozen
	case calculatesNetworks(c):
		return model.KeptNotYet
	}
	return model.KeptAsWritten
}

// begun reports whether the install was asked for; after that no setting is accepted.
func begun(c *Cluster) bool {
	switch value(c.Status) {
	case models.ClusterStatusInsufficient, models.ClusterStatusReady, models.ClusterStatusPendingForInput:
		return false
	}
	return true
}

// calculatesNetworks reports whether the service works the machine networks out of the virtual addresses and the hosts'
// networks: of a single stack, with the cluster's own load balancer.
func calculatesNetworks(c *Cluster) bool {
	single := controlPlanes(c) == 1
	balanced := c.LoadBalancer != nil && c.LoadBalancer.Type == models.LoadBalancerTypeUserManaged
	return !single && !balanced && !value(c.UserManagedNetworking) && !value(c.VipDhcpAllocation) && !dualStack(c)
}

// controlPlanes is the number of control plane machines; services that do not
// count them say only whether there is one or are three.
func controlPlanes(c *Cluster) int {
	switch {
	case c.ControlPlaneCount > 0:
		return int(c.ControlPlaneCount)
	case value(c.HighAvailabilityMode) == models.ClusterHighAvailabilityModeNone:
		return 1
	case value(c.HighAvailabilityMode) == models.ClusterHighAvailabilityModeFull:
		return 3
	}
	return 0
}

// dualStack reports whether a kind of the cluster's networks has both families.
func dualStack(c *Cluster) bool {
	both := func(cidrs []string) bool {
		is4 := func(text string) bool {
			prefix, err := netip.ParsePrefix(text)
			return err == nil && prefix.Addr().Is4()
		}
		return slices.ContainsFunc(cidrs, is4) && slices.ContainsFunc(cidrs, func(text string) bool { return !is4(text) })
	}
	return both(collect(c.MachineNetworks, func(n *models.MachineNetwork) string { return string(n.Cidr) })) ||
		both(collect(c.ServiceNetworks, func(n *models.ServiceNetwork) string { return string(n.Cidr) })) ||
		both(collect(c.ClusterNetworks, func(n *models.ClusterNetwork) string { return string(n.Cidr) }))
}
