package installfiles

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/installcfg"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
)

func generatedConfig(c *model.Cluster) (*installcfg.InstallerConfigBaremetal, error) {
	masters, arbiters, workers, _ := validate.CountRoles(c)
	pool := func(role string, n int) installcfg.Pool {
		state := "Disabled"
		if validate.SelectsRole(c.Hyperthreading, role) {
			state = "Enabled"
		}
		return installcfg.Pool{Hyperthreading: state, Name: role, Replicas: n}
	}
	ic := &installcfg.InstallerConfigBaremetal{
		APIVersion: "v1", BaseDomain: c.BaseDNSDomain, Compute: []installcfg.Pool{pool(model.RoleWorker, workers)},
		PullSecret: c.PullSecret, SSHKey: c.SSHPublicKey,
	}
	master := pool(model.RoleMaster, masters)
	ic.Metadata.Name, ic.Networking.NetworkType = c.Name, c.NetworkType
	ic.ControlPlane.Hyperthreading, ic.ControlPlane.Name, ic.ControlPlane.Replicas = master.Hyperthreading, master.Name, master.Replicas
	if arbiters > 0 {
		ic.Arbiter = new(pool(model.RoleArbiter, arbiters))
	}
	for _, n := range c.ClusterNetworks {
		ic.Networking.ClusterNetwork = append(
			ic.Networking.ClusterNetwork, installcfg.ClusterNetwork{Cidr: n.CIDR, HostPrefix: int(n.HostPrefix)},
		)
	}
	for _, n := range c.MachineNetworks {
		ic.Networking.MachineNetwork = append(ic.Networking.MachineNetwork, installcfg.MachineNetwork{Cidr: n.CIDR})
	}
	_, _, ic.Networking.ServiceNetwork = c.CIDRs()
	if c.HTTPProxy != "" || c.HTTPSProxy != "" {
		ic.Proxy = &installcfg.Proxy{HTTPProxy: c.HTTPProxy, HTTPSProxy: c.HTTPSProxy, NoProxy: directlyReached(c)}
	}
	return ic, addPlatform(c, ic)
}

// directlyReached is the user's list of what needs no proxy, and the cluster's own domain and networks.
func directlyReached(c *model.Cluster) string {
	asked := strings.TrimSpace(c.NoProxy)
	if asked == "*" {
		return asked
	}
	list := slices.DeleteFunc(strings.Split(asked, ","), func(s string) bool { return s == "" })
	list = append(list, "."+c.Name+"."+c.BaseDNSDomain)
	machine, clusterNets, services := c.CIDRs()
	return strings.Join(slices.Concat(list, clusterNets, services, machine), ",")
}

func addPlatform(c *model.Cluster, ic *installcfg.InstallerConfigBaremetal) error {
	switch c.PlatformType() {
	case model.PlatformBaremetal:
		b, err := baremetalPlatform(c)
		if err != nil {
			return fmt.Errorf("error while adding Platfom baremetal to install config, error is: %w", err)
		}
		ic.Platform.Baremetal = b
	case "vsphere":
		ic.Platform.Vsphere = &installcfg.VsphereInstallConfigPlatform{}
	case "nutanix":
		ic.Platform.Nutanix = &installcfg.NutanixInstallConfigPlatform{}
	case "external":
		ic.Platform.External = &installcfg.ExternalInstallConfigPlatform{
			PlatformName:           model.Value(c.Platform.External.PlatformName),
			CloudControllerManager: model.Value(c.Platform.External.CloudControllerManager),
		}
	default:
		ic.Platform.None = &installcfg.PlatformNone{}
		if len(c.MachineNetworks) == 0 {
			ic.Networking.MachineNetwork = bootstrapNetworks(c)
		}
	}
	if c.IsSingle() && len(c.Hosts) > 0 {
		ic.BootstrapInPlace = &installcfg.BootstrapInPlace{InstallationDisk: c.Hosts[0].InstallationDiskID}
	}
	return nil
}

