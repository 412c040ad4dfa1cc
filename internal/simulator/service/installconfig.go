package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// The install-config, as far as this service writes it. The order of the keys
// is the real one's.
type (
	icConfig struct {
		APIVersion            string          `json:"apiVersion"`
		BaseDomain            string          `json:"baseDomain"`
		Proxy                 *icProxy        `json:"proxy,omitempty"`
		Networking            icNetworking    `json:"networking"`
		Metadata              icMetadata      `json:"metadata"`
		Compute               []icPool        `json:"compute"`
		ControlPlane          icPool          `json:"controlPlane"`
		Arbiter               *icPool         `json:"arbiter,omitempty"`
		Platform              icPlatform      `json:"platform"`
		BootstrapInPlace      *icBootstrap    `json:"bootstrapInPlace,omitempty"`
		FIPS                  bool            `json:"fips"`
		CPUPartitioningMode   string          `json:"cpuPartitioningMode,omitempty"`
		PullSecret            string          `json:"pullSecret"`
		SSHKey                string          `json:"sshKey"`
		AdditionalTrustBundle string          `json:"additionalTrustBundle,omitempty"`
		TrustBundlePolicy     string          `json:"additionalTrustBundlePolicy,omitempty"`
		ImageContentSources   []icMirror      `json:"imageContentSources,omitempty"`
		ImageDigestSources    []icMirror      `json:"imageDigestSources,omitempty"`
		Capabilities          *icCapabilities `json:"capabilities,omitempty"`
		FeatureSet            string          `json:"featureSet,omitempty"`
		FeatureGates          []string        `json:"featureGates,omitempty"`
	}
	icProxy struct {
		HTTPProxy  string `json:"httpProxy,omitempty"`
		HTTPSProxy string `json:"httpsProxy,omitempty"`
		NoProxy    string `json:"noProxy,omitempty"`
	}
	icNetworking struct {
		NetworkType    string             `json:"networkType"`
		ClusterNetwork []icClusterNetwork `json:"clusterNetwork"`
		MachineNetwork []icMachineNetwork `json:"machineNetwork,omitempty"`
		ServiceNetwork []string           `json:"serviceNetwork"`
	}
	icClusterNetwork struct {
		CIDR       string `json:"cidr"`
		HostPrefix int64  `json:"hostPrefix"`
	}
	icMachineNetwork struct {
		CIDR string `json:"cidr"`
	}
	icMetadata struct {
		Name string `json:"name"`
	}
	icPool struct {
		Hyperthreading string          `json:"hyperthreading,omitempty"`
		Name           string          `json:"name"`
		Replicas       int             `json:"replicas"`
		Architecture   string          `json:"architecture,omitempty"`
		Fencing        json.RawMessage `json:"fencing,omitempty"`
		Platform       json.RawMessage `json:"platform,omitempty"`
	}
	icPlatform struct {
		Baremetal *icBaremetal    `json:"baremetal,omitempty"`
		None      *struct{}       `json:"none,omitempty"`
		VSphere   json.RawMessage `json:"vsphere,omitempty"`
		Nutanix   json.RawMessage `json:"nutanix,omitempty"`
		External  json.RawMessage `json:"external,omitempty"`
	}
	icBaremetal struct {
		ProvisioningNetwork string          `json:"provisioningNetwork"`
		APIVIPs             []string        `json:"apiVIPs"`
		IngressVIPs         []string        `json:"ingressVIPs"`
		Hosts               []icHost        `json:"hosts"`
		ClusterOSImage      string          `json:"clusterOSImage,omitempty"`
		LoadBalancer        *icLoadBalancer `json:"loadBalancer,omitempty"`
		AdditionalNTP       []string        `json:"additionalNTPServers,omitempty"`
	}
	icLoadBalancer struct {
		Type string `json:"type"`
	}
	icHost struct {
		Name            string `json:"name"`
		Role            string `json:"role"`
		BootMACAddress  string `json:"bootMACAddress"`
		BootMode        string `json:"bootMode"`
		BMC             icBMC  `json:"bmc"`
		HardwareProfile string `json:"hardwareProfile"`
	}
	icBMC struct {
		Username string `json:"username"`
		Password string `json:"password"`
		Address  string `json:"address"`
		Insecure bool   `json:"disableCertificateVerification"`
	}
	icBootstrap struct {
		InstallationDisk string `json:"installationDisk"`
	}
	icMirror struct {
		Source  string   `json:"source"`
		Mirrors []string `json:"mirrors"`
	}
	icCapabilities struct {
		Baseline string   `json:"baselineCapabilitySet,omitempty"`
		Enabled  []string `json:"additionalEnabledCapabilities,omitempty"`
	}
)

