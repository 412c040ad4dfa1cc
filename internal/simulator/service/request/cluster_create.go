package request

import (
	"cmp"
	"encoding/json"
	"net/url"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/openshift/assisted-service/models"
)

// ClusterCreateParams is what POST clusters takes: the known parameters and the newer ones.
type ClusterCreateParams struct {
	models.ClusterCreateParams
	// These have more values than the generated models know, and stand in for the models' own.
	NetworkType     *string                `json:"network_type,omitempty"`
	Hyperthreading  *string                `json:"hyperthreading,omitempty"`
	DiskEncryption  *models.DiskEncryption `json:"disk_encryption,omitempty"`
	NtpSources      *string                `json:"ntp_sources,omitempty"`
	OperatorBundles []bundleChoice         `json:"operator_bundles"`
}

type bundleChoice struct {
	ID        string   `json:"id"`
	Operators []string `json:"operators,omitempty"`
}

// CheckChoices makes the framework's checks that the generated models do not make.
func CheckChoices(network, hyperthreading *string, d *models.DiskEncryption) error {
	check := func(name string, value *string, allowed ...string) error {
		if value == nil {
			return nil
		}
		return wire.BodyEnum(name, *value, allowed...)
	}
	roles := []string{"none", "all", "masters", "arbiters", "workers", "masters,arbiters", "masters,workers", "arbiters,workers", "masters,arbiters,workers"}
	if d == nil {
		d = &models.DiskEncryption{}
	}
	return cmp.Or(
		check("network_type", network, "OpenShiftSDN", "OVNKubernetes", "Calico", "Cilium", "CiscoACI", "None"),
		check("hyperthreading", hyperthreading, roles...),
		check("disk_encryption.enable_on", d.EnableOn, roles...),
		check("disk_encryption.mode", d.Mode, "tpmv2", "tang"))
}

// FillCluster checks the parameters in the service's order and writes them into the cluster.
func FillCluster(c *model.Cluster, p *ClusterCreateParams) error {
	for _, part := range []func(*model.Cluster, *ClusterCreateParams) error{
		fillVersion, fillTopology, fillPlatform, fillIdentity, fillNetworks, fillProxy, fillOptions, fillOperators,
	} {
		if err := part(c, p); err != nil {
			return err
		}
	}
	recordFirstUses(c)
	return nil
}

func fillVersion(c *model.Cluster, p *ClusterCreateParams) error {
	release, found := versions.ReleaseByURL(p.OcpReleaseImage)
	switch {
	case p.OcpReleaseImage == "":
		var err error
		if release, err = versions.Resolve(*p.OpenshiftVersion, p.CPUArchitecture); err != nil {
			return wire.BadRequest("%s", err)
		}
	case !found:
		return wire.BadRequest("%s", versions.UnknownReleaseImage(p.OcpReleaseImage))
	}
	c.OpenshiftVersion, c.OcpReleaseImage, c.CPUArchitecture = release.Version, release.URL, release.CPUArchitecture
	return nil
}

func fillTopology(c *model.Cluster, p *ClusterCreateParams) error {
	ha, count := model.Value(p.HighAvailabilityMode), int64(3)
	if ha == "None" {
		count = 1
	}
	count = *cmp.Or(p.ControlPlaneCount, &count)
	switch {
	case ha == "" && count == 1:
		ha = "None"
	case ha == "":
		ha = "Full"
	}
	if err := checkTopology(count, ha, c.OpenshiftVersion); err != nil {
		return err
	}
	c.ControlPlaneCount, c.HighAvailabilityMode = count, ha
	return nil
}

// checkTopology refuses a number of control plane nodes that the version cannot have.
func checkTopology(count int64, ha, version string) error {
	newest, newer := versions.AtLeast(version, "4.19"), versions.AtLeast(version, "4.18")
	switch {
	case ha == "None" && count != 1:
		return wire.BadRequest("single-node clusters must have a single control plane node")
	case ha == "None":
		return nil
	case newest && (count < 2 || count > 5):
		return wire.BadRequest("there should be 2-5 dedicated control plane nodes for high availability mode Full in openshift version 4.19 or newer")
	case newer && !newest && (count < 3 || count > 5):
		return wire.BadRequest("there should be 3-5 dedicated control plane nodes for high availability mode Full in openshift version 4.18 or newer")
	case !newer && count != 3:
		return wire.BadRequest("there should be exactly 3 dedicated control plane nodes for high availability mode Full in openshift version older than 4.18")
	}
	return nil
}

