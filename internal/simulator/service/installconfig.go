package service

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/installcfg"
)

// generated is the install-config before the user's changes.
func (c *cluster) generated() (*installcfg.InstallerConfigBaremetal, error) {
	masters, arbiters, workers, _ := c.countRoles()
	pool := func(role string, n int) installcfg.Pool {
		state := "Disabled"
		if on := c.Hyperthreading; on == "all" || strings.Contains(","+on+",", ","+role+"s,") {
			state = "Enabled"
		}
		return installcfg.Pool{Hyperthreading: state, Name: role, Replicas: n}
	}
	ic := &installcfg.InstallerConfigBaremetal{
		APIVersion: "v1", BaseDomain: c.BaseDNSDomain, Compute: []installcfg.Pool{pool(roleWorker, workers)},
		PullSecret: c.pullSecret, SSHKey: c.SSHPublicKey,
	}
	master := pool(roleMaster, masters)
	ic.Metadata.Name, ic.Networking.NetworkType = c.Name, c.NetworkType
	ic.ControlPlane.Hyperthreading, ic.ControlPlane.Name, ic.ControlPlane.Replicas = master.Hyperthreading, master.Name, master.Replicas
	if arbiters > 0 {
		ic.Arbiter = new(pool(roleArbiter, arbiters))
	}
	for _, n := range c.ClusterNetworks {
		ic.Networking.ClusterNetwork = append(ic.Networking.ClusterNetwork, installcfg.ClusterNetwork{Cidr: n.CIDR, HostPrefix: int(n.HostPrefix)})
	}
	for _, n := range c.MachineNetworks {
		ic.Networking.MachineNetwork = append(ic.Networking.MachineNetwork, installcfg.MachineNetwork{Cidr: n.CIDR})
	}
	for _, n := range c.ServiceNetworks {
		ic.Networking.ServiceNetwork = append(ic.Networking.ServiceNetwork, n.CIDR)
	}
	if c.HTTPProxy != "" || c.HTTPSProxy != "" {
		ic.Proxy = &installcfg.Proxy{HTTPProxy: c.HTTPProxy, HTTPSProxy: c.HTTPSProxy, NoProxy: c.directlyReached()}
	}
	return ic, c.addPlatform(ic)
}

// directlyReached is the user's list of what needs no proxy, and the cluster's own
// domain and networks.
func (c *cluster) directlyReached() string {
	asked := strings.TrimSpace(c.NoProxy)
	if asked == "*" {
		return asked
	}
	list := slices.DeleteFunc(strings.Split(asked, ","), func(s string) bool { return s == "" })
	list = append(list, "."+c.Name+"."+c.BaseDNSDomain)
	for _, n := range c.ClusterNetworks {
		list = append(list, n.CIDR)
	}
	for _, n := range c.ServiceNetworks {
		list = append(list, n.CIDR)
	}
	for _, n := range c.MachineNetworks {
		list = append(list, n.CIDR)
	}
	return strings.Join(list, ",")
}

func (c *cluster) addPlatform(ic *installcfg.InstallerConfigBaremetal) error {
	switch c.platformType() {
	case platformBaremetal:
		b, err := c.baremetal()
		if err != nil {
			return fmt.Errorf("error while adding Platfom baremetal to install config, error is: %w", err)
		}
		ic.Platform.Baremetal = b
	case "vsphere":
		ic.Platform.Vsphere = &installcfg.VsphereInstallConfigPlatform{}
	case "nutanix":
		ic.Platform.Nutanix = &installcfg.NutanixInstallConfigPlatform{}
	case "external":
		ic.Platform.External = &installcfg.ExternalInstallConfigPlatform{PlatformName: c.Platform.External.PlatformName, CloudControllerManager: c.Platform.External.CloudControllerManager}
	default:
		ic.Platform.None = &installcfg.PlatformNone{}
		if len(c.MachineNetworks) == 0 {
			ic.Networking.MachineNetwork = c.bootstrapNetworks()
		}
	}
	if c.isSingle() && len(c.hosts) > 0 {
		ic.BootstrapInPlace = &installcfg.BootstrapInPlace{InstallationDisk: c.hosts[0].InstallationDiskID}
	}
	return nil
}

// bootstrapNetworks are the first networks of the bootstrap host, one a family, where
// a cluster without a platform names none itself.
func (c *cluster) bootstrapNetworks() (list []installcfg.MachineNetwork) {
	i := slices.IndexFunc(c.hosts, func(h *host) bool { return h.Bootstrap && h.inv != nil })
	if i < 0 {
		return nil
	}
	for _, family := range []func(netip.Addr) bool{netip.Addr.Is4, netip.Addr.Is6} {
		for _, a := range c.hosts[i].inv.addresses {
			if family(a.prefix.Addr()) {
				list = append(list, installcfg.MachineNetwork{Cidr: a.prefix.Masked().String()})
				break
			}
		}
	}
	return list
}