// generated is the install-config before the user's changes.
func (c *cluster) generated() (*icConfig, error) {
	masters, arbiters, workers, open := c.countRoles()
	if masters+open < int(c.ControlPlaneCount) {
		masters = int(c.ControlPlaneCount)
	}
	pool := func(role string, n int) icPool {
		state := "Disabled"
		if on := c.Hyperthreading; on == "all" || strings.Contains(","+on+",", ","+role+"s,") {
			state = "Enabled"
		}
		return icPool{Hyperthreading: state, Name: role, Replicas: n}
	}
	ic := &icConfig{
		APIVersion: "v1", BaseDomain: c.BaseDNSDomain, Metadata: icMetadata{c.Name},
		Networking: icNetworking{NetworkType: c.NetworkType},
		Compute:    []icPool{pool(roleWorker, workers)}, ControlPlane: pool(roleMaster, max(masters, min(int(c.ControlPlaneCount), masters+open))),
		PullSecret: c.pullSecret, SSHKey: c.SSHPublicKey,
	}
	if arbiters > 0 {
		ic.Arbiter = ptr(pool(roleArbiter, arbiters))
	}
	for _, n := range c.ClusterNetworks {
		ic.Networking.ClusterNetwork = append(ic.Networking.ClusterNetwork, icClusterNetwork{n.CIDR, n.HostPrefix})
	}
	for _, n := range c.MachineNetworks {
		ic.Networking.MachineNetwork = append(ic.Networking.MachineNetwork, icMachineNetwork{n.CIDR})
	}
	for _, n := range c.ServiceNetworks {
		ic.Networking.ServiceNetwork = append(ic.Networking.ServiceNetwork, n.CIDR)
	}
	if c.HTTPProxy != "" || c.HTTPSProxy != "" {
		ic.Proxy = &icProxy{c.HTTPProxy, c.HTTPSProxy, c.NoProxy}
	}
	return ic, c.addPlatform(ic)
}

func (c *cluster) addPlatform(ic *icConfig) error {
	switch c.platformType() {
	case platformBaremetal:
		b, err := c.baremetal()
		if err != nil {
			return fmt.Errorf("error while adding Platfom baremetal to install config, error is: %w", err)
		}
		ic.Platform.Baremetal = b
	case "vsphere":
		ic.Platform.VSphere = json.RawMessage("{}")
	case "nutanix":
		ic.Platform.Nutanix = json.RawMessage("{}")
	case "external":
		ic.Platform.External = json.RawMessage(inString(map[string]string{
			"platformName": c.Platform.External.PlatformName, "cloudControllerManager": c.Platform.External.CloudControllerManager}))
	default:
		ic.Platform.None = &struct{}{}
		if len(c.MachineNetworks) == 0 {
			ic.Networking.MachineNetwork = c.bootstrapNetworks()
		}
	}
	if c.isSingle() && len(c.hosts) > 0 {
		ic.BootstrapInPlace = &icBootstrap{c.hosts[0].InstallationDiskID}
	}
	return nil
}

// bootstrapNetworks are the first networks of the bootstrap host, one a family, where
// a cluster without a platform names none itself.
func (c *cluster) bootstrapNetworks() (list []icMachineNetwork) {
	i := slices.IndexFunc(c.hosts, func(h *host) bool { return h.Bootstrap && h.inv != nil })
	if i < 0 {
		return nil
	}
	for _, family := range []func(netip.Addr) bool{netip.Addr.Is4, netip.Addr.Is6} {
		for _, a := range c.hosts[i].inv.addresses {
			if family(a.prefix.Addr()) {
				list = append(list, icMachineNetwork{a.prefix.Masked().String()})
				break
			}
		}
	}
	return list
}

func (c *cluster) baremetal() (*icBaremetal, error) {
	b := &icBaremetal{ProvisioningNetwork: "Disabled", APIVIPs: []string{}, IngressVIPs: []string{}, Hosts: []icHost{}}
	for _, v := range c.APIVips {
		b.APIVIPs = append(b.APIVIPs, v.IP)
	}
	for _, v := range c.IngressVips {
		b.IngressVIPs = append(b.IngressVIPs, v.IP)
	}
	if c.userBalanced() {
		b.LoadBalancer = &icLoadBalancer{"UserManaged"}
	}
	for _, h := range c.hosts {
		mac, err := c.machineMAC(h)
		if err != nil {
			return nil, fmt.Errorf("failed to get host %s machine network interface MAC address: %w", h.ID, err)
		}
		b.Hosts = append(b.Hosts, icHost{Name: h.name(), Role: h.role(), BootMACAddress: mac, BootMode: "UEFI"})
	}
	slices.SortStableFunc(b.Hosts, func(x, y icHost) int { return strings.Compare(x.Name, y.Name) })
	return b, nil
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
func (s *Service) installConfig(c *cluster) (string, error) {
	return c.installConfigWith(c.InstallConfigOverrides)
}

func (c *cluster) installConfigWith(overrides string) (string, error) {
	ic, err := c.generated()
	if err != nil {
		return "", err
	}
	if overrides != "" {
		d := json.NewDecoder(strings.NewReader(overrides))
		d.DisallowUnknownFields()
		if err := d.Decode(ic); err != nil {
			return "", err
		}
	}
	return inString(ic), nil
}

func (s *Service) readInstallConfig(c *call) (reply, error) {
	cl, err := s.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return reply{}, err
	}
	text, err := s.installConfig(cl)
	if err != nil {
		return reply{}, refuse(http.StatusInternalServerError, "Failed to get cluster %s install config: %s", cl.ID, err)
	}
	return ok(text)
}

// updateInstallConfig replaces the user's changes. The body is JSON in a JSON
// string.
func (s *Service) updateInstallConfig(c *call) (reply, error) {
	cl, err := s.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return reply{}, err
	}
	text := taken[string](c)
	if !oneOf(cl.Status, clusterInsufficient, clusterReady, clusterPendingInput) {
		return reply{}, conflict("Cluster %s is in %s state, cannot update", cl.ID, cl.Status)
	}
	if _, err := cl.installConfigWith(text); err != nil {
		return reply{}, badRequest("%s", err)
	}
	cl.InstallConfigOverrides = text
	cl.FeatureUsage = cl.usageText()
	cl.UpdatedAt = micros(s.now())
	s.note(cl, "install_config_applied", severityInfo, "Custom install config was applied to the cluster")
	return created(s.printCluster(cl, clusterDetail{hosts: true}))
}