// bootstrapNetworks are the bootstrap host's first networks, one a family.
func bootstrapNetworks(c *model.Cluster) (list []installcfg.MachineNetwork) {
	i := slices.IndexFunc(c.Hosts, func(h *model.Host) bool { return h.Bootstrap && h.Inv != nil })
	if i < 0 {
		return nil
	}
	for _, family := range []func(netip.Addr) bool{netip.Addr.Is4, netip.Addr.Is6} {
		for _, a := range c.Hosts[i].Inv.Addresses {
			if family(a.Prefix.Addr()) {
				list = append(list, installcfg.MachineNetwork{Cidr: a.Prefix.Masked().String()})
				break
			}
		}
	}
	return list
}

func baremetalPlatform(c *model.Cluster) (*installcfg.BareMetalInstallConfigPlatform, error) {
	b := &installcfg.BareMetalInstallConfigPlatform{ProvisioningNetwork: "Disabled", Hosts: []installcfg.Host{}}
	for _, v := range c.APIVips {
		b.APIVIPs = append(b.APIVIPs, v.IP)
	}
	for _, v := range c.IngressVips {
		b.IngressVIPs = append(b.IngressVIPs, v.IP)
	}
	if c.UserBalanced() {
		b.LoadBalancer = &installcfg.LoadBalancer{Type: "UserManaged"}
	}
	b.AdditionalNTPServers = clockSources(c)
	for _, h := range c.Hosts {
		mac, err := machineMAC(c, h)
		if err != nil {
			return nil, fmt.Errorf("failed to get host %s machine network interface MAC address: %w", h.ID, err)
		}
		mode := "UEFI"
		if boot := h.Inv.Boot; boot != nil && boot.CurrentBootMode != "uefi" {
			mode = "legacy"
		}
		b.Hosts = append(b.Hosts, installcfg.Host{Name: h.Name(), Role: h.Role, BootMACAddress: mac, BootMode: mode})
	}
	order := []string{model.RoleMaster, model.RoleArbiter} // and then the others
	slices.SortStableFunc(b.Hosts, func(x, y installcfg.Host) int {
		place := func(h installcfg.Host) int { return slices.Index(append(order, h.Role), h.Role) }
		return cmp.Or(cmp.Compare(place(x), place(y)), strings.Compare(x.Name, y.Name))
	})
	return b, nil
}

// clockSources are the cluster's own or, if it has none, those of its infra-envs.
func clockSources(c *model.Cluster) []string {
	if c.AdditionalNtpSource != "" {
		return model.Names(c.AdditionalNtpSource)
	}
	return c.InfraEnvNtpSources()
}

func machineMAC(c *model.Cluster, h *model.Host) (string, error) {
	if len(c.MachineNetworks) == 0 {
		return "", fmt.Errorf("Failed to find machine networks for baremetal cluster %s", c.ID) //nolint:staticcheck // the service's wording
	}
	if h.Inv != nil {
		if a, in := h.Inv.InAny(c.MachineNetworks); in {
			return h.Inv.Interfaces[a.NIC].MacAddress, nil
		}
	}
	//nolint:staticcheck // the service's wording
	return "", fmt.Errorf("Failed to find a network interface matching machine network CIDR for host %s", h.ID)
}

// Config is the install-config with the user's changes, as JSON.
func Config(c *model.Cluster) (string, error) {
	ic, err := ConfigWith(c, c.InstallConfigOverrides)
	if err != nil {
		return "", err
	}
	bundles := []string{}
	if ic.AdditionalTrustBundle != "" {
		bundles = append(bundles, ic.AdditionalTrustBundle)
	}
	for _, e := range c.InfraEnvs() {
		if e.AdditionalTrustBundle != "" {
			bundles = append(bundles, e.AdditionalTrustBundle)
		}
	}
	ic.AdditionalTrustBundle = strings.TrimSpace(strings.Join(bundles, "\n"))
	return model.InString(ic), nil
}

// ConfigWith is the install-config with other changes than the cluster has.
func ConfigWith(c *model.Cluster, overrides string) (*installcfg.InstallerConfigBaremetal, error) {
	ic, err := generatedConfig(c)
	if err != nil || overrides == "" {
		return ic, err
	}
	d := json.NewDecoder(strings.NewReader(overrides))
	d.DisallowUnknownFields()
	return ic, d.Decode(ic)
}