func (c *cluster) baremetal() (*installcfg.BareMetalInstallConfigPlatform, error) {
	b := &installcfg.BareMetalInstallConfigPlatform{ProvisioningNetwork: "Disabled", Hosts: []installcfg.Host{}}
	for _, v := range c.APIVips {
		b.APIVIPs = append(b.APIVIPs, v.IP)
	}
	for _, v := range c.IngressVips {
		b.IngressVIPs = append(b.IngressVIPs, v.IP)
	}
	if c.userBalanced() {
		b.LoadBalancer = &installcfg.LoadBalancer{Type: "UserManaged"}
	}
	b.AdditionalNTPServers = c.clockSources()
	for _, h := range c.hosts {
		mac, err := c.machineMAC(h)
		if err != nil {
			return nil, fmt.Errorf("failed to get host %s machine network interface MAC address: %w", h.ID, err)
		}
		mode := "UEFI"
		if boot := h.inv.Boot; boot != nil && boot.CurrentBootMode != "uefi" {
			mode = "legacy"
		}
		b.Hosts = append(b.Hosts, installcfg.Host{Name: h.name(), Role: h.Role, BootMACAddress: mac, BootMode: mode})
	}
	order := []string{roleMaster, roleArbiter} // and then the others
	slices.SortStableFunc(b.Hosts, func(x, y installcfg.Host) int {
		place := func(h installcfg.Host) int { return slices.Index(append(order, h.Role), h.Role) }
		return cmp.Or(cmp.Compare(place(x), place(y)), strings.Compare(x.Name, y.Name))
	})
	return b, nil
}

// clockSources are the cluster's own or, if it has none, those of its infra-envs.
func (c *cluster) clockSources() []string {
	texts := []string{c.AdditionalNtpSource}
	if c.AdditionalNtpSource == "" {
		for _, e := range infraEnvsOf(c) {
			texts = append(texts, e.AdditionalNtpSources)
		}
	}
	var sources []string
	for _, text := range texts {
		for source := range strings.SplitSeq(text, ",") {
			if source = strings.TrimSpace(source); source != "" && !slices.Contains(sources, source) {
				sources = append(sources, source)
			}
		}
	}
	return sources
}

// machineMAC is the address of the host's card in the machine network.
func (c *cluster) machineMAC(h *host) (string, error) {
	if len(c.MachineNetworks) == 0 {
		return "", fmt.Errorf("Failed to find machine networks for baremetal cluster %s", c.ID) //nolint:staticcheck // the service's wording
	}
	if h.inv != nil {
		for _, n := range c.MachineNetworks {
			if network, err := netip.ParsePrefix(n.CIDR); err == nil {
				if a, in := h.inv.in(network); in {
					return h.inv.Interfaces[a.nic].MacAddress, nil
				}
			}
		}
	}
	return "", fmt.Errorf("Failed to find a network interface matching machine network CIDR for host %s", h.ID) //nolint:staticcheck // the service's wording
}

// installConfig is the install-config with the user's changes, as JSON.
func (c *cluster) installConfig() (string, error) {
	ic, err := c.installConfigWith(c.InstallConfigOverrides)
	if err != nil {
		return "", err
	}
	bundles := []string{}
	if ic.AdditionalTrustBundle != "" {
		bundles = append(bundles, ic.AdditionalTrustBundle)
	}
	for _, e := range infraEnvsOf(c) {
		if e.AdditionalTrustBundle != "" {
			bundles = append(bundles, e.AdditionalTrustBundle)
		}
	}
	ic.AdditionalTrustBundle = strings.TrimSpace(strings.Join(bundles, "\n"))
	return inString(ic), nil
}

func (c *cluster) installConfigWith(overrides string) (*installcfg.InstallerConfigBaremetal, error) {
	ic, err := c.generated()
	if err != nil || overrides == "" {
		return ic, err
	}
	d := json.NewDecoder(strings.NewReader(overrides))
	d.DisallowUnknownFields()
	return ic, d.Decode(ic)
}

func (s *Service) readInstallConfig(c *call) (reply, error) {
	cl, err := s.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return reply{}, err
	}
	text, err := cl.installConfig()
	if err != nil {
		return reply{}, refuse(http.StatusInternalServerError, "Failed to get cluster %s install config: %s", cl.ID, err)
	}
	return ok(text)
}

// updateInstallConfig replaces the user's changes. The body is JSON in a JSON
// string; the answer is empty.
func (s *Service) updateInstallConfig(c *call) (reply, error) {
	cl, err := s.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return reply{}, err
	}
	text := taken[string](c)
	ic, err := cl.installConfigWith(text)
	if err == nil && ic.AdditionalTrustBundle != "" {
		err = checkTrustBundle(ic.AdditionalTrustBundle)
	}
	if err != nil {
		return reply{}, badRequest("%s", err)
	}
	cl.InstallConfigOverrides = text
	cl.useOverrides()
	cl.UpdatedAt = micros(s.now())
	s.note(cl, "install_config_applied", severityInfo, "Custom install config was applied to the cluster")
	return reply{status: http.StatusCreated}, nil
}