func fillIdentity(c *model.Cluster, p *ClusterCreateParams) error {
	secret := CheckPullSecret(*p.PullSecret)
	if secret != nil {
		secret = wire.BadRequest("pull secret for new cluster is invalid: %s", secret)
	}
	if err := cmp.Or(checkName(*p.Name, c.PlatformType()), secret, checkSSHKeys(p.SSHPublicKey), checkAnyDomain(p.BaseDNSDomain), checkTags(model.Value(p.Tags))); err != nil {
		return err
	}
	c.Name, c.BaseDNSDomain, c.SSHPublicKey, c.Tags = *p.Name, p.BaseDNSDomain, p.SSHPublicKey, model.Value(p.Tags)
	c.PullSecret, c.PullSecretSet = *p.PullSecret, true
	return nil
}

func fillNetworks(c *model.Cluster, p *ClusterCreateParams) error {
	c.NetworkType = cmp.Or(model.Value(p.NetworkType), "OVNKubernetes")
	if err := checkNetworkType(c.NetworkType, c.OpenshiftVersion); err != nil {
		return err
	}
	c.ClusterNetworks = clusterNetworksFrom(p.ClusterNetworks, c.ID)
	if len(c.ClusterNetworks) == 0 {
		c.ClusterNetworks = []model.ClusterNetwork{{
			CIDR: *cmp.Or(p.ClusterNetworkCidr, new("10.128.0.0/14")), ClusterID: c.ID, HostPrefix: cmp.Or(p.ClusterNetworkHostPrefix, 23),
		}}
	}
	c.ServiceNetworks = serviceNetworksFrom(p.ServiceNetworks, c.ID)
	if len(c.ServiceNetworks) == 0 {
		c.ServiceNetworks = []model.MachineNetwork{{CIDR: *cmp.Or(p.ServiceNetworkCidr, new("172.30.0.0/16")), ClusterID: c.ID}}
	}
	c.MachineNetworks = machineNetworksFrom(p.MachineNetworks, c.ID)
	c.VipDHCPAllocation = new(model.Value(p.VipDhcpAllocation))
	chooseLoadBalancer(c, p.LoadBalancer)
	api, ingress := apiVipsFrom(p.APIVips, c.ID), ingressVipsFrom(p.IngressVips, c.ID)
	if c.IsSingle() {
		api, ingress = []model.VIP{}, []model.VIP{} // a single node is its own load balancer
	}
	if err := checkVips(c, api, ingress); err != nil {
		return err
	}
	c.APIVips, c.IngressVips = api, ingress
	return nil
}

func fillProxy(c *model.Cluster, p *ClusterCreateParams) error {
	if err := checkProxies(p.HTTPProxy, p.HTTPSProxy, p.NoProxy, c.OpenshiftVersion); err != nil {
		return err
	}
	c.HTTPProxy, c.HTTPSProxy, c.NoProxy = model.Value(p.HTTPProxy), model.Value(p.HTTPSProxy), model.Value(p.NoProxy)
	besides, only := model.Value(p.AdditionalNtpSource), model.Value(p.NtpSources)
	if err := checkNtpSources(besides); err != nil {
		return err
	}
	if besides != "" && only != "" {
		return wire.BadRequest("ntp_sources and additional_ntp_source are mutually exclusive")
	}
	if err := checkNtpSources(only); err != nil {
		return err
	}
	c.AdditionalNtpSource, c.NtpSources = besides, only
	return nil
}

func fillOptions(c *model.Cluster, p *ClusterCreateParams) error {
	c.Hyperthreading = cmp.Or(model.Value(p.Hyperthreading), "all")
	c.SchedulableMasters = new(model.Value(p.SchedulableMasters))
	c.SchedulableMastersForced = new(true)
	c.OrgSoftTimeoutsEnabled = true
	c.IgnitionEndpoint = &model.IgnitionEndpoint{}
	chooseIgnitionEndpoint(c, p.IgnitionEndpoint)
	var err error
	c.DiskEncryption, err = encryptionFrom(p.DiskEncryption)
	return err
}

func encryptionFrom(p *models.DiskEncryption) (*model.DiskEncryption, error) {
	if p == nil {
		p = &models.DiskEncryption{}
	}
	d := &model.DiskEncryption{EnableOn: *cmp.Or(p.EnableOn, new("none")), Mode: *cmp.Or(p.Mode, new("tpmv2")), TangServers: p.TangServers}
	switch {
	case d.Mode != "tang":
		return d, nil
	case d.TangServers == "":
		return nil, wire.BadRequest("Setting Tang mode but tang_servers isn't set")
	}
	var list []struct {
		URL        string `json:"url"`
		Thumbprint string `json:"thumbprint"`
	}
	if err := json.Unmarshal([]byte(d.TangServers), &list); err != nil {
		return nil, wire.BadRequest("%s", err)
	}
	for _, server := range list {
		if _, err := url.ParseRequestURI(server.URL); err != nil {
			return nil, wire.BadRequest("Tang URL isn't valid: %s", err)
		}
		if server.Thumbprint == "" {
			return nil, wire.BadRequest("Tang thumbprint isn't set")
		}
	}
	return d, nil
}
