package request

import (
	"cmp"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// Settings are the parameters of a cluster that are the same where it is created and where it is changed. They are read
// instead of those of the generated models, which know fewer values of some. The tag hub is the field of an
// AgentClusterInstall with the same value.
type Settings struct {
	AdditionalNtpSource *string                `json:"additional_ntp_source,omitempty"`
	DiskEncryption      *models.DiskEncryption `json:"disk_encryption,omitempty"`
	Hyperthreading      *string                `json:"hyperthreading,omitempty"`
	LoadBalancer        *models.LoadBalancer   `json:"load_balancer,omitempty"`
	NetworkType         *string                `json:"network_type,omitempty"`
	NtpSources          *string                `json:"ntp_sources,omitempty"`
	OperatorBundles     []bundleChoice         `json:"operator_bundles"`
	SchedulableMasters  *bool                  `json:"schedulable_masters,omitempty" hub:"mastersSchedulable"`
	SSHPublicKey        *string                `json:"ssh_public_key,omitempty" hub:"sshPublicKey"`
	Tags                *string                `json:"tags,omitempty"`
	VipDhcpAllocation   *bool                  `json:"vip_dhcp_allocation,omitempty"`
}

// OfInstall are the settings that the spec of an AgentClusterInstall has with the same values, by their parameters. A field
// that the spec does not have is zero.
func OfInstall(spec map[string]any) map[string]any {
	params := map[string]any{}
	for setting := range reflect.TypeFor[Settings]().Fields() {
		at := setting.Tag.Get("hub")
		if at == "" {
			continue
		}
		name, _, _ := strings.Cut(setting.Tag.Get("json"), ",")
		if value, has := spec[at]; has {
			params[name] = value
		} else {
			params[name] = reflect.Zero(setting.Type.Elem()).Interface()
		}
	}
	return params
}

// setDefaults writes what a new cluster has before it is asked for anything.
func setDefaults(c *model.Cluster) {
	c.DiskEncryption = &model.DiskEncryption{EnableOn: "none", Mode: "tpmv2"}
	c.Hyperthreading = "all"
	c.NetworkType = "OVNKubernetes"
	c.SchedulableMasters = new(false)
	c.VipDHCPAllocation = new(false)
	c.ForceWorkloads(true)
}

// Check makes the framework's checks that the generated models do not make.
func (s *Settings) Check() error {
	check := func(name string, value *string, allowed ...string) error {
		if value == nil {
			return nil
		}
		return wire.BodyEnum(name, *value, allowed...)
	}
	roles := []string{
		"none", "all", "masters", "arbiters", "workers", "masters,arbiters", "masters,workers", "arbiters,workers",
		"masters,arbiters,workers",
	}
	d := cmp.Or(s.DiskEncryption, &models.DiskEncryption{})
	var balancer *string
	if s.LoadBalancer != nil && s.LoadBalancer.Type != "" {
		balancer = &s.LoadBalancer.Type
	}
	return cmp.Or(
		check("network_type", s.NetworkType, "OpenShiftSDN", "OVNKubernetes", "Calico", "Cilium", "CiscoACI", "None"),
		check("hyperthreading", s.Hyperthreading, roles...),
		check("disk_encryption.enable_on", d.EnableOn, roles...),
		check("disk_encryption.mode", d.Mode, "tpmv2", "tang"),
		check("load_balancer.type", balancer, "cluster-managed", "user-managed"))
}

// take writes what a request asks for, if it asks for it and a check passes.
func take(into, asked *string, check func(string) error) error {
	if asked == nil {
		return nil
	}
	if err := check(*asked); err != nil {
		return err
	}
	*into = *asked
	return nil
}

func (s *Settings) takeSSHKeys(c *model.Cluster) error {
	return take(&c.SSHPublicKey, s.SSHPublicKey, checkSSHKeys)
}

func (s *Settings) takeTags(c *model.Cluster) error { return take(&c.Tags, s.Tags, checkTags) }

func (s *Settings) takeNetworkType(c *model.Cluster) error {
	return take(&c.NetworkType, s.NetworkType, func(kind string) error { return checkNetworkType(kind, c.OpenshiftVersion) })
}

func (s *Settings) takeVIPSettings(c *model.Cluster) {
	if s.LoadBalancer != nil && s.LoadBalancer.Type != "" {
		c.LoadBalancer = s.LoadBalancer
	}
	c.VipDHCPAllocation = cmp.Or(s.VipDhcpAllocation, c.VipDHCPAllocation)
}

// checkAdditionalNTP is what the service checks of a new cluster before it looks at both lists.
func (s *Settings) checkAdditionalNTP() error {
	return checkNtpSources(model.Value(s.AdditionalNtpSource))
}

func (s *Settings) takeNTP(c *model.Cluster) error {
	besides, only := cmp.Or(s.AdditionalNtpSource, &c.AdditionalNtpSource), cmp.Or(s.NtpSources, &c.NtpSources)
	if *besides != "" && *only != "" {
		return wire.BadRequest("ntp_sources and additional_ntp_source are mutually exclusive")
	}
	return cmp.Or(take(&c.AdditionalNtpSource, s.AdditionalNtpSource, checkNtpSources), take(&c.NtpSources, s.NtpSources, checkNtpSources))
}

func (s *Settings) takeOptions(c *model.Cluster) error {
	c.Hyperthreading = *cmp.Or(s.Hyperthreading, &c.Hyperthreading)
	c.SchedulableMasters = cmp.Or(s.SchedulableMasters, c.SchedulableMasters)
	if s.DiskEncryption == nil {
		return nil
	}
	d, err := encryptionFrom(s.DiskEncryption)
	if err == nil {
		c.DiskEncryption = d
	}
	return err
}

func encryptionFrom(p *models.DiskEncryption) (*model.DiskEncryption, error) {
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

// recordUses notes the features that the cluster makes use of by its settings.
func (s *Settings) recordUses(c *model.Cluster) {
	if s.Tags != nil {
		c.RecordUse(c.Tags != "", "Cluster Tags", nil)
	}
	c.RecordUse(c.AllocatesVips(), "VIP auto alloc.", nil)
	c.RecordUse(
		c.AdditionalNtpSource != "", "Additional NTP Source",
		map[string]any{"source_count": len(strings.Split(c.AdditionalNtpSource, ","))},
	)
	c.RecordUse(
		c.Hyperthreading != "none" && c.Hyperthreading != "", "Hyperthreading",
		map[string]any{"hyperthreading_enabled": c.Hyperthreading},
	)
	for kind, name := range map[string]string{
		"OVNKubernetes": "OVN", "OpenShiftSDN": "SDN", "CiscoACI": "CiscoACI", "Cilium": "Cilium", "Calico": "Calico", "None": "None",
	} {
		c.RecordUse(c.NetworkType == kind, name+" network type", nil)
	}
	if e := c.DiskEncryption; e != nil && e.EnableOn != "none" && e.EnableOn != "" {
		c.RecordUse(true, "Disk encryption", map[string]any{"enable_on": e.EnableOn, "mode": e.Mode, "tang_servers": e.TangServers})
	}
}

// recordChange notes the features that the service looks at only where a cluster is changed.
func (s *Settings) recordChange(c *model.Cluster) {
	if s.SchedulableMasters != nil {
		c.RecordUse(*s.SchedulableMasters, "Schedulable masters", nil)
	}
}
